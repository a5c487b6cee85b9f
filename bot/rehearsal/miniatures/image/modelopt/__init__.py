"""A stand-in for nvidia-modelopt, which megatron.bridge imports."""

__version__ = "0.44.0"
