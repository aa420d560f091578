"""For those who answer for a release: its registry entry, the decision on file, signatures, and checking it again."""
