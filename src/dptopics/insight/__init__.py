"""From topics to answers: counts by group and time, the tree of topics, and their names."""
