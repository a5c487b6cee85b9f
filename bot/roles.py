"""Roles of the collaborator permission API, in order. Asking for a person's role never belongs here (github.py)."""

from enum import StrEnum


class Role(StrEnum):
    """A role on the repository, weakest first. Source: GITHUB.md section 5."""

    NONE = "none"
    READ = "read"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"

    def at_least(self, other: "Role") -> bool:
        """Whether this role may do what `other` may."""
        order = list(Role)
        return order.index(self) >= order.index(other)


def role_from(permission: str, role_name: str) -> Role:
    """The role behind an API answer; anything unknown counts as no role.

    `role_name` tells maintain from write and triage from read. A custom role of an organisation has a name of its own:
    then `permission`, the base role that GitHub derived, is used.
    """
    for text in (role_name, permission):
        if text in set(Role):
            return Role(text)
    return Role.NONE
