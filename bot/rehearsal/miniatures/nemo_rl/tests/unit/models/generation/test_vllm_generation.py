"""Numbers of one step."""

from nemo_rl.algorithms.grpo import step_metrics


def test_equal_engines_have_no_error():
    assert step_metrics(1, [-1.0], [-1.0], 0.5)["train/token_mult_prob_error"] == 1.0
