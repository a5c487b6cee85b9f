"""Real PyGithub against the embedded GitHub: what is retried, what is never done twice, what an error says."""

from collections.abc import Callable

import msgspec
import pytest

from bot.events import Pull
from bot.github import Api, connect
from bot.ports import CheckConclusion, CheckPayload, CheckRun, CheckStatus, NotFoundError
from bot.rehearsal import build
from bot.rehearsal.faults import Fault
from bot.roles import Role
from levels.errors import GitHubError, UsageError
from tests.bot.conftest import BRIDGE, TOKEN, Opened, World, many_files

FAULTS = [
    pytest.param(Fault(status=500), id="500"),
    pytest.param(Fault(status=502), id="502"),
    pytest.param(Fault(status=503, headers={"Retry-After": "0"}), id="503-retry-after"),
    pytest.param(Fault(status=429), id="429"),
    pytest.param(Fault(status=403, headers={"Retry-After": "0"}), id="403-retry-after"),
    pytest.param(Fault(status=403, message="You have exceeded a secondary rate limit."), id="403-secondary"),
    pytest.param(Fault(kind="reset"), id="reset"),
    pytest.param(Fault(kind="reset", work=True), id="reset-after-the-work"),
    pytest.param(Fault(kind="cut"), id="cut-body"),
    pytest.param(Fault(status=502, work=True), id="502-after-the-work"),
]


def check(world: World, conclusion: CheckConclusion | None = None) -> CheckPayload:
    return CheckPayload(
        name="bridge-e2e",
        head=world.head(1),
        external_id="bridge-e2e:0123456789ab:1.1",
        status=CheckStatus.COMPLETED if conclusion else CheckStatus.QUEUED,
        conclusion=conclusion,
        title="title",
        summary="summary",
        details_url="https://github.com/o/r/actions/runs/1",
    )


def is_ours(run: CheckRun) -> bool:
    return run.external_id == "bridge-e2e:0123456789ab:1.1"


CALLS: list[tuple[str, Callable[[Api, World], object]]] = [
    ("pull", lambda api, _: api.pulls.pull(1)),
    ("files", lambda api, _: api.pulls.files(1)),
    ("role", lambda api, _: api.roles.role("wim")),
    ("checks", lambda api, world: api.checks.on(world.head(1))),
    ("create-check", lambda api, world: api.checks.create(check(world), is_ours)),
    ("comments", lambda api, _: api.comments.all(1)),
    ("create-comment", lambda api, _: api.comments.create(1, "body", lambda comment: comment.body == "body")),
]


@pytest.mark.parametrize("call", [pytest.param(call, id=name) for name, call in CALLS])
@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_changes_nothing(opened: Opened, fault: Fault, call: Callable[[Api, World], object]) -> None:
    with opened(fault) as world:
        call(world.api(), world)
        assert len(world.checks(1)) <= 1
        assert len(world.comments(1)) <= 1
        assert world.server is not None
        assert world.server.faults.left == ()


@pytest.mark.parametrize("fault", FAULTS)
def test_an_update_survives_one_fault(opened: Opened, fault: Fault) -> None:
    with opened(msgspec.structs.replace(fault, method="PATCH")) as world:
        api = world.api()
        created = api.checks.create(check(world), is_ours)
        api.checks.update(created, check(world, CheckConclusion.FAILURE))
        (run,) = world.checks(1)
        assert (run.status, run.conclusion) == ("completed", "failure")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_reaction_survives_one_fault(opened: Opened, fault: Fault) -> None:
    with opened(msgspec.structs.replace(fault, method="POST")) as world:
        comment = build.add_comment(world.state, world.repo, 1, author="wim", body="/run-e2e")
        world.api().comments.react(comment.id, "rocket")
        assert [reaction.content for reaction in comment.reactions] == ["rocket"]


