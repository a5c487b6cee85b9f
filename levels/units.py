"""Patch to Units: which functions, class bodies and imports of a Python file really change. Levels never stand here.

Comments, docstrings and pure formatting are recognised and left out. A patch that shows the whole file is read with
`ast` and `tokenize`; a patch with a few lines of context is read by indentation, and what cannot be told apart counts
as code.
"""

import ast
import io
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from levels.changes import Change, Hunk, Patch, Status, Unit

MODULE: Final = "<module>"
IMPORTS: Final = "<imports>"
UNKNOWN: Final = "?"
METHOD_INDENT: Final = 4
MAX_UNITS: Final = 4_000
MAX_UNIT_LINES: Final = 4_000
_SKIPPED: Final = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
_STRING_START: Final = ('"""', "'''", 'r"""', "r'''", 'R"""')


def change_of(patch: Patch) -> Change:
    """The Change that the rules see; never raises for any text."""
    units: tuple[Unit, ...] | None = None
    doubt = patch.doubt
    if patch.hunks is not None and doubt is None and not patch.gitlink:
        units = units_of(patch)
        if len(units) > MAX_UNITS or any(len(unit.lines) > MAX_UNIT_LINES for unit in units):
            units, doubt = None, "the patch is too large to be read line by line"
    return Change(
        path=patch.path,
        previous_path=patch.previous_path,
        status=patch.status,
        gitlink=patch.gitlink,
        units=units,
        doubt=doubt,
    )


def units_of(patch: Patch) -> tuple[Unit, ...]:
    """The changed code of `patch`, grouped by scope, in order of first appearance."""
    hunks = patch.hunks or ()
    if not patch.path.endswith((".py", ".pyi")):
        lines = [(MODULE, line[0], line[1:].strip()) for hunk in hunks for line in hunk.lines if line[0] in "+-"]
        return _grouped(lines)
    whole = _whole(patch.status, hunks)
    return _grouped(_partial(hunks)) if whole is None else whole


def _grouped(lines: Iterable[tuple[str, str, str]]) -> tuple[Unit, ...]:
    """One Unit for each scope that has a line of code."""
    scopes: dict[str, tuple[list[str], list[str]]] = {}
    for scope, tag, text in lines:
        if text:
            scopes.setdefault(scope, ([], []))[tag == "+"].append(text)
    return tuple(
        Unit(scope=scope, lines=(*removed, *added), added=bool(added), removed=bool(removed))
        for scope, (removed, added) in scopes.items()
    )


# --- a patch that shows the whole file ---


def _whole(status: Status, hunks: Sequence[Hunk]) -> tuple[Unit, ...] | None:
    """The Units by syntax tree; null when the patch does not begin at the top of the file, or does not parse."""
    if len(hunks) != 1 or hunks[0].old_start > 1 or hunks[0].new_start > 1:
        return None
    old = _View.of([line[1:] for line in hunks[0].lines if line[0] != "+"] if status is not Status.ADDED else [])
    new = _View.of([line[1:] for line in hunks[0].lines if line[0] != "-"] if status is not Status.REMOVED else [])
    if old is None or new is None:
        return None
    units = _grouped(_changed(hunks[0], old, new))
    try:
        return tuple(unit for unit in units if old.meaning(unit.scope) != new.meaning(unit.scope))
    except RecursionError:
        return units


def _changed(hunk: Hunk, old: "_View", new: "_View") -> Iterator[tuple[str, str, str]]:
    at_old = at_new = 0
    for line in hunk.lines:
        if line[0] == "-":
            yield old.scopes[at_old], "-", old.code[at_old]
        elif line[0] == "+":
            yield new.scopes[at_new], "+", new.code[at_new]
        at_old += line[0] != "+"
        at_new += line[0] != "-"


_Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS: Final = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class _View:
    """A source text: for each line its scope and its code without comments and docstrings, and the tree."""

    def __init__(self, tree: ast.Module, code: list[str]) -> None:
        self.code = code
        self.scopes = [MODULE] * len(code)
        self._nodes: dict[str, list[ast.stmt | ast.Module]] = {MODULE: [tree]}
        self._walk(tree)

    @classmethod
    def of(cls, lines: list[str]) -> "_View | None":
        """The view of `lines`; null when they are not valid Python."""
        text = "\n".join(lines) + "\n"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
            return cls(tree, _code_of(text, len(lines)))
        except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
            return None

    def meaning(self, scope: str) -> list[str]:
        """What `scope` itself says, without docstrings, comments, layout and the bodies of definitions inside it."""
        return [text for node in self._nodes.get(scope, []) for text in _own(node)]

    def _walk(self, tree: ast.Module) -> None:
        """Note the scope of every line, and clear docstrings. Iterative: hostile nesting is no limit."""
        stack: list[tuple[ast.AST, str]] = [(tree, "")]
        while stack:
            node, name = stack.pop()
            if isinstance(node, _Scope):
                self._clear_docstring(node.body)
            inside = [
                c for c in ast.iter_child_nodes(node) if isinstance(c, ast.stmt | ast.ExceptHandler | ast.match_case)
            ]
            stack.extend((child, self._enter(child, name)) for child in inside)

    def _enter(self, child: ast.stmt | ast.ExceptHandler | ast.match_case, name: str) -> str:
        if isinstance(child, _DEFINITIONS):
            inner = f"{name}.{child.name}" if name else child.name
            first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            self._note(inner, child, first)
            return inner
        if isinstance(child, ast.Import | ast.ImportFrom) and not name:
            self._note(IMPORTS, child, child.lineno)
        return name

    def _note(self, scope: str, node: ast.stmt, first: int) -> None:
        last = node.end_lineno or node.lineno
        self.scopes[first - 1 : last] = [scope] * len(self.scopes[first - 1 : last])
        self._nodes.setdefault(scope, []).append(node)

    def _clear_docstring(self, body: list[ast.stmt]) -> None:
        if _has_docstring(body):
            for row in range(body[0].lineno - 1, body[0].end_lineno or body[0].lineno):
                self.code[row] = ""


def _has_docstring(body: list[ast.stmt]) -> bool:
    first = body[0] if body else None
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)


def _own(node: ast.stmt | ast.Module) -> Iterator[str]:
    if not isinstance(node, _Scope):
        yield ast.dump(node)
        return
    for field, value in ast.iter_fields(node):
        if field != "body":
            yield f"{field}={[ast.dump(v) if isinstance(v, ast.AST) else v for v in _listed(value)]}"
    for statement in node.body[_has_docstring(node.body) :]:
        if not isinstance(statement, _DEFINITIONS):
            yield ast.dump(statement)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement.name


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _code_of(text: str, count: int) -> list[str]:
    """Each line's tokens joined by one blank; every line of a multi-line string holds its own part of the string."""
    parts: list[list[str]] = [[] for _ in range(count + 1)]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _SKIPPED:
            continue
        for offset, piece in enumerate(token.string.split("\n")):
            row = token.start[0] - 1 + offset
            if row < count:
                parts[row].append(piece.strip())
    return [" ".join(part) for part in parts[:count]]


# --- a patch with a few lines of context ---


def _partial(hunks: Sequence[Hunk]) -> list[tuple[str, str, str]]:
    return [item for hunk in hunks for tag in "-+" for item in _side(hunk, tag)]


def _side(hunk: Hunk, tag: str) -> Iterator[tuple[str, str, str]]:
    """The changed lines of one side of a hunk, by indentation."""
    lines = [line for line in hunk.lines if line[0] in {" ", tag}]
    inert = _inert(line[1:] for line in lines)
    tracker = _Tracker(hunk.section, starts_file=hunk.new_start <= 1)
    for line, skip in zip(lines, inert, strict=True):
        scope = tracker.scope_of(line[1:])
        if line[0] == tag and not skip:
            yield scope, tag, line[1:].strip()


