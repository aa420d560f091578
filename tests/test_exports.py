"""The public names are what we say they are."""

import dptopics


def test_every_export_exists_and_is_listed_once():
    assert dptopics.__all__ == sorted(dptopics._HOME)
    for name in dptopics.__all__:
        assert getattr(dptopics, name).__module__.startswith("dptopics.")


def test_the_command_line_says_the_defaults_of_the_library():
    import inspect

    from dptopics import plan
    from dptopics.cli.fit import fit

    (option,) = inspect.signature(fit).parameters["vocabulary_share"].annotation.__metadata__
    assert option.show_default == f"{plan.USUAL_SHARE}; beside common words {plan.EXTENDED_SHARE}"
