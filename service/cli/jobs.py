"""`auth-collections job ...`: the long jobs of projects."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.output import AsJson, print_json, print_values

if TYPE_CHECKING:
    from service.services import Services
    from service.storage.client import Document

HELP = "List, show, follow and cancel the long jobs of projects."
job_app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None, add_completion=False)
JobId = Annotated[str, typer.Argument(metavar="ID", help="The job's id.")]


@job_app.command("list")
def list_jobs(
    kind: Annotated[str | None, typer.Option("--kind", help="backup, verify, restore or clone.")] = None,
    state: Annotated[
        str | None, typer.Option("--state", help="queued, running, cancelling, done, failed or cancelled.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="Number of jobs.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the long jobs of all projects, the newest first."""
    from service.cli.reading import read_row

    found = read_row("/admin/v1/jobs", {"kind": kind, "state": state, "limit": str(limit)})
    if as_json:
        print_json(found)
    for job in () if as_json else found["jobs"]:
        progress = job["progress"]
        done = f"{progress['done']}/{progress['total']}" if progress["total"] is not None else str(progress["done"])
        reason = job["error"]["code"] if job["error"] else "-"
        words = (job["id"], job["created_at"], job["kind"], job["project_id"], job["state"], done, reason)
        typer.echo("\t".join(words))


@job_app.command()
def show(job_id: JobId, as_json: AsJson = False) -> None:
    """Show a long job: its state, progress, and its result or error."""
    from service.cli.reading import read_row

    print_values(read_row(f"/admin/v1/jobs/{job_id}", {}), as_json=as_json)


@job_app.command()
def follow(job_id: JobId, as_json: AsJson = False) -> None:
    """Show the progress of a job until it ends; Ctrl-C leaves the job alone. Status 1 where it is not done."""
    from service.cli.following import check_outcome, follow_job
    from service.cli.progress import show_progress
    from service.cli.runtime import run_command

    with show_progress(as_json=as_json) as progress:
        job = run_command(lambda services: follow_job(services.backups, job_id, progress), only_reads=True)
    print_values(_summarize(check_outcome(job)), as_json=as_json)


@job_app.command()
def cancel(job_id: JobId, as_json: AsJson = False) -> None:
    """Cancel a job, and wait for its end. Its unfinished files and records are removed."""
    from service.cli.progress import show_progress
    from service.cli.runtime import run_command

    async def work(services: "Services") -> "Document":
        from service.cli.following import run_job
        from service.domain.portable.jobs import cancel_job

        await cancel_job(services.backups.jobs, job_id)
        # Without a server this process ends the job, once the lease of a dead process has run out.
        return await run_job(services.backups, job_id, progress)

    with show_progress(as_json=as_json) as progress:
        job = run_command(work)
    print_values(_summarize(job), as_json=as_json)


def _summarize(job: "Document") -> dict[str, Any]:
    return {"id": job["_id"], "kind": job["kind"], "state": job["state"], "result": job.get("result")}
