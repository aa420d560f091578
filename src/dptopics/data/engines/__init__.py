"""Where bounded sums are computed."""
