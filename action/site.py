"""Site: what this machine has and how it is reached. What to test never belongs here."""

import os
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from levels.catalogue import parse
from levels.errors import ConfigError
from levels.evidence import MAX_LOG_BYTES
from levels.model import EnvName, Record

ENVIRONMENT_VARIABLE: Final = "BRIDGE_E2E_SITE"
DEFAULT_FILE: Final = Path("/etc/bridge-e2e/site.yaml")
OWNED: Final = frozenset(
    {
        "PATH",
        "PYTHONPATH",
        "PYTHONUNBUFFERED",
        "HOME",
        "TMPDIR",
        "HF_HOME",
        "XDG_CACHE_HOME",
        "RAY_ADDRESS",
        "RAY_TMPDIR",
        "RAY_USAGE_STATS_ENABLED",
        "SPT_NOENV",
        "BRIDGE_E2E_LEG",
    }
)
"""Variables that a leg sets itself: a site's value would be lost without a word, or break isolation or import proof."""

AbsolutePath = Annotated[str, msgspec.Meta(pattern=r"^/[^\n\x00]*$(?!\n)", max_length=1000)]
Url = Annotated[str, msgspec.Meta(pattern=r"^https://[^\s@]+$(?!\n)", max_length=1000)]


class Site(Record, frozen=True, kw_only=True):
    """A cluster's local settings. Every field has a default that works on a bare machine."""

    version: Annotated[int, msgspec.Meta(ge=1, le=1)] = 1
    """Of this file's format."""
    launcher: Literal["host"] = "host"
    """How a phase is started: on this very machine."""
    data: AbsolutePath | None = None
    """Prepared data sets, read-only to legs. Without it a leg prepares its own copy."""
    scratch: AbsolutePath | None = None
    """Where checkouts, caches and checkpoints of legs go; default: `work` in the output folder."""
    tmp: AbsolutePath = "/tmp"  # noqa: S108 - only the parent; each leg makes its own folder of mode 0700 in it
    """Parent of each leg's TMPDIR. Short: Ray's socket paths must stay below 107 bytes."""
    model_stores: tuple[AbsolutePath, ...] = ()
    """Folders that hold `<org>/<name>` or the hub's `models--<org>--<name>/snapshots/<revision>`; read-only to legs."""
    reward_model: AbsolutePath | None = None
    """Folder of the reward model, where a level needs one."""
    mirrors: dict[Url, AbsolutePath] = {}
    """Repository address to local clone; the full clone is copied from, never shared with."""
    python: AbsolutePath | None = None
    """The suite's interpreter; default: `python3` on PATH."""
    worker_python: AbsolutePath | None = None
    """Interpreter of the suite's own Ray workers, where it differs (NeMo-RL's policy environment)."""
    bridge_python: AbsolutePath | None = None
    """Interpreter for the focused Bridge tests; default: the suite's."""
    pythonpath: tuple[AbsolutePath, ...] = ()
    """Appended to PYTHONPATH, after the three trees."""
    path: tuple[AbsolutePath, ...] = ()
    """Put before PATH."""
    env: dict[EnvName, str] = {}
    """Added to the environment of every program of a leg; the variables that a leg sets itself are refused."""
    uv: Literal["real", "direct"] = "real"
    """`direct` replaces `uv run` by the interpreter; a declared change, printed with every verdict."""
    log_bytes: Annotated[int, msgspec.Meta(ge=100_000, le=MAX_LOG_BYTES)] = MAX_LOG_BYTES
    """Of a wrapper's log; what is beyond is cut out of its middle, and the cut is recorded."""
    phase_seconds: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """A shorter time limit for every phase than its level's, where a site has one (a queue's, or a rehearsal's)."""
    probe_seconds: Annotated[int, msgspec.Meta(ge=1, le=3600)] = 300
    """Time limit of one import probe."""
    checks_minutes: Annotated[int, msgspec.Meta(ge=1, le=240)] = 20
    """Time limit of the focused Bridge tests."""
    prepare_minutes: Annotated[int, msgspec.Meta(ge=1, le=240)] = 20
    """Time limit for making one data set."""
    git_seconds: Annotated[int, msgspec.Meta(ge=1, le=7200)] = 900
    """Time limit of one fetch."""


def load_site(argument: str | None, environ: dict[str, str] | None = None) -> Site:
    """The site settings from `argument`, else `$BRIDGE_E2E_SITE`, else /etc/bridge-e2e/site.yaml, else the defaults.

    Raises:
        ConfigError: when a named file is missing or not what the schema asks for.

    """
    named = argument or (os.environ if environ is None else environ).get(ENVIRONMENT_VARIABLE)
    path = Path(named) if named else DEFAULT_FILE
    if not named and not path.exists():
        return Site()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            path=str(path),
            key="",
            found=str(error),
            expected="a readable site file",
            next_step=f"correct --site or ${ENVIRONMENT_VARIABLE}, or leave both out for the defaults",
        ) from error
    site = parse(text, Site, path=str(path))
    for name in sorted(OWNED & set(site.env)):
        raise ConfigError(
            path=str(path),
            key=f"env.{name}",
            found=name,
            expected="a variable that the leg does not set itself",
            next_step="use the fields path, python, pythonpath, tmp or model_stores, or leave it out",
        )
    return site


def mirror_of(site: Site, url: str) -> str | None:
    """The local clone that replaces `url`, with or without `.git` at the end."""
    wanted = _plain(url)
    return next((path for address, path in site.mirrors.items() if _plain(address) == wanted), None)


def _plain(url: str) -> str:
    return url.rstrip("/").removesuffix(".git").lower()
