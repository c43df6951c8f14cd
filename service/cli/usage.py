"""`auth-collections usage`: the requests of a project by hour or day, its sizes and its limits of the day."""

from typing import Annotated, Any

import typer

from service.cli.output import AsJson, print_json

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def usage(
    project_id: Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")],
    step: Annotated[str, typer.Option("--step", help="hour or day.")] = "hour",
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Steps from this time on.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Steps up to this time.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the requests of a project by hour or day, its sizes and its limits of the day."""
    from service.cli.reading import read_row

    found = read_row(f"/admin/v1/projects/{project_id}/usage", {"step": step, "since": since, "until": until})
    if as_json:
        print_json(found)
        return
    sizes = found["sizes"] or {}
    lines = [_line(step) for step in found["steps"] if step["requests"]]
    lines += [f"{name}: {value}" for name, value in sizes.items()]
    lines += [f"limit {each['name']}: {each['remaining']} of {each['limit']} left" for each in found["limits"]]
    typer.echo("\n".join(lines))


def _line(step: dict[str, Any]) -> str:
    numbers = [step[name] for name in ("requests", "errors_4xx", "errors_5xx", "bytes")]
    texts = [f"{step['p50_ms']} ms" if step["p50_ms"] else "-", f"{step['p95_ms']} ms" if step["p95_ms"] else "-"]
    return "\t".join((step["at"], *map(str, numbers), *texts))
