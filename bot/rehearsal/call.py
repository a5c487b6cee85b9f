"""One request as an endpoint sees it, its answer, and GitHub's error answers. Routes never belong here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from bot.rehearsal.state import Issue, Repository, State, Token
from bot.rehearsal.views import Json, Links

DOCS: Final = "https://docs.github.com/rest"
DEFAULT_PER_PAGE: Final = 30
MAX_PER_PAGE: Final = 100
MAX_DIGITS: Final = 18
"""More digits than any id of GitHub's has; Python itself refuses to read thousands."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the server sends. A null body sends no bytes."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Problem(Exception):
    """An error answer of GitHub; caught where requests are dispatched."""

    def __init__(self, status: int, message: str, errors: Sequence[Json] = ()) -> None:
        """`errors` are the entries of a 422."""
        super().__init__(message)
        self.status = status
        body: Json = {"message": message, "documentation_url": DOCS}
        self.answer = Answer(status=status, body={**body, "errors": list(errors)} if errors else body)


def not_found() -> Problem:
    """404 as GitHub gives it, for what is missing and for what may not be seen."""
    return Problem(404, "Not Found")


def invalid(resource: str, name: str, code: str, message: str | None = None) -> Problem:
    """422 with one entry."""
    entry = {"resource": resource, "field": name, "code": code, **({"message": message} if message else {})}
    return Problem(422, "Validation Failed", [entry])


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request that reached a known endpoint."""

    state: State
    links: Links
    path: str
    """As sent, still quoted."""
    params: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    """The parsed JSON; null when there was none."""
    token: Token | None

    @property
    def repo(self) -> Repository:
        """The repository of the path.

        Raises:
            Problem: 404.

        """
        repo = self.state.repository(f"{self.params['owner']}/{self.params['repo']}")
        if repo is None or (repo.private and not self.token):
            raise not_found()
        return repo

    @property
    def actor(self) -> Token:
        """Who asks.

        Raises:
            Problem: 401 for a request without a token.

        """
        if self.token is None:
            raise Problem(401, "Requires authentication")
        return self.token

    def number(self, name: str) -> int:
        """A number of the path.

        Raises:
            Problem: 404 when it is none.

        """
        text = self.params[name]
        if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
            raise not_found()
        return int(text)

    def issue(self) -> Issue:
        """The issue or pull request of the path.

        Raises:
            Problem: 404.

        """
        issue = self.repo.issues.get(self.number("issue_number"))
        if issue is None:
            raise not_found()
        return issue

    def fields(self) -> Json:
        """The body as an object.

        Raises:
            Problem: 400 when it is something else.

        """
        if self.body is None:
            return {}
        if not isinstance(self.body, dict):
            raise Problem(400, "Body should be a JSON object")
        return self.body

    def _count(self, name: str, default: int) -> int:
        text = self.query.get(name, "")
        usable = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
        return (int(text) if usable else 0) or default

    def page(self, *, most: int = MAX_PER_PAGE, default: int = DEFAULT_PER_PAGE) -> slice:
        """The asked part of a list; `per_page` above the limit counts as the limit."""
        size = min(self._count("per_page", default), most)
        start = (self._count("page", 1) - 1) * size
        return slice(start, start + size)

    def link_header(self, total: int, page: slice) -> dict[str, str]:
        """The `Link` header of one page, absent when all fits on one."""
        size = page.stop - page.start
        current, last = page.start // size + 1, max(1, -(-total // size))
        relations = {
            "prev": current - 1 if current > 1 else None,
            "next": current + 1 if current < last else None,
            "last": last if current < last else None,
            "first": 1 if current > 1 else None,
        }
        links = [
            f'<{self.links.api}{self.path}?{urlencode({**self.query, "page": str(number)})}>; rel="{relation}"'
            for relation, number in relations.items()
            if number
        ]
        return {"Link": ", ".join(links)} if links else {}

    def listing(self, rows: Sequence[Json], *, wrap: str | None = None) -> Answer:
        """One page of `rows`; with `wrap`, inside an object with `total_count`."""
        page = self.page()
        body = [*rows[page]] if wrap is None else {"total_count": len(rows), wrap: [*rows[page]]}
        return Answer(body=body, headers=self.link_header(len(rows), page))
