"""A saved release is whole or not there, comes back as it was, and damage is never loaded."""

import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dptopics.core.errors import BundleError, InputError
from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.privacy.events import Failure, Gaussian
from dptopics.privacy.guarantee import Guarantee, Strength, Unit
from dptopics.release import bundle
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel

GUARANTEE = Guarantee(
    events=(Gaussian(2.0, 3), Failure(1e-8)),
    delta=1e-6,
    unit=Unit.AUTHOR,
    strength=Strength.PROVED,
    assumptions=("Ünïcode is fine.",),
)
SETTINGS = {
    "mechanism": "pipeline",
    "delta": 1e-6,
    "topics": {"mechanism": "variational", "max_docs": None, "on": True},
}
WORDS = Vocabulary(("asthma", "knee", "zoë"), (3.25, 17.0, 0.1 + 0.2))


def topics(**fields):
    fields = {
        "topic_word": np.array([[0.7, 0.2, 0.1], [1 / 3, 1 / 3, 1 / 3]]),
        "topic_share": np.array([0.25, 0.75]),
        "vocabulary": WORDS,
        "alpha": 0.3,
        "noise_std": np.array([0.01, 0.02]),
        "text": TextSettings(language="none", min_length=2),
    } | fields
    return Release(value=TopicModel(**fields), guarantee=GUARANTEE, settings=SETTINGS)


def vocabulary(words=WORDS):
    return Release(value=words, guarantee=GUARANTEE, settings=SETTINGS)


RELEASES = {"topics": topics, "vocabulary": vocabulary}
both = pytest.mark.parametrize("kind", RELEASES)


# --- round trips ---


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"noise_std": None},
        {"text": None},
        {"vocabulary": Vocabulary(WORDS.words)},
        {"text": TextSettings(language="german", max_length=30)},
    ],
)
def test_topics_come_back(tmp_path, fields):
    release = topics(**fields)
    assert bundle.save(release, tmp_path / "out") == tmp_path / "out"
    again = bundle.load(tmp_path / "out")
    assert (again.guarantee, again.settings) == (GUARANTEE, SETTINGS)
    for name in ("topic_word", "topic_share", "noise_std"):
        before, after = getattr(release.value, name), getattr(again.value, name)
        assert np.array_equal(before, after) if before is not None else after is None
    for name in ("vocabulary", "alpha", "text"):
        assert getattr(again.value, name) == getattr(release.value, name)
    assert np.array_equal(TopicModel.load(tmp_path / "out").topic_word, release.value.topic_word)


@pytest.mark.parametrize(
    "words",
    [
        WORDS,
        Vocabulary(WORDS.words),
        Vocabulary((), ()),
        Vocabulary(()),
        Vocabulary.of(["new york", "a\nb", "a\\nb", "a\\", "c\rd", "e\u2028f", "g\x85h", "\ttab", "", "naïve", "日本"]),
    ],
)
def test_vocabulary_comes_back(tmp_path, words):
    bundle.save(vocabulary(words), tmp_path / "out")
    again = bundle.load(tmp_path / "out")
    assert (again.value, again.guarantee, again.settings) == (words, GUARANTEE, SETTINGS)
    with pytest.raises(BundleError, match="contains words, not topics"):
        TopicModel.load(tmp_path / "out")


def test_people_can_read_it(tmp_path):
    path = bundle.save(topics(), tmp_path / "out")
    assert sorted(file.name for file in path.iterdir()) == [
        "README.txt",
        "bundle.json",
        "guarantee.json",
        "topics.csv",
        "topics.npz",
        "vocabulary.txt",
    ]
    assert (path / "vocabulary.txt").read_text("utf-8") == "asthma\nknee\nzoë\n"
    readme = (path / "README.txt").read_text("utf-8")
    assert GUARANTEE.card() in readme
    assert "Topic 0: asthma, knee, zoë" in readme
    assert (path / "topics.csv").read_text("utf-8").splitlines()[:2] == [
        "topic,rank,word,weight,noise_std",
        "0,1,asthma,0.700000,0.01",
    ]
    assert json.loads((path / "guarantee.json").read_text("utf-8"))["epsilon"] == GUARANTEE.epsilon
    assert path.stat().st_mode & 0o777 == 0o755


def test_same_release_same_bytes(tmp_path):
    first, second = (bundle.save(topics(), tmp_path / name) for name in ("one", "two"))
    for file in first.iterdir():
        if file.suffix != ".npz" and file.name != "bundle.json":  # zip archives hold the time
            assert file.read_bytes() == (second / file.name).read_bytes()


def test_loads_in_a_process_without_a_corpus(tmp_path):
    bundle.save(topics(), tmp_path / "out")
    code = (
        "import sys; from dptopics.release.topic_model import TopicModel;"
        "m = TopicModel.load(sys.argv[1]);"
        "assert 'dptopics.data.corpus' not in sys.modules, 'corpus was imported';"
        "print(m.top_words(1), m.transform(['asthma asthma', '']).round(2).tolist())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, "out"], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=120
    )
    assert run.stdout.startswith("[['asthma'], ['zoë']] [[0.88, 0.12]")
    assert run.stdout.rstrip().endswith("[0.5, 0.5]]")