class _Tracker:
    """The scope of each line of a fragment, from the hunk's section and the `def` and `class` lines seen so far."""

    def __init__(self, section: str, *, starts_file: bool) -> None:
        self._stack: list[tuple[int, str]] = []
        self._outside = "" if starts_file else _section_scope(section)
        # Below a method, a line at the method's own depth is not part of it any more.
        self._method = "(self" in section or "(cls" in section
        self._in_import = False

    def scope_of(self, text: str) -> str:
        stripped = text.strip()
        if not stripped:
            return self._scope(1)
        indent = len(text) - len(text.lstrip())
        if self._importing(stripped, indent):
            return IMPORTS
        opening = stripped.startswith((")", "]", "}"))
        while self._stack and self._stack[-1][0] >= indent and not (opening and self._stack[-1][0] == indent):
            self._stack.pop()
        name = _definition(stripped)
        if name is not None:
            if indent == 0:
                self._outside = ""
            self._stack.append((indent, name))
        elif indent == 0 and not opening and not stripped.startswith(("@", "#")):
            self._outside = ""
        return self._scope(indent)

    def _scope(self, indent: int) -> str:
        inner = ".".join(name for _, name in self._stack)
        outer = self._outside if not self._stack or self._stack[0][0] > 0 else ""
        if inner:
            # A method below a class that the section names; below a function that it names, it may be a sibling.
            return f"{outer.removesuffix('.' + UNKNOWN)}.{inner}" if outer.endswith("." + UNKNOWN) else inner
        if outer and self._method and indent <= METHOD_INDENT:
            return UNKNOWN
        return outer if outer and indent > 0 else MODULE

    def _importing(self, stripped: str, indent: int) -> bool:
        if self._in_import:
            self._in_import = ")" not in stripped
            return True
        if indent == 0 and stripped.startswith(("import ", "from ")):
            self._in_import = "(" in stripped and ")" not in stripped
            return True
        return not self._stack and not self._outside and indent > 0 and _is_imported_name(stripped)


def _is_imported_name(stripped: str) -> bool:
    """`name,` or `name as other,` alone on a line."""
    words = stripped.removesuffix(",").split(" as ")
    return stripped.endswith(",") and all(word.strip().isidentifier() for word in words)


def _section_scope(section: str) -> str:
    name = _definition(section.strip())
    if name is None:
        return ""
    return f"{name}.{UNKNOWN}" if section.lstrip().startswith("class ") else name


def _definition(stripped: str) -> str | None:
    """The name that a `def` or `class` line defines."""
    words = stripped.removeprefix("async ").split(None, 1)
    if len(words) != 2 or words[0] not in {"def", "class"}:  # noqa: PLR2004 - keyword and rest
        return None
    name = words[1].split("(")[0].split(":")[0].split("[")[0].strip()
    return name if name.isidentifier() else None


def _inert(lines: Iterable[str]) -> list[bool]:
    """Whether each line of a fragment is blank, a comment, or inside a docstring that opens and closes in view."""
    texts = [line.strip() for line in lines]
    if sum(text.count('"""') + text.count("'''") for text in texts) % 2:
        # The fragment begins or ends inside a string: a `#` line may be part of it.
        return [not text for text in texts]
    flags: list[bool] = []
    closing = ""
    before = ":"
    for text in texts:
        opened = "" if closing else _opens_docstring(text, before)
        flags.append(bool(closing or opened) or not text or text.startswith("#"))
        if closing:
            closing = "" if closing in text else closing
        elif opened:
            closing = "" if opened in text.split(opened, 1)[1] else opened
        if text and not text.startswith("#"):
            before = text
    return flags


def _opens_docstring(text: str, before: str) -> str:
    """The quotes of a docstring that begins on this line; empty when none does."""
    if not text.startswith(_STRING_START) or not before.endswith(":"):
        return ""
    return '"""' if '"""' in text[:4] else "'''"
