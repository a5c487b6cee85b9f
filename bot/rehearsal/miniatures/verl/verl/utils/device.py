def get_device_name():
    """A miniature always says that it has GPUs."""
    return "cuda"