# --- where to write ---


def test_existing_target_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("folder", "file", "link"):
        with pytest.raises(InputError, match="exists already"):
            bundle.check_target(tmp_path / name)
        with pytest.raises(InputError, match="exists already"):
            bundle.save(topics(), tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"
    assert list((tmp_path / "folder").iterdir()) == []


def test_missing_parent_is_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        bundle.save(topics(), tmp_path / "no" / "out")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="does not exist"):
        bundle.save(topics(), tmp_path / "file" / "out")


def test_unwritable_parent_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(InputError, match="cannot be written"):
        bundle.check_target(tmp_path / "out")


def test_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bundle.save(topics(), "out")
    assert bundle.load("out").guarantee == GUARANTEE


@pytest.mark.parametrize("step", ["fsync", "open", "rename", "chmod"])
@pytest.mark.parametrize("error", [OSError("no space"), KeyboardInterrupt()])
def test_failure_while_writing_leaves_nothing(tmp_path, monkeypatch, step, error):
    def fail(*args, **kwargs):
        raise error

    with monkeypatch.context() as patch:
        owner = {"open": (bundle, "open"), "chmod": (Path, "chmod")}.get(step, (os, step))
        patch.setattr(*owner, fail, raising=False)
        with pytest.raises(type(error)):
            bundle.save(topics(), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    bundle.save(topics(), tmp_path / "out")
    assert bundle.load(tmp_path / "out").guarantee == GUARANTEE


def test_crash_at_the_last_file_leaves_nothing(tmp_path, monkeypatch):
    calls = []

    def fail_late(handle):
        calls.append(handle)
        if len(calls) == 6:
            raise OSError("pulled the plug")

    monkeypatch.setattr(os, "fsync", fail_late)
    with pytest.raises(OSError, match="pulled the plug"):
        bundle.save(topics(), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_somebody_else_was_faster(tmp_path, monkeypatch):
    real = os.fsync

    def meddle(handle):
        (tmp_path / "out").mkdir(exist_ok=True)
        real(handle)

    monkeypatch.setattr(os, "fsync", meddle)
    with pytest.raises(InputError, match="exists already"):
        bundle.save(topics(), tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["out"]
    assert list((tmp_path / "out").iterdir()) == []


# --- damage ---


def flip(data):
    """About forty positions, one at a time."""
    for position in {*range(0, len(data), max(1, len(data) // 40)), len(data) - 1}:
        yield data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


def truncate(data):
    yield data[:-2]
    yield data[: len(data) // 2]
    yield b""


def lengthen(data):
    yield data + b"x"


@both
@pytest.mark.parametrize("damage", [flip, truncate, lengthen])
def test_damage_to_any_file_is_noticed(tmp_path, kind, damage):
    path = bundle.save(RELEASES[kind](), tmp_path / "out")
    for file in sorted(path.iterdir()):
        whole = file.read_bytes()
        for broken in damage(whole):
            file.write_bytes(broken)
            with pytest.raises(BundleError, match=r"damaged|schema"):
                bundle.load(path)
        file.write_bytes(whole)
    assert bundle.load(path).guarantee == GUARANTEE


@both
def test_missing_file_is_noticed(tmp_path, kind):
    path = bundle.save(RELEASES[kind](), tmp_path / "out")
    for file in sorted(path.iterdir()):
        whole = file.read_bytes()
        file.unlink()
        with pytest.raises(BundleError, match=r"damaged or incomplete|is missing"):
            bundle.load(path)
        file.write_bytes(whole)


def rewritten(path, **changes):
    """The index with other contents and a checksum that fits."""
    index = json.loads((path / "bundle.json").read_text("utf-8"))
    del index["own_sha256"]
    index |= changes
    whole = index | {"own_sha256": bundle.hashlib.sha256(bundle._json(index)).hexdigest()}
    (path / "bundle.json").write_bytes(bundle._json(whole))


def test_newer_schema_is_refused(tmp_path):
    path = bundle.save(topics(), tmp_path / "out")
    rewritten(path, schema=bundle.SCHEMA + 1)
    with pytest.raises(BundleError, match=r"schema 3.*Update dptopics"):
        bundle.load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "1"},
        {"kind": "poem"},
        {"kind": None},
        {"model": {}},
        {"model": {"alpha": "x", "text": None}},
        {"sha256": {"../outside.txt": "0"}},
        {"sha256": []},
    ],
)
def test_index_that_does_not_fit_is_refused(tmp_path, changes):
    path = bundle.save(topics(), tmp_path / "out")
    rewritten(path, **changes)
    with pytest.raises(BundleError, match="damaged"):
        bundle.load(path)


@pytest.mark.parametrize("kind", ["../secret", "/{folder}/secret", "topics/../../secret", ["topics"], {}])
def test_a_kind_cannot_lead_out_of_the_folder(tmp_path, kind):
    """The arrays would be read from another folder, by whoever loads what somebody else sent."""
    path = bundle.save(topics(), tmp_path / "out")
    (tmp_path / "secret.npz").write_bytes((path / "topics.npz").read_bytes())
    (path / "topics").mkdir()
    rewritten(path, kind=kind.format(folder=tmp_path) if isinstance(kind, str) else kind)
    with pytest.raises(BundleError, match="damaged"):
        bundle.load(path)


@pytest.mark.parametrize("name", ["guarantee.json", "vocabulary.txt", "topics.npz"])
def test_what_is_read_has_a_checksum(tmp_path, name):
    path = bundle.save(topics(), tmp_path / "out")
    digests = json.loads((path / "bundle.json").read_text("utf-8"))["sha256"]
    rewritten(path, sha256={other: digest for other, digest in digests.items() if other != name})
    with pytest.raises(BundleError, match="lacks a checksum"):
        bundle.load(path)


def test_a_language_that_is_not_installed_is_named(tmp_path):
    path = bundle.save(topics(), tmp_path / "out")
    rewritten(path, model={"alpha": 0.1, "text": {"language": "klingon"}})
    with pytest.raises(InputError, match="klingon"):
        bundle.load(path)


def test_words_and_topics_must_fit_together(tmp_path):
    path = bundle.save(topics(topic_word=np.ones((2, 4)) / 4, vocabulary=Vocabulary.of("abcd")), tmp_path / "out")
    other = bundle.save(topics(), tmp_path / "other")
    index = json.loads((path / "bundle.json").read_text("utf-8"))
    donor = json.loads((other / "bundle.json").read_text("utf-8"))
    (path / "vocabulary.txt").write_bytes((other / "vocabulary.txt").read_bytes())
    digests = index["sha256"] | {"vocabulary.txt": donor["sha256"]["vocabulary.txt"]}
    rewritten(path, sha256=digests)
    with pytest.raises(BundleError, match="do not match"):
        bundle.load(path)


def test_not_a_bundle(tmp_path):
    with pytest.raises(BundleError, match="there is no release folder"):
        bundle.load(tmp_path / "nothing")
    (tmp_path / "file").write_text("{}")
    with pytest.raises(BundleError, match="there is no release folder"):
        bundle.load(tmp_path / "file")
    (tmp_path / "folder").mkdir()
    with pytest.raises(BundleError, match="is not a release"):
        bundle.load(tmp_path / "folder")
    for content in ("{}", "[]", "null", "not json", "{", '{"schema": null}'):
        (tmp_path / "folder" / "bundle.json").write_text(content)
        with pytest.raises(BundleError, match="damaged"):
            bundle.load(tmp_path / "folder")
    (tmp_path / "folder" / "bundle.json").write_bytes(b"\xff\xfe")
    with pytest.raises(BundleError, match="damaged"):
        bundle.load(tmp_path / "folder")


class Trap:
    """Leaves a trace when it is unpickled."""

    sprung = False

    def __reduce__(self):
        return (setattr, (Trap, "sprung", True))


def test_pickle_is_never_loaded(tmp_path):
    path = bundle.save(topics(), tmp_path / "out")
    loaded = io.BytesIO()
    np.savez(loaded, topic_word=np.array([Trap()], dtype=object), topic_share=np.ones(1))
    for data in (loaded.getvalue(), pickle.dumps(Trap())):
        (path / "topics.npz").write_bytes(data)
        index = json.loads((path / "bundle.json").read_text("utf-8"))
        rewritten(path, sha256=index["sha256"] | {"topics.npz": bundle.hashlib.sha256(data).hexdigest()})
        with pytest.raises(BundleError, match="damaged"):
            bundle.load(path)
        assert not Trap.sprung


def test_bundles_of_earlier_versions_are_read(tmp_path):
    """Until 0.2 the standard deviation of the noise was called deviation, and the description about."""
    path = tmp_path / "release"
    bundle.save(topics(), path)
    with np.load(path / "topics.npz") as stored:
        np.savez_compressed(
            path / "topics.npz", **{"deviation" if n == "noise_std" else n: stored[n] for n in stored.files}
        )
    index = json.loads((path / "bundle.json").read_text("utf-8"))
    index["record"]["about"] = index["record"].pop("description")
    index["sha256"]["topics.npz"] = hashlib.sha256((path / "topics.npz").read_bytes()).hexdigest()
    del index["own_sha256"]
    own = hashlib.sha256(bundle._json(index)).hexdigest()
    (path / "bundle.json").write_bytes(bundle._json(index | {"own_sha256": own}))
    np.testing.assert_array_equal(bundle.load(path).value.noise_std, topics().value.noise_std)


def test_former_names_warn_for_one_release():
    model = topics().value
    with pytest.warns(FutureWarning, match="is now called noise_std"):
        assert model.deviation is model.noise_std
    with pytest.warns(FutureWarning, match="is now called min_z"):
        assert model.top_words(3, min_deviations=0) == model.top_words(3, min_z=0)
