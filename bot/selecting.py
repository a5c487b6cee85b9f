"""GitHub's file list to a Selection: patches are read in a limited child process, rules are those of levels/."""

from bot.desk import Selector
from bot.parse_changes import Request
from bot.ports import ChangedFile, ChangedFiles
from bot.sandbox import analyse
from levels import rules
from levels.catalogue import Catalogue
from levels.changes import STATUS_OF_API, Source, Status
from levels.plan import Selection
from levels.rulebook import RuleSet


def selector(catalogue: Catalogue, book: RuleSet) -> Selector:
    """What planning calls to select levels."""

    def select(changed: ChangedFiles, doubts: tuple[str, ...]) -> Selection:
        analysis = analyse(Request(sources=tuple(_source(file, book) for file in changed.files)))
        return rules.select(analysis.changes, catalogue, book, doubts=(*doubts, *analysis.doubts))

    return select


def _source(file: ChangedFile, book: RuleSet) -> Source:
    wanted = any(book.wants_content(name) for name in (file.path, file.previous_path) if name)
    return Source(
        path=file.path,
        previous_path=file.previous_path,
        status=STATUS_OF_API.get(file.status, Status.UNKNOWN),
        patch=file.patch if wanted else None,
        lines=file.lines if wanted else None,
    )
