"""Choosing words that may be published (differentially private set union)."""
