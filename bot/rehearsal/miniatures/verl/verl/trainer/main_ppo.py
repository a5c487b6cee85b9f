"""Driver, trainer actor and two workers."""

import datetime
import os
import pprint
import sys
import time

import ray

from verl.trainer import checkpoints
from verl.trainer.config import load, nested
from verl.workers.engine import MegatronEngine, setup_logging
from verl.workers.rollout import correlation, token_probabilities

WORKERS = 2


def log(message):
    """One line of verl's own logger."""
    now = datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
    print(f"INFO:{now}:{message}", flush=True)


@ray.remote(num_cpus=0)
class WorkerDict:
    """One rank of actor, reference and critic."""

    def __init__(self, config):
        setup_logging()
        self.critic = MegatronEngine(config, value_head=True)
        self.actor = MegatronEngine(config, value_head=False)

    def initialize(self, role):
        getattr(self, role).initialize()

    def weights(self):
        return self.actor.exported_weights()

    def probabilities(self):
        return token_probabilities(self.actor.policy_weights())

    def update(self, role, step):
        return getattr(self, role).update(1.0 / step)

    def save(self, role, path):
        getattr(self, role).save(os.path.join(path, role))

    def load(self, role, path):
        for line in getattr(self, role).load(os.path.join(path, role)):
            log(f"[Rank 0] {line}")


@ray.remote(num_cpus=0)
class vLLMHttpServer:
    """Starts on dummy weights and gets the policy's."""

    def __init__(self, config):
        self.quantization = config["actor_rollout_ref.rollout.quantization"]
        if not config["actor_rollout_ref.rollout.enforce_eager"]:
            print(
                "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE): 100%|██████████| 35/35 [00:03<00:00, 11.67it/s]"
            )
        self.weights = {}

    def update_weights(self, weights):
        self.weights = dict(weights)
        if self.quantization == "fp8":
            self.weights = {name: [round(value, 3) for value in values] for name, values in weights.items()}
            log(f"FP8 weights loaded (async), loaded_params: {len(weights)}, loaded_buffers: 0")
        else:
            log(f"Loading standard weights (non-FP8, async), loaded_params: {len(weights)}, loaded_buffers: 0")

    def probabilities(self):
        return token_probabilities(self.weights)


