"""The demo project of `serve --demo`: a packaged manifest, seeded on the first run."""

import fcntl
from pathlib import Path

import typer

import service.seeding
from service.cli.output import list_exports
from service.cli.progress import Bars
from service.cli.running import run_on
from service.domain.projects.keys import ProjectKeys
from service.errors import ProjectNotFound
from service.seeding.manifest import read_manifest
from service.seeding.report import Report
from service.seeding.run import make_seeder
from service.services import Services
from service.settings import Settings

DEMO_ID = "demo"
DEMO_PASSWORD = "les-miserables"  # noqa: S105 - printed with the demo project's key
MANIFEST = Path(service.seeding.__file__).parent / "demo" / "demo.yaml"


def ensure_demo(settings: Settings) -> ProjectKeys | None:
    """The demo project's API keys, if the project was made just now. The lock makes two first runs agree on one."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    with (settings.data_dir / "demo.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return run_on(settings, _ensure)


async def _ensure(services: Services) -> ProjectKeys | None:
    try:
        await services.base.admin.find(DEMO_ID)
    except ProjectNotFound:
        return await _seed(services)
    return None


async def _seed(services: Services) -> ProjectKeys:
    with Bars() as bars:
        report = Report(bars.advance)
        keys = await make_seeder(services, MANIFEST.parent, report).seed_new(read_manifest(MANIFEST))
    typer.echo("\n".join(report.lines(differences=False)))
    return keys


def describe_demo(base_url: str, keys: ProjectKeys | None) -> list[str]:
    """The banner's lines about the demo project."""
    if keys is None:
        return [
            f"Demo project: {DEMO_ID}; its API key was shown on the first run. "
            f"`auth-collections project rotate-key {DEMO_ID}` makes another"
        ]
    users = f"{base_url}/auth-collections/users"
    flights = f"{base_url}/api/collections/flights/documents"
    return [
        f"Demo project: {DEMO_ID}; the password of each of its users is {DEMO_PASSWORD}",
        "Its API keys, shown this once; the second one is for pages:",
        *(f"  {line}" for line in list_exports(base_url, keys)),
        "Try:",
        f"  curl -H 'x-api-key: {keys.secret}' '{users}?name_eq=Valjean'",
        f"  curl -H 'x-api-key: {keys.secret}' '{flights}?origin.state_eq=CA&populate=origin,destination'",
    ]
