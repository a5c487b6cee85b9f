"""Endpoints of repositories, commits, files, accounts and rate limits."""

from typing import Final
from urllib.parse import unquote

from bot.rehearsal import views, views_code
from bot.rehearsal.call import Answer, Call, Problem, not_found
from bot.rehearsal.state import Repository

COMMIT_FILES_PER_PAGE: Final = 300
COMMIT_FILES: Final = 3_000
COMPARE_COMMITS: Final = 250


def get_repository(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}."""
    return Answer(body=views.full_repository(call.links, call.state, call.repo))


def resolved(call: Call, ref: str) -> str:
    """The commit that `ref` names.

    Raises:
        Problem: 422, as GitHub answers for an unknown commit.

    """
    sha = call.repo.resolve(ref)
    if sha is None:
        raise Problem(422, f"No commit found for SHA: {ref}")
    return sha


def get_commit(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/commits/{ref}."""
    repo = call.repo
    commit = repo.commits[resolved(call, call.params["ref"])]
    page = call.page(most=COMMIT_FILES_PER_PAGE, default=COMMIT_FILES_PER_PAGE)
    files = commit.files[:COMMIT_FILES]
    rows = [views.changed_file(call.links, repo, commit.sha, file) for file in files[page]]
    return Answer(body=views_code.commit(call.links, repo, commit, rows), headers=call.link_header(len(files), page))


def _side(repo: Repository, text: str) -> str:
    """A side of a comparison: a commit, a ref, or `owner:ref`. The commits of forks are found in the parent too."""
    _, _, ref = text.rpartition(":")
    sha = repo.resolve(ref)
    if sha is None:
        raise not_found()
    return sha


def compare(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/compare/{basehead}."""
    base, dots, head = call.params["basehead"].partition("...")
    if not dots:
        raise not_found()
    repo = call.repo
    first, second = _side(repo, base), _side(repo, head)
    merge_base = repo.merge_base(first, second)
    if merge_base is None:
        raise Problem(404, f"No common ancestor between {base} and {head}.")
    page = call.page(most=1000, default=COMPARE_COMMITS)
    body = views_code.comparison(call.links, repo, first, second, merge_base, page)
    return Answer(body=body, headers=call.link_header(body["total_commits"], page))


def get_content(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/contents/{path}, at `ref` or the default branch."""
    repo, path = call.repo, call.params.get("path", "").strip("/")
    ref = call.query.get("ref") or repo.default_branch
    sha = repo.resolve(ref)
    if sha is None:
        raise Problem(404, f"No commit found for the ref {ref}")
    tree = repo.tree_of(sha)
    entry = tree.get(path)
    if path == "" or (entry and entry.kind == "dir"):
        return Answer(body=views_code.directory(call.links, repo, sha, tree, path))
    if entry is None:
        raise not_found()
    body = views_code.content(call.links, repo, sha, path, entry, repo.blobs.get(entry.sha))
    return Answer(body=body)


def get_ref(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/git/ref/{ref}: a full name without `refs/`."""
    name = f"refs/{unquote(call.params['ref'])}"
    sha = call.repo.refs.get(name)
    if sha is None:
        raise not_found()
    url = f"{call.links.repo(call.repo)}/git"
    target = {"type": "commit", "sha": sha, "url": f"{url}/commits/{sha}"}
    return Answer(body={"ref": name, "node_id": name, "url": f"{url}/{name}", "object": target})


def list_matching_refs(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/git/matching-refs/{ref}: every ref whose name begins so. All on one page."""
    prefix, url = f"refs/{unquote(call.params['ref'])}", f"{call.links.repo(call.repo)}/git"
    found = sorted((name, sha) for name, sha in call.repo.refs.items() if name.startswith(prefix))
    rows = [
        {
            "ref": name,
            "node_id": name,
            "url": f"{url}/{name}",
            "object": {"type": "commit", "sha": sha, "url": f"{url}/commits/{sha}"},
        }
        for name, sha in found
    ]
    return Answer(body=rows)


def get_user(call: Call) -> Answer:
    """GET /user: 403 for an app's token, `GITHUB_TOKEN` included."""
    if call.actor.app:
        raise Problem(403, "Resource not accessible by integration")
    counts = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    names = dict.fromkeys(("name", "company", "location", "email", "hireable", "bio"))
    account = views.account(call.links, call.state, call.actor.login)
    times = dict.fromkeys(("created_at", "updated_at"), views.EPOCH)
    return Answer(body={**account, **names, "blog": "", **counts, **times})


def get_rate_limit(call: Call) -> Answer:
    """GET /rate_limit."""
    rate, now = call.state.rate, call.state.now()
    used = min(rate.used, rate.limit)
    core = {
        "limit": rate.limit,
        "used": used,
        "remaining": rate.limit - used,
        "reset": int((rate.reset_at or now).timestamp()),
    }
    return Answer(body={"resources": {"core": core, "search": core, "graphql": core}, "rate": core})
