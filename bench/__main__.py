"""`scripts/bench`: which figures to measure, on which data."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from bench.figures import Figure, show
from bench.growth import measure_growth
from bench.limiter import measure_limiter
from bench.logins import measure_logins
from bench.report import write_report
from bench.requests import measure_requests
from bench.resources import measure_memory, measure_start
from bench.round_trips import measure_round_trips
from bench.uploads import measure_uploads
from service.local import with_database
from service.logs import configure_logging
from service.settings import Settings, read_settings

PREFIX = "bench_"
MANY, QUICK_MANY = 1_000_000, 200_000
BLOCK = 250


def main(
    growth: Annotated[bool, typer.Option("--growth", help="Lists, from 10,000 users to --users.")] = False,
    requests: Annotated[bool, typer.Option("--requests", help="CPU per request beside the bare floor.")] = False,
    logins: Annotated[bool, typer.Option("--logins", help="Logins beside bcrypt.")] = False,
    uploads: Annotated[bool, typer.Option("--uploads", help="Uploads beside GridFS.")] = False,
    resources: Annotated[bool, typer.Option("--resources", help="Start and memory.")] = False,
    users: Annotated[
        int | None, typer.Option(help=f"How many users are many; {MANY:,} by default.", min=20_000)
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="200,000 users and fewer rounds.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Put the results into docs/performance.md.")] = False,
    data: Annotated[Path, typer.Option(help="Where generated users are kept between runs.")] = Path("data/bench"),
) -> None:
    """Measure the figures of DESIGN section 8. Without a selection, all of them."""
    configure_logging("warning", "json")
    every = not (growth or requests or logins or uploads or resources)
    many = users or (QUICK_MANY if quick else MANY)
    settings, figures = _settings(data), list[Figure]()
    with with_database(settings) as located:
        if requests or every:
            figures += _shown(measure_requests(located, rounds=15 if quick else 40, block=BLOCK))
            figures += _shown(measure_limiter(located, rounds=15 if quick else 40, block=BLOCK))
            figures += _shown(measure_round_trips(located))
        if uploads or every:
            figures += _shown(measure_uploads(located, rounds=3 if quick else 9))
        if logins or every:
            figures += _shown(measure_logins(located, rounds=3 if quick else 9))
        if growth or every:
            figures += _shown(measure_growth(located, users=many, rounds=60 if quick else 200))
        if resources or every:
            figures += _shown(measure_memory(located))
    if resources or every:
        figures += _shown(measure_start(settings, rounds=3 if quick else 7))
    if write:
        write_report(figures)


def _shown(figures: Iterable[Figure]) -> list[Figure]:
    """Prints each part as soon as it is there, for all of it takes minutes."""
    found = list(figures)
    show(found)
    return found


def _settings(data: Path) -> Settings:
    """The environment's, on databases of the benchmark's own."""
    return read_settings().model_copy(update={"data_dir": data, "database_prefix": PREFIX})


if __name__ == "__main__":
    typer.run(main)
