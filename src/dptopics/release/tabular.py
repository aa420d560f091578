"""What all released values share: tables for other libraries, and loading from a saved release."""

from pathlib import Path
from typing import Any, Self


class Tabular:
    """A released value with ``columns()``."""

    def to_arrow(self: Any) -> Any:
        """An Arrow table of ``columns()``."""
        from dptopics.release import interop

        return interop.to_arrow(self)

    def to_pandas(self: Any) -> Any:
        """A pandas frame of ``columns()``."""
        from dptopics.release import interop

        return interop.to_pandas(self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The value of a saved release."""
        from dptopics.release.bundle import load

        return load(path).value_of(cls)
