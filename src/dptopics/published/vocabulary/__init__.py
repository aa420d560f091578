"""Carvalho et al. 2022, as FDPTM takes it."""
