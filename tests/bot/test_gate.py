from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from bot import policy
from bot.gate import Admitted, Ask, ByComment, ByLabel, Facts, Refused, decide, may_ask
from bot.roles import Role, role_from

HEAD = "a" * 40
OTHER = "b" * 40
NOW = datetime(2026, 8, 30, 12, 0, tzinfo=UTC)
POLICY = policy.load()
LABEL = ByLabel(label="verl-e2e")
BARE = ByComment(comment=5, sha=None)


def ask(via: ByLabel | ByComment, *, fork: bool = False) -> Ask:
    return Ask(via=via, actor="alice", at=NOW, head=HEAD, fork=fork)


def facts(role: Role | None = Role.WRITE, seconds: int | None = 3600) -> Facts:
    return Facts(role=role, check_since=None if seconds is None else NOW - timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("via", "fork", "seconds"),
    [
        pytest.param(LABEL, False, 120, id="label-two-minutes-after-the-check"),
        pytest.param(LABEL, True, 300, id="label-on-a-fork-five-minutes-after"),
        pytest.param(BARE, False, 120, id="comment-without-sha-under-the-same-rule"),
        pytest.param(ByComment(comment=5, sha=HEAD), False, None, id="sha-needs-no-check"),
        pytest.param(ByComment(comment=5, sha=HEAD), True, 0, id="sha-on-a-fork"),
    ],
)
def test_admitted(via: ByLabel | ByComment, fork: bool, seconds: int | None) -> None:  # noqa: FBT001 - a table
    answer = decide(ask(via, fork=fork), facts(seconds=seconds), POLICY)
    assert isinstance(answer, Admitted)
    assert (answer.consent.commit, answer.consent.actor, answer.consent.role) == (HEAD, "alice", "write")
    assert answer.consent.given_at == "2026-08-30T12:00:00+00:00"


@pytest.mark.parametrize(
    ("via", "fork", "role", "seconds", "found", "hint"),
    [
        pytest.param(LABEL, False, Role.TRIAGE, 3600, "role triage", "ask a person", id="triage-can-label-but-not-run"),
        pytest.param(BARE, False, Role.READ, 3600, "role read", "ask a person", id="a-stranger"),
        pytest.param(BARE, False, Role.NONE, 3600, "role none", "ask a person", id="nobody"),
        pytest.param(
            ByComment(comment=5, sha=HEAD), False, Role.READ, 0, "role read", "ask a person", id="sha-does-not-help"
        ),
        pytest.param(LABEL, False, None, 3600, "no answer", "nothing runs", id="role-look-up-failed"),
        pytest.param(LABEL, False, Role.WRITE, None, "no check of ours", f"/run-e2e sha={HEAD}", id="unknown-head"),
        pytest.param(LABEL, False, Role.WRITE, 119, "119 seconds", f"/run-e2e sha={HEAD}", id="pushed-just-before"),
        pytest.param(LABEL, False, Role.WRITE, -30, "0 seconds", f"/run-e2e sha={HEAD}", id="check-after-the-label"),
        pytest.param(LABEL, True, Role.ADMIN, 299, "299 seconds", f"/run-e2e sha={HEAD}", id="fork-waits-longer"),
        pytest.param(BARE, False, Role.ADMIN, 10, "10 seconds", f"/run-e2e sha={HEAD}", id="comment-too-soon"),
        pytest.param(
            ByComment(comment=5, sha=OTHER),
            False,
            Role.ADMIN,
            3600,
            f"sha={OTHER}",
            f"/run-e2e sha={HEAD}",
            id="force-push-after-the-comment",
        ),
    ],
)
def test_refused(
    via: ByLabel | ByComment,
    fork: bool,  # noqa: FBT001 - a table
    role: Role | None,
    seconds: int | None,
    found: str,
    hint: str,
) -> None:
    answer = decide(ask(via, fork=fork), facts(role, seconds), POLICY)
    assert isinstance(answer, Refused)
    assert found in answer.found
    assert hint in answer.hint


def test_a_site_may_refuse_labels_on_forks() -> None:
    strict = msgspec.structs.replace(POLICY, labels_on_forks=False)
    answer = decide(ask(LABEL, fork=True), facts(), strict)
    assert isinstance(answer, Refused)
    assert f"/run-e2e sha={HEAD}" in answer.hint
    assert isinstance(decide(ask(LABEL), facts(), strict), Admitted)


@pytest.mark.parametrize("minimum", list(Role))
@pytest.mark.parametrize("role", list(Role))
def test_the_role_is_configurable(minimum: Role, role: Role) -> None:
    answer = decide(ask(LABEL), facts(role), msgspec.structs.replace(POLICY, minimum_role=minimum))
    assert isinstance(answer, Admitted) is (list(Role).index(role) >= list(Role).index(minimum))


def test_questions_need_less() -> None:
    assert may_ask(Role.READ, "alice", POLICY) is None
    assert may_ask(Role.NONE, "alice", POLICY) is not None
    assert may_ask(None, "alice", POLICY) is not None


@pytest.mark.parametrize(
    ("permission", "role_name", "expected"),
    [
        pytest.param("write", "maintain", Role.MAINTAIN, id="maintain-reads-as-write"),
        pytest.param("read", "triage", Role.TRIAGE, id="triage-reads-as-read"),
        pytest.param("admin", "admin", Role.ADMIN, id="admin"),
        pytest.param("write", "release-manager", Role.WRITE, id="custom-role"),
        pytest.param("none", "", Role.NONE, id="none"),
        pytest.param("owner", "owner", Role.NONE, id="unknown-words-are-no-role"),
    ],
)
def test_role_of_an_answer(permission: str, role_name: str, expected: Role) -> None:
    assert role_from(permission, role_name) is expected
