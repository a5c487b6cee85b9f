"""Event payloads, held against GitHub's description of each event."""

import copy

import pytest

from bot.rehearsal import build, payloads
from bot.rehearsal.payloads import PULL_ACTIONS, PullAction
from tests.bot.rehearsal.conftest import World
from tests.tools.openapi_check import payload_findings


@pytest.mark.parametrize("action", PULL_ACTIONS)
def test_a_pull_request_event_is_as_github_describes_it(action: PullAction, world: World) -> None:
    build.put_label(world.state, world.repo, 1, "verl-e2e")
    label = "verl-e2e" if "labeled" in action else None
    before = world.repo.refs["refs/heads/main"] if action == "synchronize" else None
    if action == "closed":
        world.pull.state, world.pull.closed_at = "closed", world.state.now()
    assert world.pull.pull
    world.pull.pull.draft = action == "converted_to_draft"
    payload = payloads.pull_request(
        world.state, world.repo, world.pull, action, sender="tri", label=label, before=before
    )
    assert payload_findings(f"webhook-pull-request-{action.replace('_', '-')}", payload) == []
    assert (payload["action"], payload["sender"]["login"]) == (action, "tri")
    assert payload["pull_request"]["head"]["sha"] == world.head


def test_a_comment_event_is_as_github_describes_it(world: World) -> None:
    comment = build.add_comment(world.state, world.repo, 1, author="wim", body="/run-e2e")
    payload = payloads.issue_comment(world.state, world.repo, comment)
    assert payload_findings("webhook-issue-comment-created", payload) == []
    assert (payload["comment"]["body"], payload["issue"]["pull_request"]["merged_at"]) == ("/run-e2e", None)


def test_a_merge_group_event_is_as_github_describes_it(world: World) -> None:
    base = world.repo.refs["refs/heads/main"]
    payload = payloads.merge_group(world.state, world.repo, 1, head_sha=world.head, base_sha=base)
    assert payload_findings("webhook-merge-group-checks-requested", payload) == []
    assert payload["merge_group"]["head_ref"] == f"refs/heads/gh-readonly-queue/main/pr-1-{base}"


@pytest.mark.parametrize(
    ("action", "label", "before"),
    [
        pytest.param("labeled", None, None, id="labeled-without-label"),
        pytest.param("opened", "verl-e2e", None, id="opened-with-label"),
        pytest.param("synchronize", None, None, id="synchronize-without-before"),
        pytest.param("closed", None, "0" * 40, id="closed-with-before"),
    ],
)
def test_what_does_not_fit_the_action_is_refused(
    action: PullAction, label: str | None, before: str | None, world: World
) -> None:
    with pytest.raises(ValueError, match=action):
        payloads.pull_request(world.state, world.repo, world.pull, action, sender="tri", label=label, before=before)


def test_a_planted_mistake_in_a_payload_is_found(world: World) -> None:
    good = payloads.pull_request(world.state, world.repo, world.pull, "opened", sender="wim")
    for key in ("number", "sender"):
        bad = copy.deepcopy(good)
        bad[key] = "x"
        assert payload_findings("webhook-pull-request-opened", bad)
    bad = copy.deepcopy(good)
    del bad["pull_request"]["head"]["sha"]
    assert payload_findings("webhook-pull-request-opened", bad) == ["$.pull_request.head: 'sha' is a required property"]
