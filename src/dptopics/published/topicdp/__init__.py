"""Baselines of Wang et al. 2022."""
