import random


class GPTModel:
    """Named parameters as flat lists, random until weights are loaded."""

    def __init__(self, config, vocab_size, value_head=False):
        self.config = config
        self.adapters = {}
        noise = random.Random(1)
        self.parameters = {
            name: [noise.uniform(-1, 1) for _ in range(size)] for name, size in self._shapes(vocab_size, value_head)
        }

    def _shapes(self, vocab_size, value_head):
        hidden = self.config.hidden_size
        yield "embedding.word_embeddings.weight", vocab_size
        for layer in range(self.config.num_layers):
            prefix = f"decoder.layers.{layer}."
            yield prefix + "self_attention.linear_qkv.layer_norm_weight", hidden
            yield prefix + "self_attention.linear_qkv.weight", 3 * hidden
            yield prefix + "self_attention.linear_proj.weight", hidden
            yield prefix + "mlp.linear_fc1.layer_norm_weight", hidden
            yield prefix + "mlp.linear_fc1.weight", 2 * hidden
            yield prefix + "mlp.linear_fc2.weight", hidden
        yield "decoder.final_layernorm.weight", hidden
        if value_head:
            yield "output_layer.weight", hidden

    def num_parameters(self):
        """Base and adapters together."""
        return sum(len(value) for value in (*self.parameters.values(), *self.adapters.values()))
