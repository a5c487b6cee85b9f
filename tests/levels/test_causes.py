"""Breaks that no labelled case shows: a passing log cut where the stage begins, with another error behind it."""

from typing import Any

import pytest

from tests.levels.judging import judged, text

VERL = "v-pass-lora-ddp-l0"
NEMO = "n-pass-grpo-l0"
W = "(WorkerDict pid=89597) "
T = "(TaskRunnerV1 pid=88555) "
M = "(MegatronPolicyWorker[rank=0] pid=23099) "
V = "(VllmGenerationWorker pid=26100) "
BRIDGE = "/workspace/Megatron-Bridge/src/megatron/bridge/"
MCORE = "/workspace/Megatron-Bridge/3rdparty/Megatron-LM/megatron/core/"
SUITE_V = "/workspace/verl/verl/"
SUITE_N = "/workspace/nemo-rl/nemo_rl/"
SITE = "/usr/local/lib/python3.12/dist-packages/"
CIRCULAR = (
    "ImportError: cannot import name 'FooBridge' from partially initialized module 'megatron.bridge.models.foo'"
    f" (most likely due to a circular import) ({BRIDGE}models/foo/__init__.py)"
)
READY = "all initialize finished"


def tb(
    prefix: str, frames: list[tuple[str, str]], error: list[str], head: str = "Traceback (most recent call last):"
) -> list[str]:
    """A traceback as a worker prints it."""
    lines = [prefix + head]
    for file, function in frames:
        lines += [f'{prefix}  File "{file}", line 12, in {function}', f"{prefix}    something("]
    return lines + [prefix + line for line in error]


def v_driver(method: str, error: list[str]) -> list[str]:
    """What verl's driver prints when its task fails."""
    name = error[0].split(":")[0]
    outer = [
        (SUITE_V + "trainer/main_ppo.py", "main"),
        (SUITE_V + "trainer/main_ppo.py", "run_ppo"),
        (SITE + "ray/_private/worker.py", "get"),
    ]
    remote = f"ray.exceptions.RayTaskError({name}): ray::TaskRunnerV1.run() (pid=1, ip=192.0.2.1)"
    return [
        "Error executing job with overrides: ['a=b']",
        *tb("", outer, [remote]),
        f'  File "{SUITE_V}trainer/ppo/v1/trainer_base.py", line 3, in {method}',
        "    x()",
        *error,
        "",
        "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.",
    ]


def n_driver(method: str, error: list[str]) -> list[str]:
    """What NeMo-RL's driver prints when a worker fails."""
    name = error[0].split(":")[0]
    outer = [
        ("/workspace/nemo-rl/examples/run_grpo.py", "main"),
        (SUITE_N + "algorithms/grpo.py", method),
        (SITE + "ray/_private/worker.py", "get"),
    ]
    remote = f"ray.exceptions.RayTaskError({name}): ray::MegatronPolicyWorker.{method}() (pid=1, ip=192.0.2.1)"
    return [*tb("", outer, [remote]), *error]


def row(name: str, want: tuple[str, str | None], base: str, cut: str | None, lines: list[str], **changes: Any) -> Any:  # noqa: ANN401 - pytest's own type is private
    return pytest.param(base, cut, lines, {"exit_code": 1, **changes}, want, id=name.replace(" ", "-"))


