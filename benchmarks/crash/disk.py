"""A disk that keeps only what was synced: replays a log of file operations (record.c) and cuts the power anywhere.

Syncing a file keeps its bytes, not its name; syncing a folder keeps the names in it. Of what was not synced, any part
may be there: ``keep`` decides, operation by operation.
"""

import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath

Keep = Callable[[], bool]


@dataclass(frozen=True)
class Operation:
    what: str
    descriptor: int
    number: int
    first: bytes
    second: bytes


def operations(log: bytes) -> Iterator[Operation]:
    at = 0
    while at < len(log):
        what, descriptor, number, n = struct.unpack_from("=ciqi", log, at)
        first = log[at + 17 : at + 17 + n]
        (m,) = struct.unpack_from("=i", log, at + 17 + n)
        at += 21 + n + m
        yield Operation(what.decode(), descriptor, number, first, log[at - m : at])


@dataclass
class File:
    kept: bytes = b""
    waiting: list[Operation] = field(default_factory=list)  # writes and truncations that were not synced

    def content(self, keep: Keep) -> bytes:
        data = bytearray(self.kept)
        for step in self.waiting:
            if keep():
                end = step.number + (len(step.first) if step.what == "W" else 0)
                data.extend(bytes(max(0, end - len(data))))
                data[step.number : end if step.what == "W" else len(data)] = step.first
        return bytes(data)


@dataclass
class Folder:
    kept: "dict[str, File | Folder]" = field(default_factory=dict)
    waiting: "list[tuple[str, File | Folder | None]]" = field(default_factory=list)  # None: the name is gone

    def names(self, keep: Keep) -> "dict[str, File | Folder]":
        found = dict(self.kept)
        for name, node in self.waiting:
            if keep():
                if node is None:
                    found.pop(name, None)
                else:
                    found[name] = node
        return found


class Disk:
    def __init__(self, root: str) -> None:
        self.root, self.top = PurePath(root), Folder()
        self._open: dict[int, File | Folder] = {}

    def _parent(self, path: PurePath) -> Folder:
        node: File | Folder = self.top
        for name in path.relative_to(self.root).parts[:-1]:
            assert isinstance(node, Folder)
            node = node.names(lambda: True)[name]
        assert isinstance(node, Folder)
        return node

    def _node(self, path: PurePath) -> "File | Folder | None":
        return self.top if path == self.root else self._parent(path).names(lambda: True).get(path.name)

    def apply(self, step: Operation) -> None:
        """Do one operation, in memory."""
        path = PurePath(os.fsdecode(step.first)) if step.what in "ORUMD" else PurePath()
        match step.what:
            case "O":
                node = self._node(path)
                if node is None:
                    node = File()
                    self._parent(path).waiting.append((path.name, node))
                elif isinstance(node, File) and step.number & os.O_TRUNC:
                    node.waiting.append(Operation("T", step.descriptor, 0, b"", b""))
                self._open[step.descriptor] = node
            case "W" | "T":
                node = self._open[step.descriptor]
                assert isinstance(node, File)
                node.waiting.append(step)
            case "S":
                node = self._open[step.descriptor]
                if isinstance(node, File):
                    node.kept = node.content(lambda: True)
                else:
                    node.kept = node.names(lambda: True)
                node.waiting.clear()
            case "C":
                del self._open[step.descriptor]
            case "R":
                target = PurePath(os.fsdecode(step.second))
                self._parent(target).waiting.append((target.name, self._node(path)))
                self._parent(path).waiting.append((path.name, None))
            case "U" | "D":
                self._parent(path).waiting.append((path.name, None))
            case "M":
                self._parent(path).waiting.append((path.name, Folder()))

    def after_power_loss(self, folder: Path, keep: Keep) -> None:
        """Write what is left into a real folder."""

        def restore(node: Folder, place: Path) -> None:
            place.mkdir(exist_ok=True)
            for name, child in node.names(keep).items():
                if isinstance(child, Folder):
                    restore(child, place / name)
                else:
                    (place / name).write_bytes(child.content(keep))

        restore(self.top, folder)
