"""What every room uses: errors, text and words, periods, axes, files. It knows nothing of the others."""

__version__ = "0.2.0"
