"""MiniLM without torch: equal to the original, deaf to other texts, and only from files whose hash is known."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dptopics.core.errors import InputError
from dptopics.kernels import transformer as kernel
from dptopics.public import minilm, minilm_files
from dptopics.public.embeddings import embedding
from dptopics.public.minilm import MiniLM, packed_floats, tokens
from dptopics.public.minilm_int8 import LEVELS, ByteLinear, MiniLMInt8, packed_bytes, stored_ranges
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
    assert [row.tolist() for row in tokens(None, TEXTS)] == GOLDEN["ids"]


@installed
def test_vectors_are_those_of_sentence_transformers():
    np.testing.assert_allclose(MiniLM()(TEXTS), np.array(GOLDEN["vectors"]), rtol=0, atol=1e-5)


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
def test_parts_of_any_size_give_the_same_bits(monkeypatch):
    whole = MiniLM()(TEXTS)
    monkeypatch.setattr(minilm, "_ROWS", 1000)
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
    assert embedding(f"minilm:{minilm_files.folder()}").name == "minilm"  # no path of this machine in a release
    assert MiniLM() != MiniLMInt8()


@pytest.mark.parametrize("changed", list(minilm_files.HASHES))
def test_another_file_is_refused(tmp_path, changed):
    for name in minilm_files.HASHES:
        (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(InputError, match=f"'{changed}' .* SHA-256 must be {minilm_files.HASHES[changed]}"):
        minilm_files.read(tmp_path, changed)
    with pytest.raises(InputError, match="SHA-256"):
        embedding(f"minilm:{tmp_path}")


@installed
def test_one_changed_byte_is_seen(tmp_path):
    content = bytearray((minilm_files.folder() / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(InputError, match="is not that of all-MiniLM-L6-v2"):
        minilm_files.read(tmp_path, "model.safetensors")


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="holds no file"):
        embedding(f"minilm:{tmp_path / 'nowhere'}")
    monkeypatch.setattr(minilm_files, "_PACKAGES", {"a_package_that_is_not_there": "model"})
    with pytest.raises(InputError, match=r"pip install 'dptopics\[minilm\]'"):
        minilm_files.folder()


def test_ranges_are_wide_and_hold_their_means():
    for least, largest, mean in stored_ranges().values():
        assert (least < mean).all()
        assert (mean < largest).all()


@pytest.mark.parametrize("n", [1, 5, 6, 7, 13])
def test_products(n):
    """Slow twin: numpy in float64."""
    x = np.zeros((n + kernel.SPARE_ROWS, 384), np.float32)
    x[:n] = RNG.normal(size=(n, 384))
    matrix, bias = (RNG.normal(size=size).astype(np.float32) for size in ((48, 384), 48))
    exact = x[:n].astype(float) @ matrix.T.astype(float) + bias
    np.testing.assert_allclose(kernel.linear(x, n, packed_floats(matrix), bias)[:n], exact, atol=1e-4)
    digits, whole = RNG.integers(0, LEVELS + 1, x.shape).astype(np.uint8), RNG.integers(-63, 64, matrix.shape)
    digits[:, :64], whole[:, :64] = LEVELS, 63  # the largest sums: nothing may overflow
    found = kernel.byte_linear(digits, n, packed_bytes(whole.astype(np.int8)), np.ones(48, np.float32), bias * 0)
    np.testing.assert_array_equal(found[:n], digits[:n].astype(int) @ whole.T)


def test_bytes_of_a_product():
    x = RNG.normal(size=(16, 64)).astype(np.float32)
    matrix, bias = (RNG.normal(size=size).astype(np.float32) for size in ((32, 64), 32))
    ranges = np.stack([x.min(axis=0), x.max(axis=0), x.mean(axis=0)])
    found = ByteLinear.of(matrix, bias, ranges)(x, 8)[:8]
    exact = x[:8] @ matrix.T + bias
    assert np.corrcoef(found.ravel(), exact.ravel())[0, 1] > 0.999


def test_gelu_and_attention():
    from scipy.special import erf, softmax

    x = np.linspace(-30, 30, 4096, dtype=np.float32).reshape(1, -1)
    made = x.copy()
    kernel.gelu(made, 1)
    np.testing.assert_allclose(made, x * 0.5 * (1 + erf(x.astype(float) / np.sqrt(2))), atol=2e-6)
    start = np.array([0, 3, 40])
    rows = RNG.normal(size=(40 + kernel.SPARE_ROWS, 3 * 64)).astype(np.float32)
    found = kernel.attention(rows, start)
    for first, last in pairwise(start):
        for head in (0, 32):
            q, k, v = (rows[first:last, part + head : part + head + 32].astype(float) for part in (0, 64, 128))
            exact = softmax(q @ k.T, axis=1) @ v
            np.testing.assert_allclose(found[first:last, head : head + 32], exact, atol=1e-5)
