"""The traceback that an import probe brought home, read like one of a log. Verdict words never belong here."""

import io

from levels.causes import Cause, first_cause
from levels.logs import read_log
from levels.signatures import Knowledge


def import_error(text: str, knowledge: Knowledge, bridge_root: str | None) -> Cause | None:
    """The cause that the traceback `text` shows; None when it shows none."""
    facts = read_log(io.BytesIO(text.encode("utf-8", "replace")), knowledge)
    return first_cause(facts.last, knowledge, done_line=None, bridge_root=bridge_root)
