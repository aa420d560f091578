"""Names that survive a loss of power: syncing a file keeps its bytes, syncing its folder keeps its name."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder are on disk."""
    if os.name == "nt":  # folders cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, and make sure that they stay."""
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in new:
        sync_folder(place.parent)
