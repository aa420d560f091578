"""The public names are what we say they are."""

import dptopics


def test_every_export_exists_and_is_listed_once():
    assert dptopics.__all__ == sorted(dptopics._HOME)
    for name in dptopics.__all__:
        assert getattr(dptopics, name).__module__.startswith("dptopics.")


def test_the_command_line_default_is_the_library_default():
    import inspect

    from dptopics import registry
    from dptopics.cli.release import fit

    assert inspect.signature(fit).parameters["vocabulary_share"].default == registry.DEFAULT_SHARE
