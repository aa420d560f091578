"""Shared by all packages: errors, text and words, periods, axes, files. Imports none of the others."""

__version__ = "0.2.0"
