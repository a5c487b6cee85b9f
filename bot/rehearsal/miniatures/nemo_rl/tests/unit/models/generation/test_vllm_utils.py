"""What is refused before any worker exists."""

import pytest

from nemo_rl.algorithms.grpo import guard


def test_tp4_with_other_batches_is_refused():
    sizes = {f"policy.megatron_cfg.{name}_parallel_size": size for name, size in (("tensor_model", 4), ("context", 1))}
    batches = {"policy.train_micro_batch_size": 1, "policy.logprob_batch_size": 4}
    with pytest.raises(AssertionError):
        guard({**sizes, **batches, "policy.make_sequence_length_divisible_by": 1})
