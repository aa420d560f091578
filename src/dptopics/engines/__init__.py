"""Where bounded sums are computed: exact integers, never noise."""
