"""State to the JSON of commits, comparisons, files, checks and workflow runs. Changes never belong here."""

import base64
import textwrap
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

from bot.rehearsal.state import CheckRun, Commit, Entry, Job, Person, Repository, State, WorkflowRun, node_id
from bot.rehearsal.views import Json, Links, app, changed_file, maybe, repository, stamp

COMPARE_FILES: Final = 300
"""Source: docs.github.com/en/rest/commits/commits#compare-two-commits."""
MAX_CONTENT_BYTES: Final = 1024 * 1024
"""Above it, `content` is empty and `encoding` is `none`. Source: docs.github.com/en/rest/repos/contents."""


def _person(one: Person) -> Json:
    return {"name": one.name, "email": one.email, "date": stamp(one.date)}


def commit(links: Links, repo: Repository, one: Commit, files: Sequence[Json] | None = None) -> Json:
    """`commit`. Accounts behind e-mail addresses are never known here, so author and committer are null."""
    api, page = links.repo(repo), links.page(repo)
    return {
        "sha": one.sha,
        "node_id": node_id("Commit", int(one.sha[:8], 16)),
        "url": f"{api}/commits/{one.sha}",
        "html_url": f"{page}/commit/{one.sha}",
        "comments_url": f"{api}/commits/{one.sha}/comments",
        "commit": {
            "url": f"{api}/git/commits/{one.sha}",
            "author": _person(one.author),
            "committer": _person(one.committer),
            "message": one.message,
            "comment_count": 0,
            "tree": {"sha": one.tree, "url": f"{api}/git/trees/{one.tree}"},
            "verification": {
                "verified": False,
                "reason": "unsigned",
                **dict.fromkeys(("signature", "payload", "verified_at")),
            },
        },
        "author": None,
        "committer": None,
        "parents": [
            {"sha": sha, "url": f"{api}/commits/{sha}", "html_url": f"{page}/commit/{sha}"} for sha in one.parents
        ],
        **({"files": list(files), "stats": _stats(one)} if files is not None else {}),
    }


def _stats(one: Commit) -> Json:
    added, removed = sum(f.additions for f in one.files), sum(f.deletions for f in one.files)
    return {"additions": added, "deletions": removed, "total": added + removed}


def comparison(links: Links, repo: Repository, base: str, head: str, merge_base: str, page: slice) -> Json:
    """`commit-comparison`; files only when the page is the first one."""
    behind = [sha for sha in repo.ancestors(base) if sha not in repo.ancestors(head)]
    ahead = [sha for sha in repo.ancestors(head) if sha not in repo.ancestors(base)][::-1]
    html, api = f"{links.page(repo)}/compare/{base}...{head}", f"{links.repo(repo)}/compare/{base}...{head}"
    files = repo.changed_between(merge_base, head)[:COMPARE_FILES]
    first = {"files": [changed_file(links, repo, head, file) for file in files]} if not page.start else {}
    return {
        "url": api,
        "html_url": html,
        "permalink_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "base_commit": commit(links, repo, repo.commits[base]),
        "merge_base_commit": commit(links, repo, repo.commits[merge_base]),
        "status": {(True, True): "diverged", (True, False): "ahead", (False, True): "behind"}.get(
            (bool(ahead), bool(behind)), "identical"
        ),
        "ahead_by": len(ahead),
        "behind_by": len(behind),
        "total_commits": len(ahead),
        "commits": [commit(links, repo, repo.commits[sha]) for sha in ahead[page]],
        **first,
    }


def _entry(links: Links, repo: Repository, sha: str, path: str, one: Entry) -> Json:
    kind = {"file": "blob", "symlink": "blob", "dir": "tree", "submodule": "tree"}[one.kind]
    url = f"{links.repo(repo)}/contents/{quote(path)}?ref={sha}"
    page = f"{links.page(repo)}/{kind}/{sha}/{quote(path)}"
    git = f"{links.repo(repo)}/git/{kind}s/{one.sha}"
    raw = f"{links.page(repo)}/raw/{sha}/{quote(path)}" if kind == "blob" else None
    return {
        "type": one.kind,
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": one.sha,
        "size": one.size,
        "url": url,
        "html_url": page,
        "git_url": git,
        "download_url": raw,
        "_links": {"self": url, "git": git, "html": page},
    }


def directory(links: Links, repo: Repository, sha: str, tree: Mapping[str, Entry], path: str) -> list[Json]:
    """`content-directory`. A submodule is listed as `file`, as GitHub does for compatibility."""
    prefix = f"{path}/" if path else ""
    children = {p: e for p, e in tree.items() if p.startswith(prefix) and "/" not in p[len(prefix) :]}
    rows = [_entry(links, repo, sha, child, one) for child, one in sorted(children.items())]
    return [{**row, "type": "file" if row["type"] == "submodule" else row["type"]} for row in rows]


def content(links: Links, repo: Repository, sha: str, path: str, one: Entry, data: bytes | None) -> Json:
    """`content-file`, `content-symlink` or `content-submodule`; `data` is null when it was not loaded."""
    row = _entry(links, repo, sha, path, one)
    match one.kind:
        case "submodule":
            return {**row, "submodule_git_url": f"{links.html}/{repo.owner}/{quote(path.rpartition('/')[2])}.git"}
        case "symlink":
            return {**row, "target": (data or b"").decode(errors="replace")}
        case _ if data is None or len(data) > MAX_CONTENT_BYTES:
            return {**row, "encoding": "none", "content": ""}
        case _:
            text = base64.b64encode(data).decode()
            return {**row, "encoding": "base64", "content": "\n".join([*textwrap.wrap(text, 60), ""])}