TABLE = [
    row(
        "driver too old",
        ("Blocked", "environment"),
        VERL,
        "create worker group",
        tb(
            W,
            [
                (SUITE_V + "single_controller/base/worker.py", "__init__"),
                (SITE + "torch/cuda/__init__.py", "_lazy_init"),
            ],
            ["RuntimeError: The NVIDIA driver on your system is too old (found version 12040)."],
        )
        + v_driver("_setup", ["RuntimeError: The NVIDIA driver on your system is too old (found version 12040)."]),
    ),
    row(
        "no gpus",
        ("Blocked", "ray"),
        VERL,
        "Total training steps",
        tb(
            T,
            [
                (SUITE_V + "trainer/main_ppo.py", "run"),
                (SUITE_V + "single_controller/ray/base.py", "_check_resource_available"),
            ],
            ["ValueError: Total available GPUs 0 is less than total desired GPUs 8"],
        )
        + v_driver("init", ["ValueError: Total available GPUs 0 is less than total desired GPUs 8"]),
    ),
    row(
        "missing flash_attn in bridge import",
        ("Blocked", "dependency"),
        VERL,
        "NCCL version",
        tb(
            W,
            [
                (SUITE_V + "models/mcore/bridge.py", "<module>"),
                (BRIDGE + "__init__.py", "<module>"),
                (MCORE + "extensions/x.py", "<module>"),
            ],
            ["ModuleNotFoundError: No module named 'flash_attn'"],
        )
        + v_driver("_setup", ["ModuleNotFoundError: No module named 'flash_attn'"]),
    ),
    row(
        "bridge not on workers",
        ("Blocked", "bridge-import"),
        VERL,
        "NCCL version",
        tb(
            W,
            [(SUITE_V + "models/mcore/bridge.py", "<module>")],
            ["ModuleNotFoundError: No module named 'megatron.bridge'"],
        )
        + v_driver("_setup", ["ModuleNotFoundError: No module named 'megatron.bridge'"]),
    ),
    row(
        "NameError in checkout at import",
        ("Fail", "bridge-import"),
        VERL,
        "NCCL version",
        tb(
            W,
            [
                (SUITE_V + "models/mcore/bridge.py", "<module>"),
                (BRIDGE + "__init__.py", "<module>"),
                (BRIDGE + "models/foo/foo_provider.py", "<module>"),
            ],
            ["NameError: name 'dataclas' is not defined. Did you mean: 'dataclass'?"],
        )
        + v_driver("_setup", ["NameError: name 'dataclas' is not defined"]),
    ),
    row(
        "circular import in checkout",
        ("Fail", "bridge-import"),
        VERL,
        "NCCL version",
        tb(
            W,
            [
                (SUITE_V + "models/mcore/bridge.py", "<module>"),
                (BRIDGE + "__init__.py", "<module>"),
                (BRIDGE + "models/foo/foo_provider.py", "<module>"),
            ],
            [CIRCULAR],
        ),
    ),
    row(
        "TE attr skew",
        ("Blocked", "dependency"),
        VERL,
        "NCCL version",
        tb(
            W,
            [
                (SUITE_V + "models/mcore/bridge.py", "<module>"),
                (BRIDGE + "__init__.py", "<module>"),
                (MCORE + "extensions/transformer_engine.py", "<module>"),
            ],
            ["AttributeError: module 'transformer_engine' has no attribute 'pytorch'"],
        ),
    ),
    row(
        "provider heads not divisible",
        ("Fail", "provider-build"),
        VERL,
        "NCCL version",
        tb(
            W,
            [
                (SUITE_V + "workers/engine/megatron/transformer_impl.py", "initialize"),
                (SUITE_V + "workers/engine/megatron/transformer_impl.py", "_build_tf_config"),
                (BRIDGE + "models/gpt_provider.py", "finalize"),
                (MCORE + "transformer/transformer_config.py", "__post_init__"),
            ],
            ["ValueError: num_query_groups (2) must be a multiple of tensor_model_parallel_size (4)."],
        ),
    ),
    row(
        "provider attr",
        ("Fail", "provider-build"),
        VERL,
        "NCCL version",
        tb(
            W,
            [
                (SUITE_V + "workers/engine/megatron/transformer_impl.py", "_build_tf_config"),
                (BRIDGE + "models/qwen/qwen3_bridge.py", "provider_bridge"),
            ],
            ["AttributeError: 'Qwen3Config' object has no attribute 'rope_theta'"],
        ),
    ),
    row(
        "lora target none",
        ("Fail", "peft-wrap"),
        VERL,
        "Enabling LORA",
        tb(
            W,
            [
                (SUITE_V + "utils/megatron_utils.py", "make_megatron_module"),
                (BRIDGE + "models/model_provider.py", "provide_distributed_model"),
                (BRIDGE + "peft/base.py", "__call__"),
                (BRIDGE + "peft/lora.py", "transform"),
            ],
            ["TypeError: LoRALinear.__init__() missing 1 required positional argument: 'dim'"],
        ),
    ),
    row(
        "ddp bucket",
        ("Fail", "ddp-wrap"),
        VERL,
        "number of parameters",
        tb(
            W,
            [
                (SUITE_V + "utils/megatron_utils.py", "make_megatron_module"),
                (BRIDGE + "models/model_provider.py", "provide_distributed_model"),
                (BRIDGE + "models/common/unimodal.py", "_ddp_wrap"),
                (MCORE + "distributed/distributed_data_parallel.py", "__init__"),
            ],
            ["AssertionError: bucket_size must be set"],
        ),
    ),
    row(
        "fsdp assertion",
        ("Fail", "fsdp-wrap"),
        VERL,
        "number of parameters",
        tb(
            W,
            [
                (SUITE_V + "utils/megatron_utils.py", "make_megatron_module"),
                (BRIDGE + "models/model_provider.py", "provide_distributed_model"),
                (BRIDGE + "models/common/unimodal.py", "_ddp_wrap"),
                (MCORE + "distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py", "__init__"),
            ],
            ["RuntimeError: DTensor mesh mismatch"],
        ),
    ),
    row(
        "mapping error",
        ("Fail", "hf-import"),
        VERL,
        "module: 1",
        tb(
            W,
            [
                (SUITE_V + "workers/engine/megatron/transformer_impl.py", "_build_megatron_module"),
                (BRIDGE + "models/conversion/auto_bridge.py", "load_hf_weights"),
                (BRIDGE + "models/conversion/model_bridge.py", "load_weights_hf_to_megatron"),
                (BRIDGE + "models/conversion/param_mapping.py", "hf_to_megatron"),
                (SITE + "torch/functional.py", "split"),
            ],
            ["RuntimeError: split_with_sizes expects split_sizes to sum exactly to 1152"],
        ),
    ),
    row(
        "optimizer kwargs",
        ("Fail", "optimizer"),
        VERL,
        "contains 495",
        tb(
            W,
            [
                (SUITE_V + "workers/engine/megatron/transformer_impl.py", "_build_optimizer"),
                (MCORE + "optimizer/__init__.py", "get_megatron_optimizer"),
            ],
            ["TypeError: unsupported"],
        ),
    ),
    row(
        "reward function",
        ("Fail", "reward"),
        VERL,
        "Training Progress:   0%",
        tb(
            "(RewardLoopWorker pid=4) ",
            [
                (SUITE_V + "experimental/reward_loop/reward_loop.py", "compute_score"),
                (SUITE_V + "utils/reward_score/gsm8k.py", "compute_score"),
            ],
            ["NotImplementedError: Reward function is not implemented for data_source='foo'"],
        )
        + v_driver("step", ["NotImplementedError: Reward function is not implemented for data_source='foo'"]),
    ),
    row(
        "vllm start oom after",
        ("Fail", "rollout-engine-start"),
        VERL,
        "reward loop manager",
        tb(
            "(vLLMHttpServer pid=2) ",
            [(SITE + "vllm/v1/worker/gpu_worker.py", "load_model"), (SITE + "torch/nn/x.py", "__init__")],
            ["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"],
        )
        + v_driver("_setup", ["RuntimeError: Engine core initialization failed. See root cause above."]),
    ),
    row(
        "sglang start",
        ("Fail", "rollout-engine-start"),
        VERL,
        "reward loop manager",
        tb(
            "(SGLangHttpServer pid=2) ",
            [
                (SITE + "sglang/srt/managers/scheduler.py", "run_scheduler_process"),
                (SITE + "sglang/srt/model_executor/model_runner.py", "init_memory_pool"),
            ],
            ["RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."],
        )
        + v_driver("_setup", ["ray.exceptions.ActorDiedError: The actor died unexpectedly"]),
    ),
    row(
        "refit keyerror",
        ("Fail", "refit"),
        VERL,
        "Training Progress:   0%",
        tb(
            "(vLLMHttpServer pid=2) ",
            [
                (SUITE_V + "workers/rollout/vllm_rollout/utils.py", "update_weights_from_ipc"),
                (SITE + "vllm/model_executor/models/qwen2.py", "load_weights"),
            ],
            ["KeyError: 'layers.0.mlp.experts.w13_weight'"],
        )
        + v_driver("step", ["KeyError: 'layers.0.mlp.experts.w13_weight'"]),
    ),
    row(
        "export fail in refit",
        ("Fail", "refit"),
        VERL,
        "Training Progress:   0%",
        tb(
            W,
            [
                (SUITE_V + "workers/engine_workers.py", "update_weights"),
                (SUITE_V + "workers/engine/megatron/transformer_impl.py", "get_per_tensor_param"),
                (BRIDGE + "models/conversion/model_bridge.py", "stream_weights_megatron_to_hf"),
                (BRIDGE + "models/conversion/param_mapping.py", "megatron_to_hf"),
            ],
            ["ValueError: weight is None"],
        )
        + v_driver("step", ["ValueError: weight is None"]),
    ),
    row(
        "actor update nan assert",
        ("Fail", "train-step"),
        VERL,
        "Training Progress:   0%",
        tb(
            W,
            [
                (SUITE_V + "workers/engine_workers.py", "update_actor"),
                (SUITE_V + "workers/engine/megatron/transformer_impl.py", "forward_backward_batch"),
                (MCORE + "pipeline_parallel/schedules.py", "forward_backward_no_pipelining"),
                (BRIDGE + "models/qwen/modeling.py", "forward"),
            ],
            ["AssertionError: router logits contain NaN"],
        )
        + v_driver("step", ["AssertionError: router logits contain NaN"]),
    ),
    row(
        "compute log prob oom",
        ("Fail", "train-step"),
        VERL,
        "Training Progress:   0%",
        tb(
            W,
            [
                (SUITE_V + "workers/engine_workers.py", "compute_log_prob"),
                (SUITE_V + "workers/engine/megatron/transformer_impl.py", "infer_batch"),
                (MCORE + "models/gpt/gpt_model.py", "forward"),
            ],
            ["torch.OutOfMemoryError: CUDA out of memory."],
        )
        + v_driver("step", ["torch.OutOfMemoryError: CUDA out of memory."]),
    ),
    row(
        "save fail",
        ("Fail", "checkpoint-save"),
        VERL,
        "Training Progress:   0%",
        [
            T + "INFO:2026-08-10 00:39:18,272:Saving checkpoint to /x/global_step_1",
            *tb(
                W,
                [
                    (SUITE_V + "workers/engine_workers.py", "save_checkpoint"),
                    (SUITE_V + "utils/checkpoint/megatron_checkpoint_manager.py", "save_checkpoint"),
                    (BRIDGE + "models/conversion/auto_bridge.py", "save_hf_weights"),
                    (BRIDGE + "models/conversion/param_mapping.py", "megatron_to_hf"),
                ],
                ["RuntimeError: shape '[2, 3]' is invalid for input of size 5"],
            ),
            *v_driver("step", ["RuntimeError: shape '[2, 3]' is invalid for input of size 5"]),
        ],
    ),
    row(
        "load fail missing",
        ("Fail", "checkpoint-load"),
        VERL,
        READY,
        [
            T + "Found checkpoint: %s /x/global_step_1",
            *tb(
                W,
                [
                    (SUITE_V + "workers/engine_workers.py", "load_checkpoint"),
                    (SUITE_V + "utils/checkpoint/megatron_checkpoint_manager.py", "load_checkpoint"),
                    (MCORE + "dist_checkpointing/validation.py", "validate"),
                ],
                ["megatron.core.dist_checkpointing.core.CheckpointingException: Missing keys"],
            ),
            *v_driver(
                "_load_checkpoint", ["megatron.core.dist_checkpointing.core.CheckpointingException: Missing keys"]
            ),
        ],
    ),
    row(
        "segfault after done",
        ("Fail", "shutdown"),
        VERL,
        None,
        ["tests/x.sh: line 3: 1234 Segmentation fault      (core dumped) python3 -m verl.trainer.main_ppo"],
        exit_code=139,
    ),
    row(
        "node lost in step",
        ("Fail", "ray"),
        VERL,
        "Training Progress:   0%",
        v_driver("step", ["ray.exceptions.NodeDiedError: The node was terminated unexpectedly"]),
    ),
    row(
        "node fail slurm",
        ("Fail", "environment"),
        VERL,
        "Training Progress:   0%",
        ["slurmstepd: error: *** JOB 44 ON n CANCELLED AT 2026 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***"],
        exit_code=143,
    ),
    row(
        "preempted before",
        ("Blocked", "environment"),
        VERL,
        "Total training steps",
        ["slurmstepd: error: *** JOB 44 ON n CANCELLED AT 2026 DUE TO PREEMPTION ***"],
        exit_code=143,
    ),
    row(
        "wandb missing key",
        ("Blocked", "config"),
        VERL,
        "ray init",
        tb(
            T,
            [(SUITE_V + "trainer/main_ppo.py", "run"), (SUITE_V + "utils/config.py", "validate_config")],
            ["AssertionError: real_train_batch_size (8) must be divisible by minimal possible batch size (16)"],
        ),
    ),
    row(
        "hydra bad type",
        ("Blocked", "config"),
        VERL,
        "+ uv run",
        [
            "Error merging override trainer.total_training_steps=abc",
            "Value 'abc' of type 'str' could not be converted to Integer",
            "    full_key: trainer.total_training_steps",
            "",
            "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.",
        ],
    ),
    row(
        "dataset empty",
        ("Blocked", "data"),
        VERL,
        "filter dataset len",
        tb(
            T,
            [(SUITE_V + "trainer/ppo/v1/trainer_base.py", "_init_dataloader")],
            ["AssertionError: Train dataloader is empty!"],
        )
        + v_driver("init", ["AssertionError: Train dataloader is empty!"]),
    ),
    row(
        "tokenizer missing",
        ("Blocked", "model-download"),
        VERL,
        "ray init",
        tb(
            T,
            [
                (SUITE_V + "trainer/ppo/v1/trainer_base.py", "_init_tokenizer"),
                (SUITE_V + "utils/tokenizer.py", "hf_tokenizer"),
                (SITE + "transformers/tokenization.py", "from_pretrained"),
            ],
            ["OSError: /root/models/X does not appear to have a file named config.json."],
        )
        + v_driver("init", ["OSError: /root/models/X does not appear to have a file named config.json."]),
    ),
    row(
        "vllm dies in generate",
        ("Fail", "rollout"),
        NEMO,
        "Generating responses",
        tb(
            V,
            [
                (SUITE_N + "models/generation/vllm/vllm_worker.py", "generate"),
                (SITE + "vllm/v1/engine/llm_engine.py", "step"),
            ],
            ["vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."],
        )
        + n_driver("generate", ["vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."]),
    ),
    row(
        "nemo ddp",
        ("Fail", "ddp-wrap"),
        NEMO,
        "number of parameters",
        tb(
            M,
            [
                (SUITE_N + "models/policy/workers/megatron_policy_worker.py", "__init__"),
                (SUITE_N + "models/megatron/setup.py", "setup_model_and_optimizer"),
                (BRIDGE + "models/model_provider.py", "get_model"),
                (BRIDGE + "models/model_provider.py", "_ddp_wrap"),
                (MCORE + "distributed/param_and_grad_buffer.py", "__init__"),
            ],
            ["torch.OutOfMemoryError: CUDA out of memory."],
        )
        + n_driver("setup", ["ray.exceptions.ActorDiedError: x"]),
    ),
    row(
        "nemo optimizer",
        ("Fail", "optimizer"),
        NEMO,
        "number of parameters",
        tb(
            M,
            [
                (SUITE_N + "models/policy/workers/megatron_policy_worker.py", "__init__"),
                (SUITE_N + "models/megatron/setup.py", "setup_model_and_optimizer"),
                (BRIDGE + "training/optim.py", "setup_optimizer"),
                (MCORE + "optimizer/__init__.py", "get_megatron_optimizer"),
            ],
            ["KeyError: 'lr_mult'"],
        ),
    ),
    row(
        "nemo hf import shape",
        ("Fail", "hf-import"),
        NEMO,
        "torch_dtype",
        tb(
            M,
            [
                (SUITE_N + "models/megatron/setup.py", "handle_model_import"),
                (SUITE_N + "models/megatron/community_import.py", "import_model_from_hf_name"),
                (BRIDGE + "models/conversion/auto_bridge.py", "to_megatron_model"),
                (BRIDGE + "models/conversion/model_bridge.py", "load_weights_hf_to_megatron"),
            ],
            ["RuntimeError: The expanded size of the tensor (128) must match"],
        ),
    ),
    row(
        "nemo provider in import",
        ("Fail", "provider-build"),
        NEMO,
        "torch_dtype",
        tb(
            M,
            [
                (SUITE_N + "models/megatron/setup.py", "handle_model_import"),
                (SUITE_N + "models/megatron/community_import.py", "import_model_from_hf_name"),
                (BRIDGE + "models/conversion/auto_bridge.py", "to_megatron_provider"),
                (BRIDGE + "models/llama/llama_bridge.py", "provider_bridge"),
            ],
            ["KeyError: 'rope_type'"],
        ),
    ),
    row(
        "nemo save no space",
        ("Fail", "checkpoint-save"),
        "n-pass-lora-checkpoint-l1",
        "Saving checkpoint for step",
        tb(
            M,
            [
                (SUITE_N + "models/policy/workers/megatron_policy_worker.py", "save_checkpoint"),
                (BRIDGE + "training/checkpointing.py", "save_checkpoint"),
                (SITE + "torch/serialization.py", "save"),
            ],
            ["OSError: [Errno 122] Disk quota exceeded"],
        )
        + n_driver("save_checkpoint", ["OSError: [Errno 122] Disk quota exceeded"]),
        level=1,
    ),
    row(
        "nemo ray env",
        ("Blocked", "dependency"),
        NEMO,
        "sequential worker",
        n_driver("setup", ["ray.exceptions.RuntimeEnvSetupError: Failed to set up runtime environment."]),
    ),
    row(
        "nemo fingerprint abort",
        ("Blocked", "container"),
        NEMO,
        "$ uv run",
        ["RuntimeError: Container/code version mismatch detected! container fingerprint differs"],
    ),
    row(
        "nemo early timeout",
        ("Fail", "train-step"),
        NEMO,
        "Step 2/2",
        ["Timeout has been reached, stopping training early"],
        exit_code=0,
    ),
    row(
        "nemo no tb",
        ("Fail", "metrics"),
        NEMO,
        "Max number of steps",
        ["Error: No TensorBoard event files found under /x/logs"],
        exit_code=1,
    ),
    row(
        "nemo ld missing python.h",
        ("Blocked", "dependency"),
        "n-helpers-link-no-space",
        "compiling dataset",
        [
            M + "helpers.cpp:10: fatal error: pybind11/pybind11.h: No such file or directory",
            M + "make: *** [Makefile:14: helpers_cpp] Error 1",
            *tb(
                M,
                [
                    (BRIDGE + "training/initialize.py", "initialize_megatron"),
                    (MCORE + "datasets/utils.py", "compile_helpers"),
                ],
                ["SystemExit: 1"],
                head="Exception raised in creation task: The actor died",
            ),
        ],
    ),
    row(
        "killed in step 137",
        ("Fail", "train-step"),
        NEMO,
        "Training policy",
        ["tests/functional/grpo_megatron.sh: line 22: 39266 Killed                  uv run coverage run"],
        exit_code=137,
    ),
    row(
        "killed before",
        ("Blocked", "environment"),
        NEMO,
        "Setting up data",
        ["tests/functional/grpo_megatron.sh: line 22: 39266 Killed                  uv run coverage run"],
        exit_code=137,
    ),
    row(
        "interrupted at the time limit",
        ("Fail", "environment"),
        NEMO,
        "Training policy",
        [*tb(M, [(BRIDGE + "training/optim.py", "step")], ["KeyboardInterrupt"])],
        exit_code=None,
        timed_out=True,
    ),
    row("hang timed out no line", ("Fail", "environment"), NEMO, "Training policy", [], exit_code=124, timed_out=True),
    row(
        "nemo non-colocated policy fail while vllm goes on",
        ("Fail", "provider-build"),
        "n-pass-noncolocated-refit-l2",
        "torch_dtype",
        [
            *tb(
                M,
                [
                    (SUITE_N + "models/megatron/setup.py", "setup_model_config"),
                    (BRIDGE + "models/gpt_provider.py", "finalize"),
                ],
                ["ValueError: bad rope"],
            ),
            V + "INFO 06-16 00:41:02 [core.py:215] init engine (profile, warmup model) took 19.70 seconds",
            "Initializing vllm_policy workers: 100%|██████████| 1/1 [00:24<00:00, 24.00s/worker]",
            *n_driver("setup", ["ValueError: bad rope"]),
        ],
        level=2,
    ),
    row(
        "gspo validation fails fatal",
        ("Fail", "rollout"),
        NEMO,
        "SETUP COMPLETE",
        [
            "▶ Starting validation at step 0...",
            *tb(
                V,
                [(SUITE_N + "models/generation/vllm/vllm_worker.py", "generate")],
                ["RuntimeError: CUDA error: device-side assert triggered"],
            ),
            *n_driver("generate", ["RuntimeError: CUDA error: device-side assert triggered"]),
        ],
    ),
    row(
        "ref model oom nemo",
        ("Fail", None),
        NEMO,
        "scheduler built",
        tb(
            M,
            [
                (SUITE_N + "models/megatron/setup.py", "setup_reference_model_state"),
                (BRIDGE + "models/model_provider.py", "get_model"),
            ],
            ["torch.OutOfMemoryError: CUDA out of memory."],
        ),
    ),
    row(
        "nemo fingerprint raises",
        ("Blocked", "container"),
        NEMO,
        "$ uv run",
        tb(
            "",
            [(SUITE_N + "__init__.py", "<module>"), (SUITE_N + "__init__.py", "_check_container_fingerprint")],
            ["RuntimeError: ", "-" * 80, "WARNING: Container/Code Version Mismatch Detected!", "-" * 80],
        ),
    ),
    row(
        "vendored tree in worker",
        ("Blocked", "bridge-import"),
        NEMO,
        "torch_dtype",
        tb(
            M,
            [("/opt/nemo-rl/3rdparty/Megatron-Bridge-workspace/Megatron-Bridge/src/megatron/bridge/x.py", "finalize")],
            ["ValueError: x"],
        ),
    ),
    row(
        "store timeout before any model",
        ("Blocked", "environment"),
        VERL,
        "create worker group",
        tb(
            W,
            [(SUITE_V + "utils/distributed.py", "initialize_global_process_group_ray")],
            ["torch.distributed.DistNetworkError: The client socket has timed out after 600000ms"],
        ),
    ),
    row(
        "log cut inside the frames",
        ("Fail", "hf-import"),
        VERL,
        "number of parameters",
        tb(W, [(BRIDGE + "models/conversion/model_bridge.py", "load_weights_hf_to_megatron")], []),
    ),
    row(
        "engine out of memory before the policy",
        ("Blocked", "rollout-engine-start"),
        NEMO,
        "Resolved architecture",
        tb(V, [(SITE + "vllm/v1/worker/gpu_worker.py", "load_model")], ["torch.OutOfMemoryError: CUDA out of memory."]),
    ),
    row(
        "transformers too old",
        ("Blocked", "dependency"),
        VERL,
        "ray init",
        tb(
            T,
            [(SITE + "transformers/models/auto/configuration_auto.py", "from_pretrained")],
            ["ValueError: model type `foo` but Transformers does not recognize this architecture."],
        ),
    ),
    row(
        "parity of resumed runs",
        ("Fail", "metrics"),
        NEMO,
        "Max number of steps",
        tb("", [("<stdin>", "<module>"), ("<stdin>", "assert_all_close")], ["AssertionError: mcore_2step != baseline"]),
    ),
]


