"""The public atlas: what ships, what an owner may bring, and what is refused."""

import pytest

from dptopics import cli
from dptopics.core.errors import InputError
from dptopics.core.text import TextSettings
from dptopics.public.atlas import MOST_THEMES, Atlas, Theme, parsed, read_atlas, shipped
from dptopics.public.embeddings import unit
from dptopics.public.minilm import MiniLM, of_atlas
from dptopics.public.minilm_words import _known
from dptopics.release.labels import theme_vectors

ATLAS = shipped("english")
OWN = """# Wards
## North ward
words: nurse, corridor ward
- The north ward was noisy at night.
(a note to ourselves)

## Food on the ward
words: lunch soup tray
"""


def test_what_minilm_says_of_the_atlas_is_kept():
    texts = [one for theme in ATLAS.themes for one in theme.texts]
    kept = of_atlas(texts)
    assert kept is not None, "the atlas changed: python benchmarks/minilm_words.py"
    some = range(0, len(texts), 1500)
    said = MiniLM()([texts[k] for k in some])
    assert (unit(said.astype(float)) * unit(kept[some].astype(float))).sum(axis=1) == pytest.approx(1, abs=1e-3)
    assert of_atlas([*texts[:-1], "another sentence"]) is None


def test_what_ships_is_complete():
    assert 800 <= len(ATLAS.themes) <= 1000
    assert len(ATLAS.domains) > 30
    assert len({name.casefold() for name in ATLAS.names}) == len(ATLAS.names)
    for theme in ATLAS.themes:
        assert 10 <= len(theme.words) <= 20, theme.name
        assert 6 <= len(theme.sentences) <= 8, theme.name
        assert len(set(theme.sentences)) == len(theme.sentences)


def test_every_word_can_be_read_and_is_known_to_the_model():
    text, known = TextSettings(), _known().index
    unread = [w for theme in ATLAS.themes for w in theme.words if list(text.words(w)) != [w]]
    assert unread == []
    assert [w for w in ATLAS.listed_words(text) if w not in known] == []


def test_no_two_themes_are_the_same():
    near = theme_vectors(ATLAS) @ theme_vectors(ATLAS).T
    for k in range(len(near)):
        near[k, k] = 0
    assert near.max() < 0.9


def test_an_atlas_of_an_owner(tmp_path):
    path = tmp_path / "wards.md"
    path.write_text(OWN, "utf-8")
    own = read_atlas(path)
    assert own.names == ("North ward", "Food on the ward")
    assert own.themes[0] == Theme(
        "North ward", "Wards", ("nurse", "corridor", "ward"), ("The north ward was noisy at night.",)
    )
    assert own.domains == ("Wards",)
    assert own.domain_of.tolist() == [0, 0]
    assert own.sha256 != read_atlas(write(tmp_path, OWN + "## Third\nwords: one\n")).sha256


def write(folder, content):
    path = folder / "other.md"
    path.write_text(content, "utf-8")
    return path


@pytest.mark.parametrize(
    "content, message",
    [
        ("## One\nwords: a b\n", "2 to 5,000 themes, got 1"),
        ("## One\nwords: a b\n## one\nwords: c\n", "two themes 'One'"),
        ("## One\nwords: a b\n## Two\n- said\n", "'Two' of the atlas has no words"),
        ("words: a b\n", "line 1 of the atlas"),
        ("id,text\n1,hello\n", "line 1 of the atlas"),
        ("## " + "x" * 81 + "\nwords: a\n", "line 1 of the atlas: a name"),
        ("".join(f"## T{k}\nwords: a\n" for k in range(MOST_THEMES + 1)), "2 to 5,000 themes"),
    ],
)
def test_what_is_no_atlas(content, message):
    with pytest.raises(InputError, match=message):
        parsed(content, "english")


def test_an_atlas_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_atlas(tmp_path / "missing.md")
    with pytest.raises(InputError, match="no atlas for language 'finnish'"):
        shipped("finnish")


def test_find():
    found = ATLAS.find("insomnia")
    assert found
    assert all("insomnia" in " ".join((t.name, *t.words, *t.sentences)).lower() for t in found)
    assert Atlas(ATLAS.themes[:2], "0").find("no such word") == []


def test_the_command():
    from typer.testing import CliRunner

    result = CliRunner().invoke(cli.app, ["atlas", "--find", "insomnia", "--json"])
    assert result.exit_code == 0, result.output
    assert "Patient" in CliRunner().invoke(cli.app, ["atlas"]).output
