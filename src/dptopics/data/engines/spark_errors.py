"""Spark's failures, in messages that say what to do. Spark's own messages may quote data and are not shown."""

import builtins
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from dptopics.core.errors import DptopicsError, EngineError, InputError

_OLDEST_JAVA = 17
_SPENT = "If a release was running, its budget is spent."


def check_java() -> None:
    """Refuse to start where Spark could not."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    version = None if java is None else java_version(java)
    if version is None or version < _OLDEST_JAVA:
        found = "none was found" if version is None else f"found {version}"
        raise EngineError(
            f"Spark needs Java {_OLDEST_JAVA} or newer, {found}. Install it (Debian: default-jre-headless), or set "
            "JAVA_HOME."
        )


def java_version(java: str) -> int | None:
    """17 for Java 17.0.15, 8 for Java 1.8; None if it does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    return None if version is None else int(version[1])


def explained(error: Exception, session: Any, missing: str | None = None) -> DptopicsError:
    """The error to raise instead. ``missing``: the message if Spark could not find or read the source."""
    if isinstance(error, DptopicsError):
        return error
    kind, message = type(error).__name__, str(error)
    if missing is not None and kind in ("AnalysisException", "ParseException"):
        return InputError(missing)
    if session is not None and _stopped(session):
        return EngineError(f"the Spark session stopped during the job. {_SPENT} Start a session and run it again.")
    if module := re.search(r"ModuleNotFoundError: No module named '(\w+)", message):
        return EngineError(
            f"the executors cannot import {module[1]!r}. Install dptopics[spark] in the Python of every worker, or "
            "pack the driver's environment (venv-pack, conda-pack) and ship it: spark.archives=env.tar.gz#env and "
            f"PYSPARK_PYTHON=env/bin/python. {_SPENT}"
        )
    if "PYTHON_VERSION_MISMATCH" in message:
        return EngineError("executors and driver run different Pythons. Set PYSPARK_PYTHON to the driver's version.")
    if "Cannot run program" in message:
        return EngineError("the executors cannot find the driver's Python. Set PYSPARK_PYTHON to one that they have.")
    if "UnicodeDecodeError" in message:
        return InputError("a text or author is not valid UTF-8. Write the table again.")
    if "Could not parse Master URL" in message:
        return EngineError("this is not a Spark master. Use local[2], spark://HOST:7077, yarn or k8s://HOST.")
    inner = re.findall(r"^(?:\w+\.)*(\w*(?:Error|Exception|Exit|Interrupt))\b", message, re.MULTILINE)
    inner = [name for name in inner if hasattr(builtins, name)]  # a line of the message may be data
    names = " in ".join(dict.fromkeys([*inner[-1:], kind]))
    return EngineError(f"a Spark job failed ({names}); the logs of driver and executors say more. {_SPENT}")


def _stopped(session: Any) -> bool:
    try:
        context = session.sparkContext._jsc
        return context is None or bool(context.sc().isStopped())
    except Exception:  # there is no JVM left to ask
        return True
