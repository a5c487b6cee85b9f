"""Set-up and the synchronous loop."""

import json
import math
from pathlib import Path

import ray

from nemo_rl.distributed.workers import DTensorPolicyWorkerV2, MegatronPolicyWorker, VllmGenerationWorker

WORKERS = 2


def start(title, kind, *arguments):
    """`WORKERS` actors of `kind`, ready."""
    workers = [kind.remote(*arguments) for _ in range(WORKERS)]
    ray.get([worker.ready.remote() for worker in workers])
    print(f"Initializing {title} workers: 100%|██████████| {WORKERS}/{WORKERS} [00:01<00:00,  1.00s/worker]")
    print(f"  ✓ {WORKERS} workers initialized in 1.00s", flush=True)
    return workers


def setup(config):
    """Generation workers, then policy workers (colocated: one after the other)."""
    print("\n▶ Setting up data...\n  ✓ Training dataset loaded with 60 samples.\n")
    print("▶ Setting up compute cluster...\n  ✓ Ray cluster for policy initialized with 1 nodes\n")
    print(
        "▶ Setting up model and training...\n  ⚙️  Using sequential worker initialization (colocated mode)", flush=True
    )
    generation = start("vllm_policy", VllmGenerationWorker, config["policy.model_name"])
    kind = MegatronPolicyWorker if config["policy.megatron_cfg.enabled"] else DTensorPolicyWorkerV2
    policy = start("lm_policy", kind, config)
    print(f"  ✓ Using vLLM backend for generation with {config['policy.model_name']}")
    print("\n" + "=" * 60 + f"\n{'SETUP COMPLETE':>32}\n  Total setup time: 2.0s\n" + "=" * 60 + "\n", flush=True)
    return generation, policy


def refit(generation, policy):
    """The policy's weights into every generation worker."""
    weights = ray.get(policy[0].export.remote())
    ray.get([worker.refit.remote(weights) for worker in generation])


def step_metrics(step, generated, computed, grad_norm):
    """The numbers of one step; the error compares both engines' probabilities, token by token."""
    ratios = [math.exp(a - b) for a, b in zip(computed, generated, strict=True)]
    error = sum(max(ratio, 1 / ratio) for ratio in ratios) / len(ratios)
    return {
        "train/loss": -0.0151 / step,
        "train/grad_norm": grad_norm,
        "train/reward": 0.125,
        "train/token_mult_prob_error": error,
        "train/gen_kl_error": sum(ratio - math.log(ratio) - 1 for ratio in ratios) / len(ratios),
        "train/probs_ratio_clamped_min": min(0.98, max(0.8, min(ratios))),
        "train/probs_ratio_clamped_max": max(1.01, min(1.2, max(ratios))),
        "train/lr": 5e-07 * step,
    }


def print_step(metrics):
    """What the loop shows of a step."""
    for line in ("Preparing batch...", "Generating responses for batch of size 8...", "Processing rewards...,",
                 "Computing logprobs...", "Training policy..."):  # fmt: skip
        print(f"▶ {line}")
    print("\n📊 Training Results:")
    print(f"  • Loss: {metrics['train/loss']:.4f}")
    print(f"  • Generation KL Error: {metrics.get('train/gen_kl_error', 0):.4f}")
    print(f"  • Avg Reward: {metrics['train/reward']:.4f}\n  • Mean Generation Length: 285.6296")
    print("\n⏱️  Timing:\n  • Total step time: 1.00s\n", flush=True)


def grpo_train(config, generation, policy):
    """Every step, then a normal end."""
    total = config["grpo.max_num_steps"]
    events = Path(config["logger.log_dir"]) / "exp_001" / "tensorboard"
    events.mkdir(parents=True)
    print("🚀 Running synchronous GRPO training (legacy)\n\n" + "=" * 25 + " Epoch 1/1 " + "=" * 25)
    for step in range(1, total + 1):
        print(f"\n{'=' * 25} Step {step}/{total} {'=' * 25}", flush=True)
        refit(generation, policy)
        generated = ray.get(generation[0].generate.remote())
        computed = ray.get(policy[0].logprobs.remote())
        norm = max(ray.get([worker.train.remote(step) for worker in policy]))
        metrics = step_metrics(step, generated, computed, norm)
        print_step(metrics)
        with (events / "events.out.tfevents.0").open("a") as log:
            log.write(json.dumps({"step": step, "metrics": metrics}) + "\n")
    print("Max number of steps has been reached, stopping training early", flush=True)
