"""Which words may be known."""
