"""Without checkpointing nothing is resumed."""

from nemo_rl.algorithms.sft import last_checkpoint


def test_nothing_is_resumed(tmp_path):
    config = {"checkpointing.checkpoint_dir": str(tmp_path), "checkpointing.enabled": False}
    assert last_checkpoint(config) == (None, 0)
