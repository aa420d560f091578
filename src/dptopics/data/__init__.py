"""Sensitive: texts and counts, bounded by what a unit may contribute."""
