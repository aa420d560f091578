"""The process that Spark forks its Python workers from, with the library loaded: no worker has to import it again."""

from contextlib import suppress

from pyspark.daemon import manager

with suppress(ImportError):  # a test hides it
    import dptopics.data.engines.spark  # noqa: F401

if __name__ == "__main__":
    manager()
