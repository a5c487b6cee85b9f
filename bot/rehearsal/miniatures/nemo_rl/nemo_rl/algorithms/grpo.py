"""Set-up and the synchronous loop."""

import json
import math
from pathlib import Path

import ray

from nemo_rl.distributed.workers import DTensorPolicyWorkerV2, MegatronPolicyWorker, VllmGenerationWorker

WORKERS = 2


def start(title, kind, *arguments, count=WORKERS):
    """`count` actors of `kind`, ready."""
    workers = [kind.remote(*arguments) for _ in range(count)]
    ray.get([worker.ready.remote() for worker in workers])
    print(f"Initializing {title} workers: 100%|██████████| {count}/{count} [00:01<00:00,  1.00s/worker]")
    print(f"  ✓ {count} workers initialized in 1.00s", flush=True)
    return workers


def guard(config):
    """What NeMo-RL refuses before any worker exists."""
    tp, cp = (config[f"policy.megatron_cfg.{name}_parallel_size"] for name in ("tensor_model", "context"))
    assert tp < 4 or config["policy.train_micro_batch_size"] == config["policy.logprob_batch_size"], (
        "There is a known batch-variant accuracy issue with TP>=4 for both DTensor and Megatron backend."
    )
    padded = config["policy.make_sequence_length_divisible_by"]
    assert cp == 1 or padded % (2 * cp) == 0, (
        f"make_sequence_length_divisible_by ({padded}) is not a multiple of minimum_pad_factor ({2 * cp})."
    )


def setup(config):
    """Generation workers and policy workers, one after the other where they share their GPUs."""
    print("\n▶ Setting up data...\n  ✓ Training dataset loaded with 60 samples.\n")
    print("▶ Setting up compute cluster...\n  ✓ Ray cluster for policy initialized with 1 nodes\n")
    guard(config)
    kind = MegatronPolicyWorker if config["policy.megatron_cfg.enabled"] else DTensorPolicyWorkerV2
    shared = config["policy.generation.colocated.enabled"]
    how = "⚙️  Using sequential worker initialization (colocated mode)"
    if not shared:
        how = "⚡ Using parallel worker initialization (non-colocated mode)"
    print(f"▶ Setting up model and training...\n  {how}", flush=True)
    megatron = config["policy.generation.backend"] == "megatron"
    generation = [] if megatron else start("vllm_policy", VllmGenerationWorker, config, count=WORKERS if shared else 1)
    policy = start("lm_policy", kind, config)
    if megatron:
        ray.get([worker.start_engine.remote() for worker in policy])
        generation = policy
    backend = "Megatron" if megatron else "vLLM"
    print(f"  ✓ Using {backend} backend for generation with {config['policy.model_name']}")
    print("\n" + "=" * 60 + f"\n{'SETUP COMPLETE':>32}\n  Total setup time: 2.0s\n" + "=" * 60 + "\n", flush=True)
    return generation, policy


def refit(generation, policy, config):
    """The policy's weights into every generation worker; what a sparse transfer measures."""
    weights = ray.get(policy[0].export.remote())
    changed = sum(ray.get([worker.refit.remote(weights) for worker in generation]))
    if config["policy.generation.refit_transport"] != "vllm_zmq_sparse":
        return {}
    total = sum(len(value) for value in weights.values())
    print(f"REFIT_ZMQ_DELTA_CHANGE changed_elements={changed} total_elements={total} changed_pct=1.5", flush=True)
    return {
        "refit/delta/changed_elements": changed,
        "refit/delta/changed_pct": 1.5,
        "refit/delta_verify/mismatches": 0,
        "refit/transfer/payloads": 1,
        "refit/transfer/relay_flush_s": 0.01,
        "refit/transfer/global_commit_s": 0.05,
    }


