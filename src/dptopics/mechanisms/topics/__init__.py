"""Topics with a guarantee."""
