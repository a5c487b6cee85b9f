"""Endpoints of check runs, with the refusals that GitHub gives."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, get_args

import msgspec

from bot.rehearsal import views_code
from bot.rehearsal.call import Answer, Call, Problem, not_found
from bot.rehearsal.endpoints.codebase import resolved
from bot.rehearsal.state import Annotation, CheckRun, CheckSuite, Conclusion, Output

MAX_TEXT: Final = 65_535
MAX_ANNOTATIONS: Final = 50
MAX_ACTIONS: Final = 3
SETTABLE: Final = ("queued", "in_progress", "completed")
CONCLUSIONS: Final = tuple(word for word in get_args(Conclusion) if word != "stale")
"""`stale` is set by GitHub alone."""
TEXT_FIELDS: Final = ("name", "head_sha", "details_url", "external_id")


def refused(message: str) -> Problem:
    """422 in the wording of the checks API."""
    return Problem(422, f"Invalid request.\n\n{message}")


def _app(call: Call) -> str:
    """The app that asks.

    Raises:
        Problem: 403 for a person's token.

    """
    if call.actor.app is None:
        raise Problem(403, "You must authenticate via a GitHub App.")
    return call.actor.app


def _time(fields: Mapping[str, Any], name: str) -> datetime | None:
    text = fields.get(name)
    if text is None:
        return None
    try:
        moment = msgspec.convert(text, datetime)
    except msgspec.ValidationError:
        raise refused(f"{text!r} is not a valid date-time for {name}.") from None
    return moment.astimezone(UTC).replace(microsecond=0) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _check_words(fields: Mapping[str, Any]) -> None:
    for name in TEXT_FIELDS:
        if name in fields and not isinstance(fields[name], str):
            raise refused(f"For '{name}', {fields[name]!r} is not a string.")
    if "status" in fields and fields["status"] not in SETTABLE:
        raise refused(f"Invalid value for status: {fields['status']!r}.")
    if "conclusion" in fields and fields["conclusion"] not in CONCLUSIONS:
        raise refused(f"Invalid value for conclusion: {fields['conclusion']!r}.")
    if (fields.get("status") == "completed" or "completed_at" in fields) and "conclusion" not in fields:
        raise refused("Missing conclusion: it is required with completed_at or a status of completed.")
    actions = fields.get("actions", [])
    if not isinstance(actions, list) or len(actions) > MAX_ACTIONS:
        raise refused(f"No more than {MAX_ACTIONS} actions are allowed.")


def _output(call: Call, fields: Mapping[str, Any]) -> Output | None:
    """The output of the request, checked; null when it has none."""
    output = fields.get("output")
    if output is None:
        return None
    if not isinstance(output, dict) or not all(isinstance(output.get(name), str) for name in ("title", "summary")):
        raise refused("output needs both title and summary.")
    for name in ("summary", "text"):
        size = call.state.length(output.get(name) or "")
        if size > MAX_TEXT:
            raise refused(f"Only {MAX_TEXT} characters are allowed; {size} were supplied.")
    return Output(title=output["title"], summary=output["summary"], text=output.get("text"))


def _annotations(fields: Mapping[str, Any]) -> list[Annotation]:
    rows = (fields.get("output") or {}).get("annotations") or []
    if not isinstance(rows, list):
        raise refused("annotations is not a list.")
    if len(rows) > MAX_ANNOTATIONS:
        raise refused(f"No more than {MAX_ANNOTATIONS} annotations are allowed per request; {len(rows)} were supplied.")
    try:
        found = msgspec.convert(rows, list[Annotation])
    except msgspec.ValidationError as error:
        raise refused(f"Invalid annotation: {error}.") from None
    if any(one.start_column is not None and one.start_line != one.end_line for one in found):
        raise refused("start_column and end_column are allowed only when start_line equals end_line.")
    return found


def _apply(call: Call, run: CheckRun, fields: Mapping[str, Any]) -> None:
    """Write the checked request onto the run. An output replaces the old one, annotations add up."""
    output, annotations, now = _output(call, fields), _annotations(fields), call.state.now()
    started, completed = _time(fields, "started_at"), _time(fields, "completed_at")
    run.name = fields.get("name", run.name)
    run.external_id = fields.get("external_id", run.external_id)
    run.details_url = fields.get("details_url", run.details_url)
    run.started_at = started or run.started_at or now
    run.output = output or run.output
    run.annotations += annotations
    if "conclusion" in fields:
        run.status, run.conclusion = "completed", fields["conclusion"]
        run.completed_at = completed or now
    elif "status" in fields:
        run.status, run.conclusion, run.completed_at = fields["status"], None, None


def _shown(call: Call, run: CheckRun, status: int = 200) -> Answer:
    return Answer(status=status, body=views_code.check_run(call.links, call.state, call.repo, run))


def create_check_run(call: Call) -> Answer:
    """POST /repos/{owner}/{repo}/check-runs: into the app's one suite of the commit."""
    fields, app, repo = call.fields(), _app(call), call.repo
    _check_words(fields)
    for name in ("name", "head_sha"):
        if not fields.get(name):
            raise refused(f'"{name}" wasn\'t supplied.')
    if fields["head_sha"] not in repo.commits:
        raise Problem(422, f"No commit found for SHA: {fields['head_sha']}")
    suite = repo.suite_for(app, fields["head_sha"])
    run = CheckRun(
        id=call.state.new_id(),
        name=fields["name"],
        head_sha=fields["head_sha"],
        suite=suite.id if suite else call.state.new_id(),
        app=app,
        status="queued",
        conclusion=None,
        started_at=None,
        completed_at=None,
        created_at=call.state.now(),
        output=Output(),
    )
    _apply(call, run, fields)
    repo.check_suites.setdefault(run.suite, CheckSuite(id=run.suite, app=app, head_sha=run.head_sha))
    repo.check_runs[run.id] = run
    return _shown(call, run, 201)


