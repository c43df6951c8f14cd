"""`scripts/bench`: which figures to measure, on which data."""

from pathlib import Path
from typing import Annotated

import typer

from bench.figures import show
from bench.growth import measure_growth
from bench.requests import measure_requests
from service.local import with_database
from service.logs import configure_logging
from service.settings import Settings, read_settings

PREFIX = "bench_"

Select = Annotated[list[str] | None, typer.Option("--only", help="requests")]


def main(
    growth: Annotated[bool, typer.Option("--growth", help="Lists, from 10,000 users to --users.")] = False,
    requests: Annotated[bool, typer.Option("--requests", help="CPU per request beside the bare floor.")] = False,
    users: Annotated[
        int | None, typer.Option(help="How many users are many; 1,000,000 by default.", min=20_000)
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="200,000 users and fewer rounds.")] = False,
    data: Annotated[Path, typer.Option(help="Where generated users are kept between runs.")] = Path("data/bench"),
) -> None:
    """Measure the figures of DESIGN section 8. Without a selection, all of them."""
    configure_logging("warning", "json")
    every = not (growth or requests)
    with with_database(_settings(data)) as settings:
        if requests or every:
            show("Requests", measure_requests(settings, rounds=15 if quick else 40, block=250))
        if growth or every:
            figures, _ = measure_growth(
                settings, users=users or (200_000 if quick else 1_000_000), rounds=60 if quick else 200
            )
            show("Growth", figures)


def _settings(data: Path) -> Settings:
    """The environment's, on databases of the benchmark's own."""
    return read_settings().model_copy(update={"data_dir": data, "database_prefix": PREFIX})


if __name__ == "__main__":
    typer.run(main)
