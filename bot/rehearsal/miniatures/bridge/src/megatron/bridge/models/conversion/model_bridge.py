import logging

logger = logging.getLogger(__name__)


class MegatronModelBridge:
    """Converts weights between Hugging Face and Megatron."""

    def provider_bridge(self, hf_config):
        raise NotImplementedError

    def mapping_registry(self):
        raise NotImplementedError

    def build_conversion_tasks(self, hf_state, model):
        """One task for each parameter that can be converted; the others are named in a warning and stay random."""
        registry = self.mapping_registry()
        tasks = []
        for name in model.parameters:
            mapping = registry.resolve(name)
            if mapping is None:
                logger.warning("WARNING: No mapping found for megatron_param: %s", name)
                continue
            missing = [hf for hf in mapping.hf_params if hf not in hf_state]
            if missing:
                names = missing[0] if len(mapping.hf_params) == 1 else f"the following HF parameters: {missing}"
                logger.warning("WARNING: Can't find %s in hf_keys", names)
                continue
            tasks.append(mapping)
        return tasks

    def load_weights_hf_to_megatron(self, path, hf_state, model):
        """Copy every mapped weight."""
        tasks = self.build_conversion_tasks(hf_state, model)
        for mapping in tasks:
            value = mapping.hf_to_megatron([hf_state[name] for name in mapping.hf_params])
            if len(value) != len(model.parameters[mapping.megatron_param]):
                raise ValueError(
                    f"Shape mismatch for megatron param {mapping.megatron_param}: "
                    f"{len(model.parameters[mapping.megatron_param])} != {len(value)}"
                )
            model.parameters[mapping.megatron_param] = value
        bar = "━" * 40
        print(f"Loading from {path} {bar} 100% 0:00:00 ({len(tasks)}/{len(tasks)}) {type(self).__name__}", flush=True)

    def export_weights(self, model):
        """Hugging Face name to value, as the rollout engine gets them."""
        registry = self.mapping_registry()
        exported = {}
        for name, value in model.parameters.items():
            mapping = registry.resolve(name)
            if mapping is not None:
                exported.update(mapping.megatron_to_hf(value))
        return exported
