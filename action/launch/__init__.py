"""Launchers: how a phase is started. One module each, all of one Protocol."""

from typing import Final

from action.launch import host
from action.launch.base import Launcher

LAUNCHERS: Final[dict[str, Launcher]] = {"host": host.HOST}
"""By the name in the site file."""