def step_metrics(step, generated, computed, grad_norm):
    """The numbers of one step; the error compares both engines' probabilities, token by token."""
    ratios = [math.exp(a - b) for a, b in zip(computed, generated, strict=True)]
    error = sum(max(ratio, 1 / ratio) for ratio in ratios) / len(ratios)
    return {
        "train/loss": -0.0151 / step,
        "train/grad_norm": grad_norm,
        "train/reward": 0.125 + 0.01 * (1 - 1 / step),
        "train/token_mult_prob_error": error,
        "train/gen_kl_error": sum(ratio - math.log(ratio) - 1 for ratio in ratios) / len(ratios),
        "train/probs_ratio_clamped_min": min(0.98, max(0.8, min(ratios))),
        "train/probs_ratio_clamped_max": max(1.01, min(1.2, max(ratios))),
        "train/approx_entropy": 2.5 - 0.01 * grad_norm,
        "train/lr": 5e-07 * step,
        "timing/train/prepare_for_generation/total": 0.4,
        "timing/train/prepare_for_generation/transfer_and_update_weights": 0.3,
    }


def print_step(metrics):
    """What the loop shows of a step."""
    for line in ("Preparing batch...", "Generating responses for batch of size 8...", "Processing rewards...,",
                 "Computing logprobs...", "Training policy..."):  # fmt: skip
        print(f"▶ {line}")
    print("\n📊 Training Results:")
    print(f"  • Loss: {metrics['train/loss']:.4f}")
    if "train/draft_loss" in metrics:
        print(f"  • Draft Loss: {metrics['train/draft_loss']:.4f}")
    print(f"  • Generation KL Error: {metrics.get('train/gen_kl_error', 0):.4f}")
    print(f"  • Avg Reward: {metrics['train/reward']:.4f}\n  • Mean Generation Length: 285.6296")
    print("\n⏱️  Timing:\n  • Total step time: 1.00s\n", flush=True)


class Events:
    """TensorBoard's file, as far as the dump reads it."""

    def __init__(self, config):
        folder = Path(config["logger.log_dir"]) / "tensorboard"
        folder.mkdir(parents=True)
        self.path = folder / "events.out.tfevents.0"

    def log(self, step, metrics):
        with self.path.open("a") as log:
            log.write(json.dumps({"step": step, "metrics": metrics}) + "\n")


def save(policy, config, step):
    """A checkpoint of this step."""
    path = Path(config["checkpointing.checkpoint_dir"]) / f"step_{step}"
    print(f"Saving checkpoint for step {step}...", flush=True)
    ray.get(policy[0].save.remote(str(path)))


def validate(events, step, moved):
    """Accuracy on the validation set."""
    print("▶ Starting validation at step", step, flush=True)
    events.log(step, {"validation/accuracy": 0.1 + moved})


def grpo_train(config, generation, policy):
    """Every step, then a normal end."""
    total, period = config["grpo.max_num_steps"], config["grpo.val_period"]
    events, moved = Events(config), 0.0
    if config["grpo.val_at_start"]:
        validate(events, 0, moved)
    print("🚀 Running synchronous GRPO training (legacy)\n\n" + "=" * 25 + " Epoch 1/1 " + "=" * 25)
    for step in range(1, total + 1):
        print(f"\n{'=' * 25} Step {step}/{total} {'=' * 25}", flush=True)
        sent = refit(generation, policy, config)
        generated = ray.get(generation[0].generate.remote())
        computed = ray.get(policy[0].logprobs.remote())
        norm = max(ray.get([worker.train.remote(step) for worker in policy]))
        moved += norm / 100
        metrics = {**step_metrics(step, generated, computed, norm), **sent}
        if config["policy.draft.enabled"]:
            metrics["train/draft_loss"] = 3.5 / step
        if config["checkpointing.enabled"] and (step % config["checkpointing.save_period"] == 0 or step == total):
            save(policy, config, step)
        print_step(metrics)
        events.log(step, metrics)
        if step % period == 0:
            validate(events, step, moved)
    print("Max number of steps has been reached, stopping training early", flush=True)


def train(config):
    """The whole run."""
    grpo_train(config, *setup(config))