@pytest.mark.parametrize(("base", "cut", "lines", "changes", "want"), TABLE)
def test_the_stage_decides(
    base: str, cut: str | None, lines: list[str], changes: dict[str, Any], want: tuple[str, str | None]
) -> None:
    log = text(base).split("\n")
    if cut is not None:
        log = log[: max(index for index, line in enumerate(log) if cut in line) + 1]
    ours = judged(base, "\n".join([*log, *lines]) + "\n", metrics=None, **changes)
    assert ours.verdict == want[0]
    if want[1] is not None:
        assert ours.boundary == want[1]


def test_a_second_attempt_in_the_same_file_decides() -> None:
    failed, passed = text("v-train-parquet-missing"), text(VERL)
    assert judged(VERL, failed + passed).verdict == "Pass"
    last = judged("v-train-parquet-missing", passed + failed)
    assert (last.verdict, last.boundary) == ("Blocked", "data")


@pytest.mark.parametrize("name", ["n-hf-429-tokenizer", "n-oom-logprobs"])
def test_a_second_attempt_of_nemo_rl_decides(name: str) -> None:
    assert judged(NEMO, text(name) + text(NEMO)).verdict == "Pass"
    assert judged(name, text(NEMO) + text(name)).verdict != "Pass"


def test_a_recovered_download_is_not_the_cause_of_what_follows() -> None:
    recovered = text("v-pass-recovered-download").split("\n")
    cut = max(index for index, line in enumerate(recovered) if "number of parameters" in line)
    oom = tb(W, [(BRIDGE + "models/model_provider.py", "_ddp_wrap")], ["torch.OutOfMemoryError: CUDA out of memory."])
    ours = judged("v-pass-recovered-download", "\n".join([*recovered[: cut + 1], *oom]), exit_code=1)
    assert (ours.verdict, ours.boundary) == ("Fail", "ddp-wrap")
    assert "OutOfMemoryError" in (ours.first_error or "")


def test_another_prefix_changes_nothing() -> None:
    for name in ("v-hf-key-not-in-safetensors", "n-provider-unexpected-kwarg", "v-vllm-no-cache-blocks"):
        plain = judged(name)
        labelled = judged(name, "\n".join("3: " + line for line in text(name).split("\n")))
        worded = judged(name, "\n".join("[leg a] " + line for line in text(name).split("\n")))
        assert plain.boundary == labelled.boundary == worded.boundary
        assert plain.verdict == labelled.verdict == worded.verdict