@pytest.mark.parametrize(
    ("fault", "found", "next_step"),
    [
        pytest.param(Fault(status=500, times=9), "3 answers", "githubstatus", id="down"),
        pytest.param(Fault(kind="reset", times=9), "connection that broke", "githubstatus", id="unreachable"),
        pytest.param(Fault(status=401, message="Bad credentials"), "401 'Bad credentials'", "token", id="expired"),
        pytest.param(Fault(status=403, message="Resource not accessible"), "403", "checks: write", id="no-permission"),
        pytest.param(Fault(status=404, message="Not Found"), "404", "exists", id="not-there"),
        pytest.param(Fault(status=422, message="Validation Failed"), "422", "message", id="invalid"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_error_names_method_address_and_next_step(
    opened: Opened, fault: Fault, found: str, next_step: str, method: str
) -> None:
    with opened(msgspec.structs.replace(fault, method=method)) as world:
        calls: dict[str, Callable[[], object]] = {
            "GET": lambda: world.api().pulls.pull(1),
            "POST": lambda: world.api().comments.create(1, "body", lambda _: False),
        }
        with pytest.raises(GitHubError) as caught:
            calls[method]()
        error = caught.value
        assert error.doing.startswith(f"{method} /repos/NVIDIA-NeMo/Megatron-Bridge/")
        assert next_step in error.next_step
        if method == "GET" or "answers" not in found:
            assert found in error.found
        assert TOKEN not in str(error)


def test_a_rate_limit_is_waited_for_as_asked(opened: Opened) -> None:
    with opened(Fault(method="POST", status=403, headers={"Retry-After": "7"})) as world:
        world.api().comments.create(1, "body", lambda comment: comment.body == "body")
        assert world.waits.seconds == [7.0]


def test_an_answer_of_another_shape_is_an_error_with_the_key(opened: Opened) -> None:
    with opened() as world, pytest.raises(GitHubError, match="Expected `array`"):
        world.api().get("/pulls/1", list[Pull])


def test_all_pages_of_files(opened: Opened) -> None:
    with opened() as world:
        pull = world.pull(1).pull
        assert pull
        pull.files = many_files(250)
        changed = world.api().pulls.files(1)
        assert (len(changed.files), changed.truncated) == (250, False)
        pull.files = many_files(200)
        assert len(world.api().pulls.files(1).files) == 200


def test_three_thousand_files_are_not_all(opened: Opened) -> None:
    with opened() as world:
        pull = world.pull(1).pull
        assert pull
        pull.files = many_files(3_100)
        changed = world.api().pulls.files(1)
        assert (len(changed.files), changed.truncated) == (3_000, True)


def test_all_check_runs_of_everybody_oldest_first(opened: Opened) -> None:
    with opened() as world:
        for index in range(130):
            build.add_check(world.state, world.repo, world.head(1), name=f"ci {index % 3}", conclusion="success")
        runs = world.api().checks.on(world.head(1))
        assert len(runs) == 130
        assert [run.id for run in runs] == sorted(run.id for run in runs)
        assert {run.author for run in runs} == {"github-actions[bot]"}


@pytest.mark.parametrize(
    ("login", "role"),
    [
        ("ada", Role.ADMIN),
        ("mia", Role.MAINTAIN),
        ("wim", Role.WRITE),
        ("tri", Role.TRIAGE),
        ("rea", Role.READ),
        ("nona", Role.NONE),
    ],
)
def test_roles(opened: Opened, login: str, role: Role) -> None:
    with opened() as world:
        assert world.api().roles.role(login) is role


def test_an_unknown_person_has_no_role(opened: Opened) -> None:
    with opened() as world:
        assert world.api().roles.role("nobody-at-all") is Role.NONE


def test_the_merge_base_and_the_files_since(opened: Opened) -> None:
    with opened() as world:
        pulls = world.api().pulls
        pull = world.pull(1).pull
        assert pull
        assert pulls.merge_base(pull.base_sha, pull.head_sha) == pull.base_sha
        assert [file.path for file in pulls.compared(pull.base_sha, pull.head_sha).files] == [BRIDGE]


def test_a_missing_pull_request_is_its_own_error(opened: Opened) -> None:
    with opened() as world, pytest.raises(NotFoundError):
        world.api().pulls.pull(99)


def test_we_never_set_the_time_that_the_gate_trusts(opened: Opened) -> None:
    with opened() as world:
        api = world.api()
        created = api.checks.create(check(world), is_ours)
        world.state.advance(500)
        api.checks.update(created, check(world, CheckConclusion.SUCCESS))
        assert world.server is not None
        assert not [one for one in world.server.journal if one.body and "started_at" in one.body]


@pytest.mark.parametrize(("token", "repository"), [("", "o/r"), ("t", "")])
def test_without_token_or_repository_nothing_is_asked(token: str, repository: str) -> None:
    with pytest.raises(UsageError, match="env:"):
        connect(token, repository, "https://api.github.com")
