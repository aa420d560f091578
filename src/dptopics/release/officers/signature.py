"""Sign a release with the owner's key (Ed25519), and check such a signature. Needs ``cryptography``.

The signature is on ``bundle.json``, which holds the checksums of all other files. It lies beside it.
"""

import base64
import hashlib
import json
import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from dptopics.core.errors import BundleError, InputError
from dptopics.core.files import sync_folder

FILE = "signature.json"
_SIGNED = "bundle.json"
_PURPOSE = b"dptopics release 1\n"  # a signature made for something else must not fit here
_MAKE = "Make one with: dptopics officer sign --new-key FILE"
_UNREADABLE = (OSError, TypeError, ValueError, UnsupportedAlgorithm)


def new_key(path: Path) -> Path:
    """Write a new private key, readable by its owner alone, and the public one beside it, whose path is returned."""
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
    """Sign a release that was checked; a signature that is there is replaced. Returns the key's fingerprint."""
    key = _private_key(key_file)
    found = {
        "schema": 1,
        "algorithm": "Ed25519",
        "public_key": _text(key.public_key().public_bytes_raw()),
        "signature": _text(key.sign(_PURPOSE + (folder / _SIGNED).read_bytes())),
    }
    partial = folder / f".{FILE}.partial"
    partial.unlink(missing_ok=True)
    _write(partial, (json.dumps(found, indent=2) + "\n").encode(), 0o644)
    partial.replace(folder / FILE)
    sync_folder(folder)
    return fingerprint(key.public_key())


def check(folder: Path, key_file: Path | None = None) -> str:
    """The fingerprint of the key that signed this release, which must be that of ``key_file`` if there is one."""
    try:
        data = json.loads((folder / FILE).read_text("utf-8"))
        raw, signature = base64.b64decode(data["public_key"]), base64.b64decode(data["signature"])
        public = Ed25519PublicKey.from_public_bytes(raw)
    except (OSError, KeyError, TypeError, ValueError):
        raise BundleError(f"its signature is damaged: {FILE} cannot be read.") from None
    if key_file is not None and _public_key(key_file).public_bytes_raw() != raw:
        raise BundleError(f"it is signed by another key ({fingerprint(public)}) than the one given.")
    try:
        public.verify(signature, _PURPOSE + (folder / _SIGNED).read_bytes())
    except InvalidSignature:
        raise BundleError("its signature does not fit: the release was changed after it was signed.") from None
    return fingerprint(public)


def fingerprint(key: Ed25519PublicKey) -> str:
    """A short name of a public key that can be read out over the telephone."""
    digest = hashlib.sha256(key.public_bytes_raw()).hexdigest()[:32]
    return " ".join(digest[i : i + 4] for i in range(0, 32, 4))


def _private_key(path: Path) -> Ed25519PrivateKey:
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except _UNREADABLE as error:
        raise InputError(f"{str(path)!r} cannot be read as a private key ({type(error).__name__}). {_MAKE}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{str(path)!r} is a key of another kind than Ed25519. {_MAKE}")
    return key


def _public_key(path: Path) -> Ed25519PublicKey:
    try:
        key = serialization.load_pem_public_key(path.read_bytes())
    except _UNREADABLE as error:
        raise InputError(f"{str(path)!r} cannot be read as a public key ({type(error).__name__}).") from None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{str(path)!r} is a key of another kind than Ed25519.")
    return key


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _write(path: Path, data: bytes, mode: int) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
