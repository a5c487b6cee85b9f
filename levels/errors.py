"""The exception tree and the exit codes. Formatting of comments never belongs here.

Every message has four parts: what was being done, what was found, what was expected, what to do next.
"""

from enum import IntEnum

from levels.model import Boundary


class ExitCode(IntEnum):
    """Exit codes of every `bridge-e2e` command. Codes not listed are reserved."""

    PASS = 0
    FAIL = 1
    USAGE = 2
    BLOCKED = 3
    REFUSED = 4
    GITHUB = 5
    BUG = 70
    INTERRUPTED = 130


class E2EError(Exception):
    """An error that a person can act on."""

    exit_code = ExitCode.BUG

    def __init__(self, *, doing: str, found: str, expected: str, next_step: str) -> None:
        """Keep the four parts; `str()` joins them into one line."""
        super().__init__(f"{doing}: found {found}; expected {expected}. Next: {next_step}")
        self.doing = doing
        self.found = found
        self.expected = expected
        self.next_step = next_step


class UsageError(E2EError):
    """The command line, or a combination of its options, makes no sense."""

    exit_code = ExitCode.USAGE


class ConfigError(E2EError):
    """A YAML file of ours or of a site does not say what its schema asks for."""

    exit_code = ExitCode.USAGE

    def __init__(self, *, path: str, key: str, found: str, expected: str, next_step: str) -> None:
        """`key` is the key path, for example `levels[2].phases[0].env.COMMON_VPP`."""
        super().__init__(
            doing=f"reading {path} at {key or 'the top'}", found=found, expected=expected, next_step=next_step
        )
        self.path = path
        self.key = key


class DocumentError(E2EError):
    """A Plan, Evidence or Verdict is not what its schema asks for."""

    exit_code = ExitCode.USAGE


class EnvironmentBlocked(E2EError):
    """The leg cannot go on, and no program under test is at fault."""

    exit_code = ExitCode.BLOCKED

    def __init__(self, boundary: Boundary, *, doing: str, found: str, expected: str, next_step: str) -> None:
        """`boundary` names the stage that could not be passed."""
        super().__init__(doing=doing, found=found, expected=expected, next_step=next_step)
        self.boundary = boundary


class GitHubError(E2EError):
    """GitHub did not answer, or refused, after the retries."""

    exit_code = ExitCode.GITHUB
