"""Which checkpoint a run goes on from."""

from nemo_rl.algorithms.sft import last_checkpoint


def test_the_newest_is_taken(tmp_path):
    (tmp_path / "step_2").mkdir()
    (tmp_path / "step_10").mkdir()
    config = {"checkpointing.checkpoint_dir": str(tmp_path), "checkpointing.enabled": True}
    assert last_checkpoint(config) == (str(tmp_path / "step_10"), 10)