@ray.remote(num_cpus=0)
class TaskRunnerV1:
    """The trainer."""

    def run(self, config):
        self.config = config
        self.total = config["trainer.total_training_steps"]
        pprint.pprint(nested(config))
        self.load_data()
        log(f"Total training steps: {self.total}")
        self.workers = [WorkerDict.remote(config) for _ in range(WORKERS)]
        self.roles = ("actor",) if config["algorithm.adv_estimator"] == "grpo" else ("critic", "actor")
        self.moved = 0.0
        self.initialize()
        self.begun = self.resume()
        if config["trainer.val_before_train"]:
            metrics = self.validate()
            pprint.pprint(f"Initial validation metrics: {metrics}")
            self.print_metrics(0, metrics)
        self.last_validation = None
        for step in self.steps():
            self.train(step)
        print(f"'Final validation metrics: {self.last_validation}'", flush=True)

    def resume(self):
        """The step that is done already."""
        found = checkpoints.latest(self.config) if self.config["trainer.resume_mode"] == "auto" else None
        if found is None:
            if self.config["trainer.resume_mode"] == "auto":
                log("Training from scratch")
            return 0
        path = os.path.abspath(checkpoints.step_folder(self.config, found))
        log(f"Resuming from {path}, setting global step to {found}")
        print("Found checkpoint: %s", path)
        for role in self.roles:
            ray.get([worker.load.remote(role, path) for worker in self.workers])
        ray.get(self.server.update_weights.remote(self.workers[0].weights.remote()))
        return found

    def validate(self):
        """The share of right answers, which grows with what was learnt."""
        return {"val-core/openai/gsm8k/reward/mean@1": 0.03 + self.moved}

    def save(self, step):
        """Every role's state, and only then the step's number."""
        path = checkpoints.step_folder(self.config, step)
        log(f"Saving checkpoint to {path}")
        for role in self.roles:
            ray.get(self.workers[0].save.remote(role, os.path.abspath(path)))
        checkpoints.remember(self.config, step)

    def load_data(self):
        for key in ("data.train_files", "data.val_files"):
            with open(self.config[key].strip("[]'"), encoding="utf-8") as lines:
                count = len(lines.readlines())
            print(f"dataset len: {count}")
            print(f"Filtering prompts longer than 512 tokens (num_proc=1): 100%|██████████| {count}/{count}")
            print(f"filter dataset len: {count}", flush=True)

    def initialize(self):
        if "critic" in self.roles:
            ray.get([worker.initialize.remote("critic") for worker in self.workers])
            log("critic model engine initialized")
        ray.get([worker.initialize.remote("actor") for worker in self.workers])
        log("actor and ref model engine initialized")
        if self.config["reward.reward_model.enable"]:
            os.stat(self.config["reward.reward_model.model_path"])
        log("reward loop manager initialized")
        self.server = vLLMHttpServer.remote(self.config)
        ray.get(self.server.update_weights.remote(self.workers[0].weights.remote()))
        print("LLMServerManager: ['127.0.0.1:45308']")
        log("checkpoint engine manager initialized")
        log("all initialize finished, ready to fit")

    def steps(self):
        self.progress(self.begun)
        yield from range(self.begun + 1, self.total + 1)

    def progress(self, step):
        percent = 100 * step // self.total
        bar = ("█" * (percent // 10)).ljust(10)
        print(f"Training Progress: {percent:3d}%|{bar}| {step}/{self.total} [00:0{step}<00:00,  1.00s/it]", flush=True)

    def train(self, step):
        generated = ray.get(self.server.probabilities.remote())
        computed = ray.get(self.workers[0].probabilities.remote())
        norms = {
            role: max(ray.get([worker.update.remote(role, step) for worker in self.workers])) for role in self.roles
        }
        self.moved += norms["actor"]
        if self.config["trainer.save_freq"] > 0 and step % self.config["trainer.save_freq"] == 0:
            self.save(step)
        ray.get(self.server.update_weights.remote(self.workers[0].weights.remote()))
        self.log_metrics(step, generated, computed, norms)
        self.progress(step)

    def log_metrics(self, step, generated, computed, norms):
        difference = [abs(a - b) for a, b in zip(generated, computed, strict=True)]
        metrics = {
            "actor/entropy": 8.215475082397461 - self.moved,
            "training/rollout_probs_diff_valid": 1,
            "training/rollout_probs_diff_max": max(difference),
            "training/rollout_probs_diff_mean": sum(difference) / len(difference),
            "training/rollout_actor_probs_pearson_corr": correlation(generated, computed),
            "actor/ppo_kl": -1.4205361367203295e-05,
            "actor/pg_loss": 0.009687563986517489 - norms["actor"] / 100,
            "actor/kl_loss": 1.720360160106793e-06,
            "actor/grad_norm": norms["actor"],
            "actor/lr": 1e-06,
            "training/global_step": step,
            "training/epoch": 0,
            "critic/score/mean": 0.05 + self.moved,
            "critic/rewards/mean": 0.05 + self.moved,
            "response_length/mean": 481.84375,
            "timing_s/step": 1.0,
        }
        if "critic" in norms:
            metrics |= {"critic/vf_loss": 0.2163788601756096 - self.moved, "critic/grad_norm": norms["critic"]}
        if self.config["actor_rollout_ref.model.mtp.enable_train"]:
            metrics["actor/mtp_losses/mtp_1_loss"] = 10.37 - self.moved
        frequency = self.config["trainer.test_freq"]
        if frequency > 0 and (step % frequency == 0 or step == self.total):
            self.last_validation = self.validate()
            metrics |= self.last_validation
        self.print_metrics(step, metrics)

    @staticmethod
    def print_metrics(step, metrics):
        """verl's console logger."""
        print(f"step:{step} - " + " - ".join(f"{key}:{value}" for key, value in metrics.items()), flush=True)


def ray_init_kwargs(config):
    """What verl hands to `ray.init`."""
    prefix = "ray_kwargs.ray_init.runtime_env.env_vars."
    env = {"TOKENIZERS_PARALLELISM": "true", "NCCL_DEBUG": "WARN", "VLLM_LOGGING_LEVEL": "WARN"}
    env |= {key.removeprefix(prefix): str(value) for key, value in config.items() if key.startswith(prefix)}
    return {"num_cpus": config["ray_kwargs.ray_init.num_cpus"], "runtime_env": {"env_vars": env}}


def main(argv):
    config = load(argv)
    print("[validate_config] All configuration checks passed successfully!")
    kwargs = ray_init_kwargs(config)
    print(f"ray init kwargs: {kwargs}", flush=True)
    ray.init(
        include_dashboard=False, object_store_memory=80 * 1024**2, num_gpus=config["trainer.n_gpus_per_node"], **kwargs
    )
    try:
        ray.get(TaskRunnerV1.remote().run.remote(config))
    finally:
        time.sleep(1.0)  # the workers' last lines travel through Ray's log monitor
        ray.shutdown()


if __name__ == "__main__":
    main(sys.argv[1:])
