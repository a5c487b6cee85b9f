"""The configuration: a flat table of the keys that exist, and Hydra's rules for `key=`, `+key=` and `++key=`."""

import sys

DEFAULTS = {
    "model_engine": "dp",
    "algorithm.adv_estimator": "gae",
    "data.train_files": None,
    "data.val_files": None,
    "data.image_key": "images",
    "data.train_batch_size": 1024,
    "data.max_prompt_length": 512,
    "data.max_response_length": 512,
    "actor_rollout_ref.model.path": None,
    "actor_rollout_ref.model.lora.rank": 0,
    "actor_rollout_ref.model.lora.alpha": 16,
    "actor_rollout_ref.model.lora.merge": False,
    "actor_rollout_ref.model.mtp.enable": False,
    "actor_rollout_ref.model.mtp.enable_train": False,
    "actor_rollout_ref.model.mtp.enable_rollout": False,
    "actor_rollout_ref.model.mtp.num_speculative_tokens": 1,
    "actor_rollout_ref.actor.megatron.use_mbridge": True,
    "actor_rollout_ref.actor.megatron.vanilla_mbridge": True,
    "actor_rollout_ref.actor.megatron.use_megatron_fsdp": False,
    "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size": 1,
    "actor_rollout_ref.actor.megatron.virtual_pipeline_model_parallel_size": None,
    "actor_rollout_ref.actor.megatron.context_parallel_size": 1,
    "actor_rollout_ref.actor.megatron.tensor_model_parallel_size": 1,
    "actor_rollout_ref.actor.megatron.expert_model_parallel_size": 1,
    "actor_rollout_ref.actor.megatron.expert_tensor_parallel_size": None,
    "actor_rollout_ref.actor.megatron.router_replay.mode": "disabled",
    "actor_rollout_ref.actor.megatron.qat.enable": False,
    "actor_rollout_ref.actor.megatron.qat.mode": "w4a16",
    "actor_rollout_ref.actor.megatron.qat.quantization_config_path": None,
    "actor_rollout_ref.actor.megatron.param_offload": False,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 256,
    "actor_rollout_ref.actor.ppo_max_token_len_per_gpu": 16384,
    "actor_rollout_ref.ref.megatron.use_mbridge": True,
    "actor_rollout_ref.ref.megatron.vanilla_mbridge": True,
    "actor_rollout_ref.rollout.name": "vllm",
    "actor_rollout_ref.rollout.enforce_eager": False,
    "actor_rollout_ref.rollout.tensor_model_parallel_size": 1,
    "actor_rollout_ref.rollout.n": 1,
    "actor_rollout_ref.rollout.quantization": None,
    "critic.ppo_max_token_len_per_gpu": 32768,
    "critic.megatron.vanilla_mbridge": True,
    "ray_kwargs.ray_init.num_cpus": None,
    "ray_kwargs.ray_init.runtime_env.py_executable": None,
    "reward.reward_model.enable": False,
    "reward.reward_model.model_path": None,
    "reward.reward_manager.name": "naive",
    "global_profiler.steps": None,
    "trainer.logger": "console",
    "trainer.project_name": "verl-test",
    "trainer.experiment_name": "gsm8k",
    "trainer.n_gpus_per_node": 8,
    "trainer.val_before_train": True,
    "trainer.test_freq": -1,
    "trainer.save_freq": -1,
    "trainer.resume_mode": "auto",
    "trainer.total_epochs": 1,
    "trainer.total_training_steps": 1,
}


def parse_value(text):
    """null, True, False, whole numbers; anything else is text."""
    known = {"null": None, "True": True, "true": True, "False": False, "false": False}
    if text in known:
        return known[text]
    return int(text) if text.lstrip("-").isdigit() else text


def refuse(message, argv):
    """Hydra's words for an override that does not fit."""
    print(f"Error executing job with overrides: {argv}", file=sys.stderr)
    print(message, file=sys.stderr)
    print("\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.", file=sys.stderr)
    sys.exit(1)


def load(argv):
    """The effective configuration, key by key."""
    config = dict(DEFAULTS)
    for argument in argv:
        if argument.startswith("--config-"):
            continue
        key, separator, value = argument.partition("=")
        name = key.lstrip("+")
        plus = len(key) - len(name)
        if not separator:
            refuse(f"mismatched input '<EOF>' expecting '=': {argument}", argv)
        if plus == 0 and name not in config:
            refuse(
                f"Could not override '{name}'.\nTo append to your config use +{argument}\n"
                f"Key '{name.rpartition('.')[2]}' is not in struct\n    full_key: {name}\n    object_type=dict",
                argv,
            )
        if plus == 1 and name in config:
            refuse(f"Could not append to config. An item is already at '{name}'.", argv)
        config[name] = parse_value(value)
    return config


def nested(config):
    """The dotted keys as nested dictionaries, as Hydra holds them."""
    tree = {}
    for key, value in config.items():
        *parents, leaf = key.split(".")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
        node[leaf] = value
    return tree
