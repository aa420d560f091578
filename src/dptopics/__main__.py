"""``python -m dptopics``."""

from dptopics.cli import main

main()
