"""N-gram models with a guarantee."""
