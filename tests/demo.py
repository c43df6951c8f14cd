"""The packaged demo manifest, seeded by the code that `serve --demo` runs, whole or in part."""

from typing import Any

from service.cli.demo import MANIFEST
from service.seeding.manifest import read_manifest
from service.seeding.report import Report
from service.seeding.run import make_seeder
from service.services import Services

DEMO = read_manifest(MANIFEST)


async def seed_demo(services: Services, **parts: Any) -> tuple[str, Report]:
    """The demo's API key, and what was done; `parts` replace those of the manifest, as in `files=()`."""
    report = Report()
    if "collections" in parts:
        parts.setdefault("rules", None)
        parts.setdefault("aggregations", {})
    elif not parts.get("users", True):
        # Portraits are of users, who are not there.
        empty = DEMO.collections["portraits"].model_copy(update={"documents": ()})
        parts["collections"] = {**DEMO.collections, "portraits": empty}
    seeder = make_seeder(services, MANIFEST.parent, report)
    return (await seeder.seed_new(DEMO.model_copy(update=parts))).secret, report
