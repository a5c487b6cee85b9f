class DynamicInferenceEngine:
    """The Megatron inference engine: graphs first, where there are any."""

    def __init__(self, num_cuda_graphs, non_decode):
        self.num_cuda_graphs = num_cuda_graphs
        self.non_decode = non_decode
        self.create_cuda_graphs()

    def create_cuda_graphs(self):
        """Warm up every batch size."""
        if self.num_cuda_graphs is None:
            return
        sizes = [2**power for power in range(self.num_cuda_graphs)]
        print(f"> dynamic_engine.py: building cuda graphs for {len(sizes)} batch size(s): {sizes}.")
        for index, size in enumerate(sizes):
            self.warm_up(index, size)

    def warm_up(self, index, size):
        """One batch size."""
        print(f"cuda graph warmup - decode only, d. {size}, p. 0: {index}/{self.num_cuda_graphs}", flush=True)
