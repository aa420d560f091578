"""Cryptographic randomness: a ChaCha20 stream that cannot be read, set, copied or drawn from twice."""

import os
import secrets
import threading
from hashlib import sha256
from typing import Any, NoReturn
from weakref import WeakSet

from numpy.random import Generator
from randomgen import ChaCha

from dptopics.core.errors import PrivacyError

LOCK = threading.RLock()  # held by whoever draws more than once for one number, and while the process forks
_TWICE = (
    "noise that is drawn twice hides nothing. Call secure_rng() where the noise is drawn; to repeat a run that nobody "
    "will publish, take numpy.random.default_rng(seed)."
)


class _Cipher(ChaCha):
    """ChaCha20 under a key that came from the operating system. Nobody reads, sets, copies or rewinds its state."""

    def __init__(self) -> None:
        super().__init__(key=0, rounds=20)
        self.rekey()
        with LOCK:
            _live.add(self)

    def rekey(self) -> None:
        """Take a new key, and no word left over in the buffer."""
        fresh = _fresh_cipher().state["state"]
        _STATE.__set__(self, _STATE.__get__(self) | {"state": fresh})
        self.process, self._mark, self._blocks = os.getpid(), _mark(fresh), 0

    def untouched(self) -> bool:
        """Whether the key is the one that was drawn, and the counter has not gone back since the last question."""
        with self.lock:
            state = _STATE.__get__(self)["state"]
        before, self._blocks = self._blocks, int(state["ctr"][0])
        return _mark(state) == self._mark and self._blocks >= before

    @property
    def state(self) -> NoReturn:
        """Not to be had."""
        raise PrivacyError(f"the state of a secure generator is neither shown nor set: {_TWICE}")

    @state.setter
    def state(self, state: object) -> NoReturn:
        raise PrivacyError(f"the state of a secure generator is neither shown nor set: {_TWICE}")

    def seed(self, *seed: object, **more: object) -> None:
        """Refused: a known seed is known noise. ChaCha's own constructor asks once, before there is a key."""
        if hasattr(self, "process"):
            raise PrivacyError(f"a secure generator has no seed: {_TWICE}")
        super().seed(*seed, **more)

    spawn = __setstate__ = seed

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise PrivacyError(f"a secure generator must not be pickled or copied: {_TWICE}")


_STATE: Any = ChaCha.state  # the one way past the two properties above


def _mark(state: Any) -> bytes:
    """A digest of the key, so that it need not be kept a second time."""
    return sha256(state["keysetup"].tobytes()).digest()


class SecureGenerator(Generator):
    """A `numpy.random.Generator` on ChaCha20 with a fresh 256-bit key from the operating system.

    Noise that can be predicted, or is used twice, hides nothing: so there is no seed, its state can be neither read nor
    set, it cannot be pickled or copied, and a forked child gets a key of its own, whoever forked it: every draw looks
    at the number of the process. Threads may share one: every draw takes the bit generator's lock. What no program can
    see is a copy of the whole machine: never go on from one snapshot twice.
    """

    def __init__(self) -> None:
        super().__init__(_Cipher())

    def __getattribute__(self, name: str) -> Any:
        """Each draw begins here."""
        cipher = super().__getattribute__("_bit_generator")
        if isinstance(cipher, _Cipher) and cipher.process != os.getpid():
            with _rekeying:
                if cipher.process != os.getpid():
                    cipher.rekey()
        return super().__getattribute__(name)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise PrivacyError(f"a secure generator must not be pickled or copied: {_TWICE}")


def secure_rng() -> SecureGenerator:
    """Return a new cryptographic generator: what a release that is to be private must be drawn from.

    >>> is_secure(secure_rng())
    True
    """
    return SecureGenerator()


def is_secure(rng: Generator) -> bool:
    """Return whether `rng` comes from `secure_rng`: unpredictable, with no seed that could be known or set since.

    >>> import numpy as np
    >>> is_secure(np.random.default_rng(1))
    False
    """
    if type(rng) is not SecureGenerator:
        return False
    cipher = rng.bit_generator
    return type(cipher) is _Cipher and cipher.untouched()


def bits_drawn(rng: Generator) -> int:
    """How many bits a `secure_rng` has given since it was keyed: rounded noise takes 64 for every number."""
    cipher: Any = rng.bit_generator
    with cipher.lock:
        return 32 * int(_STATE.__get__(cipher)["state"]["ctr"][0])


def _fresh_cipher() -> Any:
    return ChaCha(key=secrets.randbits(256), rounds=20)


_rekeying = threading.Lock()
_live: WeakSet[_Cipher] = WeakSet()
_held: list[_Cipher] = []


def _before_fork() -> None:
    """Take every lock, so that the child inherits none that a vanished thread would have had to release."""
    LOCK.acquire()  # first, as in the slow path, which draws while it holds this one
    _held.extend(_live)
    for cipher in _held:
        cipher.lock.acquire()


def _after_fork_in_parent() -> None:
    for cipher in _held:
        cipher.lock.release()
    _held.clear()
    LOCK.release()


def _after_fork_in_child() -> None:
    for cipher in _held:
        cipher.rekey()
    _after_fork_in_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
