"""Sign a release with the owner's key (Ed25519), and check such a signature. Needs ``cryptography``.

The signature covers ``bundle.json``, which holds the checksums of all other files.
"""

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from dptopics.core.errors import BundleError, InputError
from dptopics.core.files import sync_folder

FILE = "signature.json"
_SIGNED = "bundle.json"
_PURPOSE = b"dptopics release 1\n"  # separates these signatures from others of the same key
_MAKE = "Make one with: dptopics officer sign --new-key FILE"


def new_key(path: Path) -> Path:
    """Write a new private key, readable by its owner alone, and its public key, whose path is returned."""
    private = Ed25519PrivateKey.generate()
    public = path.with_name(f"{path.name}.pub")
    for one in (path, public):
        if one.exists():
            raise InputError(f"the file {str(one)!r} exists already. Choose another name: keys are never overwritten.")
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    _write(path, private.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain), 0o600)
    shown = private.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    _write(public, shown, 0o644)
    return public


def sign(folder: Path, key_file: Path) -> str:
    """Sign a verified release, replacing any signature. Returns the key's fingerprint."""
    key = _key(key_file, "private", Ed25519PrivateKey)
    found = {
        "schema": 1,
        "algorithm": "Ed25519",
        "public_key": base64.b64encode(key.public_key().public_bytes_raw()).decode(),
        "signature": base64.b64encode(key.sign(_PURPOSE + (folder / _SIGNED).read_bytes())).decode(),
    }
    partial = folder / f".{FILE}.partial"
    partial.unlink(missing_ok=True)
    _write(partial, (json.dumps(found, indent=2) + "\n").encode(), 0o644)
    partial.replace(folder / FILE)
    sync_folder(folder)
    return fingerprint(key.public_key())


def check(folder: Path, key_file: Path | None = None) -> str:
    """The fingerprint of the key that signed this release, which must be ``key_file`` if given."""
    try:
        data = json.loads((folder / FILE).read_text("utf-8"))
        raw, signature = base64.b64decode(data["public_key"]), base64.b64decode(data["signature"])
        public = Ed25519PublicKey.from_public_bytes(raw)
    except (OSError, KeyError, TypeError, ValueError):
        raise BundleError(f"its signature is damaged: {FILE} cannot be read.") from None
    if key_file is not None and _key(key_file, "public", Ed25519PublicKey).public_bytes_raw() != raw:
        raise BundleError(f"it is signed by another key ({fingerprint(public)}) than the one given.")
    try:
        public.verify(signature, _PURPOSE + (folder / _SIGNED).read_bytes())
    except InvalidSignature:
        raise BundleError("its signature is invalid: the release was changed after it was signed.") from None
    return fingerprint(public)


def fingerprint(key: Ed25519PublicKey) -> str:
    """A short hash of a public key that can be read aloud."""
    digest = hashlib.sha256(key.public_bytes_raw()).hexdigest()[:32]
    return " ".join(digest[i : i + 4] for i in range(0, 32, 4))


def _key(path: Path, which: str, kind: Any) -> Any:
    """The Ed25519 key in a PEM file."""
    key: object
    try:
        data = path.read_bytes()
        private = which == "private"
        key = serialization.load_pem_private_key(data, None) if private else serialization.load_pem_public_key(data)
    except (OSError, TypeError, ValueError, UnsupportedAlgorithm) as error:
        raise InputError(f"{str(path)!r} cannot be read as a {which} key ({type(error).__name__}). {_MAKE}") from None
    if not isinstance(key, kind):
        raise InputError(f"{str(path)!r} is not an Ed25519 key. {_MAKE}")
    return key


def _write(path: Path, data: bytes, mode: int) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
