from megatron.bridge.models.conversion.model_bridge import MegatronModelBridge
from megatron.bridge.models.conversion.param_mapping import AutoMapping, MegatronMappingRegistry
from megatron.bridge.models.qwen.qwen_provider import Qwen2ModelProvider


class Qwen2Bridge(MegatronModelBridge):
    """Qwen2ForCausalLM."""

    def provider_bridge(self, hf_config):
        """Hugging Face configuration to provider."""
        return Qwen2ModelProvider(
            num_layers=hf_config["num_hidden_layers"],
            hidden_size=hf_config["hidden_size"],
            vocab_size=hf_config["vocab_size"],
            share_embeddings_and_output_weights=hf_config["tie_word_embeddings"],
            num_moe_experts=hf_config.get("num_experts"),
        )

    def mapping_registry(self):
        """Megatron names to Hugging Face names."""
        attention = "model.layers.*.self_attn."
        return MegatronMappingRegistry(
            AutoMapping("embedding.word_embeddings.weight", ("model.embed_tokens.weight",)),
            AutoMapping("output_layer.weight", ("lm_head.weight",)),
            AutoMapping("decoder.final_layernorm.weight", ("model.norm.weight",)),
            AutoMapping(
                "decoder.layers.*.self_attention.linear_qkv.layer_norm_weight",
                ("model.layers.*.input_layernorm.weight",),
            ),
            AutoMapping(
                "decoder.layers.*.self_attention.linear_qkv.weight",
                (attention + "q_proj.weight", attention + "k_proj.weight", attention + "v_proj.weight"),
            ),
            AutoMapping("decoder.layers.*.self_attention.linear_proj.weight", (attention + "o_proj.weight",)),
            AutoMapping(
                "decoder.layers.*.mlp.linear_fc1.layer_norm_weight",
                ("model.layers.*.post_attention_layernorm.weight",),
            ),
            AutoMapping(
                "decoder.layers.*.mlp.linear_fc1.weight",
                ("model.layers.*.mlp.gate_proj.weight", "model.layers.*.mlp.up_proj.weight"),
            ),
            AutoMapping("decoder.layers.*.mlp.linear_fc2.weight", ("model.layers.*.mlp.down_proj.weight",)),
        )
