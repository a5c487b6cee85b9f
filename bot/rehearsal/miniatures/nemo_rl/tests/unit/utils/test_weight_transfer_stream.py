"""Both engines' probabilities."""

from nemo_rl.distributed.workers import log_probabilities


def test_equal_weights_give_equal_probabilities():
    assert log_probabilities({"a": [0.1]}) == log_probabilities({"a": [0.1]})
