"""A folder of text files as a table: one document a file."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from dptopics import progress
from dptopics.data.columns import BATCH_ROWS, Rows, check_columns, of_rows
from dptopics.errors import InputError, tell_owner

COLUMNS = ("text", "folder", "file")
_SUFFIX = ".txt"


def read_folder(folder: Path, columns: Sequence[str], encoding: str) -> Iterator[Rows]:
    """Batches of columns: text, folder (the sub-folder at the first level; none for files beside it) and file.

    Files of other kinds, and those whose names begin with a dot, are left out.
    """
    if missing := [name for name in columns if name not in COLUMNS]:
        raise InputError(
            f"a folder of text files has the columns {', '.join(COLUMNS)}, and no column {missing[0]!r}. For its texts "
            "by their sub-folders: --text text --author folder."
        )
    check_columns(COLUMNS, *columns)
    inside = [one for one in sorted(folder.rglob("*")) if _visible(one, folder) and one.is_file()]
    texts = [one for one in inside if one.suffix.lower() == _SUFFIX]
    if len(inside) > len(texts):  # even if none is left: whether anybody's text is there is private
        tell_owner(f"{len(inside) - len(texts):,} files that do not end in {_SUFFIX} were left out.")
    for start in range(0, len(texts), BATCH_ROWS):
        part = texts[start : start + BATCH_ROWS]
        rows = [_row(one, folder, columns, encoding, start + i + 1) for i, one in enumerate(part)]
        yield of_rows(rows)
        progress.report((start + len(part)) / len(texts))


def _visible(path: Path, folder: Path) -> bool:
    return not any(part.startswith(".") for part in path.relative_to(folder).parts)


def _row(path: Path, folder: Path, columns: Sequence[str], encoding: str, number: int) -> list[str | None]:
    """The cells that are asked for. Names of files may be names of people: messages give their number."""
    parts = path.relative_to(folder).parts
    cells: dict[str, str | None] = {"folder": parts[0] if len(parts) > 1 else None, "file": path.stem}
    if "text" in columns:
        try:
            cells["text"] = path.read_text(encoding).removeprefix("\ufeff")
        except UnicodeError:
            reason = f"is not valid {encoding}: save it as such, or name its encoding (--encoding)."
        except OSError as error:
            reason = f"cannot be read: {error.strerror}."
        if "text" not in cells:
            raise InputError(f"file {number} of the folder {folder.name!r}, in the order of names, {reason}")
    return [cells[name] for name in columns]
