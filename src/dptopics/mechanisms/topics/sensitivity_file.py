"""Sampled sensitivities on disk: the offline stage done once, used by later releases, and gone on with when stopped.

A file whose neighbours came from private data says so: it is as private as that data.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dptopics.core.errors import BundleError, InputError
from dptopics.core.files import replace_file
from dptopics.data.bounded import BoundedCorpus
from dptopics.mechanisms.topics.output_sensitivity import SampledSensitivity, SampleSize

SCHEMA = 1


def prepare(mechanism: Any, corpus: BoundedCorpus, path: str | Path | None, **how: Any) -> Any:
    """A mechanism with its sensitivity: read from a file, or sampled and written there. Other cases are refused."""
    if path is None:
        return mechanism.prepared(corpus, **how)
    path = Path(path)
    if path.exists():
        return mechanism.prepared(corpus, sensitivity=load(path), **how)
    if not path.absolute().parent.is_dir():
        raise InputError(f"the folder of {str(path)!r} does not exist. Create it first.")
    pairs = Pairs(path.with_name(f"{path.name}.partial"))
    ready = mechanism.prepared(corpus, checkpoint=pairs, **how)
    save(getattr(ready, "output", ready).sensitivity, path)
    pairs.path.unlink(missing_ok=True)
    return ready


def save(sampled: SampledSensitivity, path: str | Path) -> None:
    """Write a sampled sensitivity as JSON, whole or not at all."""
    path = Path(path)
    own = asdict(sampled)
    data = {"schema": SCHEMA, "kind": "sampled sensitivity", "not_for_release": not sampled.public}
    data |= {"sensitivity": own.pop("value"), **own}
    replace_file(path, (json.dumps(data, indent=1) + "\n").encode())


def load(path: str | Path) -> SampledSensitivity:
    """Read a sampled sensitivity back."""
    try:
        data = json.loads(Path(path).read_text("utf-8"))
        if data["schema"] > SCHEMA:
            raise BundleError(f"{str(path)!r} has schema {data['schema']}, we read up to {SCHEMA}. Update dptopics.")
        distances = tuple(map(float, data["distances"]))
        value = float(data["sensitivity"])
        if not (0 < value < float("inf") and distances and value >= max(distances)):
            raise ValueError("sensitivity")
        return SampledSensitivity(
            value=value,
            gamma=float(data["gamma"]),
            sample_size=SampleSize(data["sample_size"]),
            shape=(int(data["shape"][0]), int(data["shape"][1])),
            public=bool(data["public"]),
            key=str(data["key"]),
            distances=distances,
            seconds=float(data["seconds"]),
        )
    except FileNotFoundError:
        raise InputError(f"there is no sensitivity file {str(path)!r}.") from None
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise BundleError(
            f"{str(path)!r} is not a sampled sensitivity, or is damaged ({type(error).__name__}). Sample it again."
        ) from None


class Pairs:
    """Distances found so far, one line each, so that an interrupted run goes on."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, key: str) -> Mapping[int, float]:
        """Distances of an earlier run of the very same case; those of another case are refused."""
        if not self.path.exists():
            self.path.write_text(json.dumps(key) + "\n", "utf-8")
            return {}
        first, *rest = self.path.read_text("utf-8").splitlines() or [""]
        if first != json.dumps(key):
            raise InputError(
                f"{str(self.path)!r} is an unfinished run of another corpus, learner or setting. Remove it, or choose "
                "another name."
            )
        found = {}
        for line in rest:
            try:
                i, far = json.loads(line)
                found[int(i)] = float(far)
            except (ValueError, TypeError, RecursionError):
                break  # the line that was being written
        return found

    def add(self, i: int, far: float) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps([i, far]) + "\n")
