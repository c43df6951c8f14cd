"""`scripts/bench`: which figures to measure, on which data."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bench.aggregations import measure_aggregations
from bench.bystanders import measure_beside_bulk, measure_silent, measure_stream, measure_writes
from bench.command_line import measure_commands
from bench.console import measure_console
from bench.cursors import measure_cursors
from bench.elections import measure_elections
from bench.fast import measure_fast
from bench.figures import Figure, show
from bench.growth import measure_growth
from bench.limiter import measure_limiter
from bench.logins import measure_logins
from bench.mails import measure_mails
from bench.realtime import measure_room, measure_rooms, measure_socket_memory
from bench.reliability import measure_reliability
from bench.report import write_report
from bench.requests import measure_requests
from bench.resources import measure_memory, measure_start
from bench.round_trips import measure_round_trips
from bench.rules import measure_rules
from bench.scaling import measure_members, measure_workers
from bench.sessions import measure_sessions
from bench.uploads import measure_uploads
from service.embedded.local import with_database
from service.observe.logging import configure_logging
from service.settings import Settings, read_settings

PREFIX = "bench_"
MANY, QUICK_MANY = 1_000_000, 200_000
BLOCK = 250
REALTIME = (
    measure_room,
    measure_socket_memory,
    measure_rooms,
    measure_writes,
    measure_stream,
    measure_beside_bulk,
    measure_silent,
)


def main(
    growth: Annotated[bool, typer.Option("--growth", help="Lists, from 10,000 users to --users.")] = False,
    requests: Annotated[
        bool, typer.Option("--requests", help="CPU per request, MongoDB's too, beside the bare floor.")
    ] = False,
    rules: Annotated[bool, typer.Option("--rules", help="Lists under access rules; only when asked for.")] = False,
    cursor: Annotated[
        bool, typer.Option("--cursor", help="Pages by cursor and by offset, of --users documents; only when asked for.")
    ] = False,
    aggregations: Annotated[
        bool, typer.Option("--aggregations", help="Aggregations beside pipelines by hand; only when asked for.")
    ] = False,
    logins: Annotated[bool, typer.Option("--logins", help="Logins beside bcrypt.")] = False,
    uploads: Annotated[bool, typer.Option("--uploads", help="Uploads beside GridFS.")] = False,
    resources: Annotated[bool, typer.Option("--resources", help="Start, memory and the CPU of commands.")] = False,
    reliability: Annotated[
        bool, typer.Option("--reliability", help="What must not happen while things break.")
    ] = False,
    scaling: Annotated[
        bool, typer.Option("--scaling", help="Workers, services and members; only when asked for.")
    ] = False,
    realtime: Annotated[
        bool, typer.Option("--realtime", help="Queries that are followed over many sockets; only when asked for.")
    ] = False,
    sessions: Annotated[
        bool, typer.Option("--sessions", help="A refresh beside a profile, and mails; only when asked for.")
    ] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="Requests without each replacement of service/fast; only when asked for.")
    ] = False,
    console: Annotated[
        bool, typer.Option("--console", help="The console's grid of --users documents; only when asked for.")
    ] = False,
    against: Annotated[
        Path | None,
        typer.Option(
            help="Another checkout, measured beside this one by --requests, --rules and --sessions.", file_okay=False
        ),
    ] = None,
    users: Annotated[
        int | None, typer.Option(help=f"How many users are many; {MANY:,} by default.", min=20_000)
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="200,000 users and fewer rounds.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Put the results into docs/performance.md.")] = False,
    data: Annotated[Path, typer.Option(help="Where generated users are kept between runs.")] = Path("data/bench"),
) -> None:
    """Measure the figures of docs/performance.md. Without a selection, all of them."""
    configure_logging("warning", "json")
    asked = {"requests": requests, "uploads": uploads, "logins": logins, "growth": growth, "resources": resources}
    asked["reliability"] = reliability
    chosen = {
        name
        for name, wanted in (
            asked
            | {"scaling": scaling, "rules": rules, "cursor": cursor, "aggregations": aggregations, "realtime": realtime}
            | {"sessions": sessions, "fast": fast, "console": console}
        ).items()
        if wanted
    } or set(asked)
    many = users or (QUICK_MANY if quick else MANY)
    settings, figures = _settings(data), list[Figure]()
    with with_database(settings) as located:
        for name, measure in _parts(located, many, quick, against):
            figures += _shown(measure()) if name in chosen else []
    if "resources" in chosen:
        figures += _shown(measure_start(settings, rounds=3 if quick else 7))
    if "reliability" in chosen:
        figures += _shown(measure_reliability(quick=quick))
    if write:
        write_report(figures)


def _parts(
    located: Settings, many: int, quick: bool, against: Path | None
) -> list[tuple[str, Callable[[], list[Figure]]]]:
    """The measurements on a running MongoDB, in this order, each under the option that selects it."""
    rounds, few = (15, 3) if quick else (40, 9)
    return [
        ("requests", lambda: measure_requests(located, rounds=rounds, block=BLOCK, against=against)),
        ("requests", lambda: measure_limiter(located, rounds=rounds, block=BLOCK)),
        ("requests", lambda: measure_round_trips(located)),
        ("sessions", lambda: measure_sessions(located, rounds=rounds, block=BLOCK, against=against)),
        ("sessions", lambda: measure_mails(located)),
        ("fast", lambda: measure_fast(located, rounds=rounds, block=BLOCK)),
        ("rules", lambda: measure_rules(located, rounds=rounds, block=BLOCK, against=against)),
        ("cursor", lambda: measure_cursors(located, documents=many)),
        ("console", lambda: measure_console(located, documents=many, rounds=few)),
        ("aggregations", lambda: measure_aggregations(located, many=many, rounds=few)),
        ("uploads", lambda: measure_uploads(located, rounds=few)),
        ("logins", lambda: measure_logins(located, rounds=few)),
        ("growth", lambda: measure_growth(located, users=many, rounds=60 if quick else 200)),
        ("resources", lambda: measure_memory(located)),
        ("resources", lambda: measure_commands(located, rounds=few)),
        *(("realtime", partial(measure, located, quick=quick)) for measure in REALTIME),
        ("scaling", lambda: measure_workers(located, rounds=few, block=1_000)),
        ("scaling", lambda: measure_members(located, rounds=few, block=100)),
        ("scaling", lambda: list(measure_elections(located, rounds=few))),
    ]


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
