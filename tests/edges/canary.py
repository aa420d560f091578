"""A word that must never be seen outside, and what catches it."""

import logging
import traceback
import warnings

CANARY = "zanzibarina"
NOTE = f"My HIV test is positive, Anna {CANARY.title()}, ward 7 {CANARY} {CANARY.upper()}"


def chain(error):
    """Everything that a traceback, or a tool that follows causes by itself, could print of an exception."""
    said, waiting, seen = ["".join(traceback.format_exception(error))], [error], set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        said += [str(one), repr(one), *getattr(one, "__notes__", [])]
        waiting += [one.__cause__, one.__context__]
    return "\n".join(said)


def leaks(text):
    return CANARY in text.casefold()


class Listener(logging.Handler):
    """Keeps what is logged."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.said = []

    def emit(self, record):
        self.said.append(self.format(record))


def heard(call):
    """What a call says in exceptions, warnings and logs, and the exception."""
    listener, error = Listener(), None
    root = logging.getLogger()
    root.addHandler(listener)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                call()
            except Exception as raised:
                error = raised
    finally:
        root.removeHandler(listener)
    said = [*listener.said, *(str(one.message) for one in warned), "" if error is None else chain(error)]
    return "\n".join(said), error
