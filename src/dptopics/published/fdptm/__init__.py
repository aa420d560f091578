"""Mechanisms that Manzonelli et al. 2024 compare with."""
