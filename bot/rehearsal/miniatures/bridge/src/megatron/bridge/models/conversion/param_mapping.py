import re
from dataclasses import dataclass


@dataclass(frozen=True)
class AutoMapping:
    """One Megatron parameter and the Hugging Face parameters that it is made of."""

    megatron_param: str
    hf_params: tuple[str, ...]

    def match(self, name):
        """The mapping with `*` resolved for `name`, or None."""
        pattern = re.escape(self.megatron_param).replace(r"\*", r"(\d+)")
        found = re.fullmatch(pattern, name)
        if not found:
            return None
        layer = found[1] if found.groups() else ""
        return AutoMapping(name, tuple(hf.replace("*", layer) for hf in self.hf_params))

    def hf_to_megatron(self, values):
        """Concatenate."""
        return [value for part in values for value in part]

    def megatron_to_hf(self, value):
        """Split into equal parts."""
        size = len(value) // len(self.hf_params)
        return {hf: value[i * size : (i + 1) * size] for i, hf in enumerate(self.hf_params)}


class MegatronMappingRegistry:
    """The mappings of one model."""

    def __init__(self, *mappings):
        self.mappings = mappings

    def resolve(self, name):
        """The first mapping that knows `name`, resolved, or None."""
        for mapping in self.mappings:
            resolved = mapping.match(name)
            if resolved is not None:
                return resolved
        return None