def _run(call: Call) -> CheckRun:
    run = call.repo.check_runs.get(call.number("check_run_id"))
    if run is None:
        raise not_found()
    return run


def update_check_run(call: Call) -> Answer:
    """PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}: by the app that made it, nobody else."""
    fields, app, run = call.fields(), _app(call), _run(call)
    if run.app != app:
        mine = call.state.apps[app].id
        message = f"Invalid app_id `{mine}` - check run can only be modified by the GitHub App that created it."
        raise Problem(403, message)
    _check_words(fields)
    _apply(call, run, fields)
    return _shown(call, run)


def get_check_run(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/check-runs/{check_run_id}."""
    return _shown(call, _run(call))


def _latest(runs: list[CheckRun]) -> list[CheckRun]:
    """One run of each name and suite: the one completed last, so a queued repeat can be missing.

    Source: GITHUB.md section 3.
    """
    best: dict[tuple[int, str], CheckRun] = {}

    def rank(run: CheckRun) -> tuple[bool, float, int]:
        return run.completed_at is not None, run.completed_at.timestamp() if run.completed_at else 0.0, run.id

    for run in runs:
        key = (run.suite, run.name)
        if key not in best or rank(run) > rank(best[key]):
            best[key] = run
    return [run for run in runs if best[run.suite, run.name] is run]


def list_check_runs(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/commits/{ref}/check-runs."""
    wanted = {"check_name": call.query.get("check_name"), "status": call.query.get("status")}
    app_id = call.query.get("app_id")
    runs = [
        run
        for run in call.repo.checks_on(resolved(call, call.params["ref"]))
        if wanted["check_name"] in {None, run.name}
        and wanted["status"] in {None, run.status}
        and app_id in {None, str(call.state.apps[run.app].id)}
    ]
    kept = runs if call.query.get("filter") == "all" else _latest(runs)
    rows = [views_code.check_run(call.links, call.state, call.repo, run) for run in kept]
    return call.listing(rows, wrap="check_runs")


def list_annotations(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/check-runs/{check_run_id}/annotations."""
    run = _run(call)
    page = f"{call.links.page(call.repo)}/blob/{run.head_sha}"
    return call.listing([{**msgspec.to_builtins(one), "blob_href": f"{page}/{one.path}"} for one in run.annotations])
