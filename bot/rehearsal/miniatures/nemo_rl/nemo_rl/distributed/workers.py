"""The actors: generation and policy."""

import math
import zlib

import ray

from nemo_rl.models.megatron.setup import MegatronPolicy, setup_logging


def log_probabilities(weights, tokens=64):
    """One for each token; every weight takes part under its name."""
    scores = [0.0] * tokens
    for name, values in sorted(weights.items()):
        phase = zlib.crc32(name.encode())
        for index, value in enumerate(values):
            for token in range(tokens):
                scores[token] += value * math.sin(phase + 1.7 * index + 0.9 * token)
    return [-math.log1p(math.exp(-score)) for score in scores]


@ray.remote(num_cpus=0)
class VllmGenerationWorker:
    """Starts on dummy weights."""

    def __init__(self, config):
        model = config["policy.model_name"]
        print(f"INFO 11-30 20:22:39 [core.py:114] Initializing a V1 LLM engine (v0.24.0) with config: model='{model}'")
        if config.get("policy.generation.quant_cfg") and not config.get("policy.generation.real_quant"):
            print("(VllmQuantGenerationWorker) FakeQuantWorker: Inserted 12 quantizers")
        print(
            "INFO 11-30 20:22:51 [core.py:344] init engine (profile, create kv cache, warmup model) took 8.09 s",
            flush=True,
        )
        self.weights = {}

    def ready(self):
        return True

    def refit(self, weights):
        """Take the weights; returns how many values were not these before."""
        changed = sum(self.weights.get(name) != value for name, value in weights.items())
        self.weights = dict(weights)
        return changed

    def generate(self):
        return log_probabilities(self.weights)


@ray.remote(num_cpus=0)
class MegatronPolicyWorker:
    """One rank."""

    def __init__(self, config, resume=None):
        setup_logging()
        self.config = config
        self.policy = MegatronPolicy(config, resume)
        self.engine = None

    def ready(self):
        return True

    def start_engine(self):
        """The Megatron inference engine, CUDA graphs first."""
        return self._initialize_inference_engine()

    def _initialize_inference_engine(self):
        from megatron.core.inference.engines.dynamic_engine import DynamicInferenceEngine

        prefix = "policy.generation.mcore_generation_config."
        self.engine = DynamicInferenceEngine(
            num_cuda_graphs=self.config[prefix + "num_cuda_graphs"],
            non_decode=self.config[prefix + "use_cuda_graphs_for_non_decode_steps"],
        )
        return True

    def generate(self, sampling=None):
        """By the Megatron engine, on the policy's own weights."""
        return log_probabilities(self.policy.weights())

    def refit(self, weights):
        """Nothing travels: the engine has the policy's own weights."""
        return 0

    def export(self):
        return self.policy.export()

    def logprobs(self):
        return log_probabilities(self.policy.weights())

    def train(self, step):
        return self.policy.train(step)

    def save(self, path):
        self.policy.save(path)


@ray.remote(num_cpus=0)
class DTensorPolicyWorkerV2:
    """The backend that never touches Megatron-Bridge."""

    def __init__(self, config, resume=None):
        print(f"Loading {config['policy.model_name']} with DTensor", flush=True)
        self.weights = {"dtensor": [0.5, 0.25]}

    def ready(self):
        return True

    def export(self):
        return self.weights

    def logprobs(self):
        return log_probabilities(self.weights)

    def train(self, step):
        return 0.7 / step

    def save(self, path):
        """A checkpoint of its own kind."""