def _pulls_of(links: Links, state: State, repo: Repository, sha: str) -> list[Json]:
    """`pull-request-minimal` of the open pull requests with this head in this repository; none for forks."""

    def side(name: str | None, ref: str, commit_id: str) -> Json:
        known = state.repository(name) if name else None
        place = known or repo
        return {
            "ref": ref,
            "sha": commit_id,
            "repo": {"id": place.id, "url": links.repo(place), "name": place.name},
        }

    return [
        {
            "id": issue.id,
            "number": issue.number,
            "url": f"{links.repo(repo)}/pulls/{issue.number}",
            "head": side(issue.pull.head_repository, issue.pull.head_ref, issue.pull.head_sha),
            "base": side(repo.full_name, issue.pull.base_ref, issue.pull.base_sha),
        }
        for issue in repo.issues.values()
        if issue.pull and issue.pull.head_sha == sha and issue.pull.head_repository == repo.full_name
    ]


def check_run(links: Links, state: State, repo: Repository, one: CheckRun) -> Json:
    """`check-run`."""
    url, page = f"{links.repo(repo)}/check-runs/{one.id}", f"{links.page(repo)}/runs/{one.id}"
    return {
        "id": one.id,
        "node_id": node_id("CheckRun", one.id),
        "name": one.name,
        "head_sha": one.head_sha,
        "external_id": one.external_id or "",
        "url": url,
        "html_url": page,
        "details_url": one.details_url or page,
        "status": one.status,
        "conclusion": one.conclusion,
        "started_at": maybe(one.started_at),
        "completed_at": maybe(one.completed_at),
        "output": {
            "title": one.output.title,
            "summary": one.output.summary,
            "text": one.output.text,
            "annotations_count": len(one.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": one.suite},
        "app": app(links, state, state.apps[one.app]),
        "pull_requests": _pulls_of(links, state, repo, one.head_sha),
    }


def workflow_run(links: Links, state: State, repo: Repository, one: WorkflowRun) -> Json:
    """`workflow-run`."""
    url = f"{links.repo(repo)}/actions/runs/{one.id}"
    suffixes = ("jobs", "logs", "artifacts", "cancel", "rerun")
    known = repo.commits.get(one.head_sha)
    return {
        "id": one.id,
        "node_id": node_id("WorkflowRun", one.id),
        "name": one.name,
        "path": one.path,
        "head_branch": one.head_branch,
        "head_sha": one.head_sha,
        "run_number": 1,
        "run_attempt": one.attempt,
        "event": one.event,
        "status": one.status,
        "conclusion": one.conclusion,
        "workflow_id": 1,
        "url": url,
        "html_url": f"{links.page(repo)}/actions/runs/{one.id}",
        **{f"{name}_url": f"{url}/{name}" for name in suffixes},
        "check_suite_url": f"{links.repo(repo)}/check-suites/{one.id}",
        "workflow_url": f"{links.repo(repo)}/actions/workflows/1",
        "previous_attempt_url": None,
        "pull_requests": _pulls_of(links, state, repo, one.head_sha),
        "created_at": stamp(one.created_at),
        "updated_at": stamp(one.created_at),
        "run_started_at": stamp(one.created_at),
        "head_commit": _head_commit(known) if known else None,
        "repository": _minimal(links, state, repo),
        "head_repository": _minimal(links, state, repo),
        "display_title": one.name,
    }


def _minimal(links: Links, state: State, repo: Repository) -> Json:
    """`minimal-repository`."""
    return repository(links, state, repo)


def _head_commit(one: Commit) -> Json:
    """`simple-commit`."""
    return {
        "id": one.sha,
        "tree_id": one.tree,
        "message": one.message,
        "timestamp": stamp(one.committer.date),
        "author": {"name": one.author.name, "email": one.author.email},
        "committer": {"name": one.committer.name, "email": one.committer.email},
    }


def job(links: Links, repo: Repository, run: WorkflowRun, one: Job) -> Json:
    """`job`."""
    return {
        "id": one.id,
        "node_id": node_id("Job", one.id),
        "run_id": run.id,
        "run_url": f"{links.repo(repo)}/actions/runs/{run.id}",
        "run_attempt": one.attempt,
        "head_sha": run.head_sha,
        "head_branch": run.head_branch,
        "url": f"{links.repo(repo)}/actions/jobs/{one.id}",
        "html_url": f"{links.page(repo)}/actions/runs/{run.id}/job/{one.id}",
        "check_run_url": f"{links.repo(repo)}/check-runs/{one.id}",
        "name": one.name,
        "workflow_name": run.name,
        "status": one.status,
        "conclusion": one.conclusion,
        "created_at": stamp(one.created_at),
        "started_at": stamp(one.started_at),
        "completed_at": maybe(one.completed_at),
        "steps": [
            {"name": step.name, "number": step.number, "status": step.status, "conclusion": step.conclusion}
            for step in one.steps
        ],
        "labels": one.labels,
        "runner_id": 1 if one.runner else None,
        "runner_name": one.runner,
        "runner_group_id": 1 if one.runner else None,
        "runner_group_name": "Default" if one.runner else None,
    }
