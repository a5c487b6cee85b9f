from dataclasses import dataclass

from megatron.core.models import GPTModel
from megatron.core.transformer.transformer_config import TransformerConfig


@dataclass
class ModelProviderMixin(TransformerConfig):
    """A configuration that can build its own model."""

    vocab_size: int = 32
    share_embeddings_and_output_weights: bool = True
    finalized: bool = False

    def finalize(self):
        """Check and freeze the settings; sizes come from the caller's parallel state."""
        self.validate()
        if self.num_layers % self.pipeline_model_parallel_size:
            raise ValueError(
                f"number of layers ({self.num_layers}) must be divisible by "
                f"pipeline_model_parallel_size ({self.pipeline_model_parallel_size})"
            )
        self.finalized = True

    def provide(self, value_head=False):
        """Build the module."""
        if not self.finalized:
            self.finalize()
        return GPTModel(self, vocab_size=self.vocab_size, value_head=value_head)
