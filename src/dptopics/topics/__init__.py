"""Private topics: mechanisms from a bounded corpus with public words to a topic model."""
