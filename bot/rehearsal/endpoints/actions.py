"""Endpoints of workflow runs and their jobs."""

from bot.rehearsal import views_code
from bot.rehearsal.call import Answer, Call, Problem, not_found
from bot.rehearsal.state import WorkflowRun


def list_runs(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/actions/runs: newest first."""
    event = call.query.get("event")
    runs = [run for _, run in sorted(call.repo.runs.items(), reverse=True)]
    kept = [run for run in runs if event in {None, run.event}]
    shown = [views_code.workflow_run(call.links, call.state, call.repo, run) for run in kept]
    return call.listing(shown, wrap="workflow_runs")


def _run(call: Call) -> WorkflowRun:
    run = call.repo.runs.get(call.number("run_id"))
    if run is None:
        raise not_found()
    return run


def get_run(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/actions/runs/{run_id}."""
    return Answer(body=views_code.workflow_run(call.links, call.state, call.repo, _run(call)))


def list_jobs(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/actions/runs/{run_id}/jobs: of the last attempt, or with `filter=all` of every one."""
    run = _run(call)
    jobs = [job for job in run.jobs if call.query.get("filter") == "all" or job.attempt == run.attempt]
    return call.listing([views_code.job(call.links, call.repo, run, job) for job in jobs], wrap="jobs")


def cancel_run(call: Call) -> Answer:
    """POST /repos/{owner}/{repo}/actions/runs/{run_id}/cancel: asked for, not done at once."""
    run = _run(call)
    if run.status == "completed":
        raise Problem(409, "Cannot cancel a workflow run that is completed.")
    run.cancel_requested = True
    return Answer(status=202, body={})
