"""The browser's client draws from the law that is proved for the Python client: same bits, and the same frequencies."""

import json
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare

from dptopics import Vocabulary
from dptopics.core.text import TextSettings
from dptopics.kernels.local_hash import buckets
from dptopics.local.collection import Collection
from dptopics.local.hashing import ANSWER, HashedPair, ThreeWords
from dptopics.local.randomizer import BitFlips
from dptopics.local.server.app import public_description

NODE = shutil.which("node")
NO_NODE = "no Node.js: install it (Debian: nodejs)"
pytestmark = pytest.mark.skipif(NODE is None, reason=NO_NODE)
MODULE = str(resources.files("dptopics").joinpath("resources", "collector", "dptopics-client.js"))
WORDS = Vocabulary.of([f"w{i:02d}" for i in range(20)] + ["back", "zoë", "über", "größe"])
COLLECTIONS = {
    "bits": BitFlips(vocabulary=WORDS, f=0.5, max_words=3),
    "bits, little noise": BitFlips(vocabulary=WORDS, f=0.001, max_words=50),
    "bits per word": BitFlips(vocabulary=WORDS, f=0.3, max_words=3, per="word"),
    "only coins": BitFlips(vocabulary=WORDS, f=1.0, max_words=3),
    "pair": HashedPair(vocabulary=WORDS, topics=(("w01", "w02"), ("w03", "zoë"), ("w04",)), epsilon=4.0),
    "pair, small": HashedPair(vocabulary=WORDS, topics=(("w01",),), epsilon=0.1),
    "three-words": ThreeWords(vocabulary=WORDS, epsilon=6.0),
    "three-words, large": ThreeWords(vocabulary=WORDS, epsilon=55.0),
}
TEXTS = [
    "", "nothing that is listed", "w01", "W01 w02, w03! w03", "w05 w06 w07 w08 w09 w10 w05", "Zoë ÜBER Größe w00",
    "zoe\u0308 and \uff57\uff10\uff11 in wide letters", "w04 w04 w01 w01 w03 w03 w03", "the back of w11",
    "w01w02 w01_w02 w01-w02 x" * 3, "w19 " * 200,
]  # fmt: skip


def node(job):
    job |= {"module": MODULE}
    found = subprocess.run(
        [NODE, Path(__file__).with_name("client_law.mjs")], input=json.dumps(job), capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    head, *lines = found.stdout.splitlines()
    return json.loads(head)["epsilon"], lines


class Fixed:
    """The fixed generator of the golden tests: splitmix64, and numbers below n by throwing words away."""

    def __init__(self, seed):
        self.state = seed

    def word(self):
        mask = 2**64 - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        x = self.state
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        return x ^ (x >> 31)

    def below(self, n):
        while n > 1:
            word = self.word()
            if word < 2**64 - 2**64 % n:
                return word % n
        return 0

    def integers(self, low, high, size=None, dtype=np.int64, endpoint=False):
        n = int(high) - int(low) + endpoint
        draw = self.word if n == 2**64 else lambda: self.below(n)
        count = 1 if size is None else int(np.prod(size))
        found = np.array([draw() for _ in range(count)], dtype=dtype)
        return int(found[0]) if size is None else found.reshape(size)


def described(randomizer, **text):
    made = Collection(name="survey", randomizer=randomizer, text=TextSettings(**text))
    return made, public_description(made)


@pytest.mark.parametrize("name", COLLECTIONS)
def test_the_same_bits_under_a_fixed_generator(name):
    made, data = described(COLLECTIONS[name])
    epsilon, lines = node({"collection": data, "texts": TEXTS, "seed": 12345, "times": 20})
    assert epsilon == pytest.approx(made.asks, rel=1e-9)
    words = [made.text.words(text) for text in TEXTS]
    wanted = [made.randomizer(found, Fixed(12345 + i)).hex() for found in words for i in range(20)]
    assert lines == wanted
    assert len(set(lines)) >= 10


def test_golden_bits():
    """Frozen, so that the two cannot drift away together."""
    golden = {
        "bits": "8d0084",
        "pair": "1c663cf4d73c4c0422000000",
        "three-words": "11aabecb86beda3f02000000f6d0c233a1c4cb7701000000febe023d51d6fc5307000000",
    }
    for name, wanted in golden.items():
        made, data = described(COLLECTIONS[name])
        _, (line,) = node({"collection": data, "texts": ["w01 w02 w03 w04 w05"], "seed": 7, "times": 1})
        assert line == made.randomizer(["w01", "w02", "w03", "w04", "w05"], Fixed(7)).hex() == wanted


@pytest.mark.parametrize("language", ["english", "german", "none"])
def test_texts_are_read_alike(language):
    texts = [
        *TEXTS,
        "Straße İstanbul ΟΔΟΣ ﬁne naïve 3D d3 नमस्ते 東京 e\u0301a",
        "a\ud83d\ude00bcd " + "x" * 16,
        "the über",
    ]
    made, data = described(COLLECTIONS["pair"], language=language)
    data["stop_words"] = sorted(data["stop_words"])
    _, lines = node({"collection": data, "texts": texts, "words": True})
    listed = set(WORDS.words)
    for text, line in zip(texts, lines, strict=True):
        assert [w for w in json.loads(line) if w in listed] == [w for w in made.text.words(text) if w in listed]


def test_stop_words_of_ones_own_are_read_alike():
    texts = ["w01 w02 W02 w03", "w02", "the w04"]
    made, data = described(COLLECTIONS["pair"], stop_words=("W02", "w19", "unlisted"))
    assert data["stop_words"] == ["w02", "w19"]
    _, lines = node({"collection": data, "texts": texts, "words": True})
    listed = set(WORDS.words)
    assert [json.loads(line) for line in lines][:2] == [["w01", "w03"], []]
    for text, line in zip(texts, lines, strict=True):
        assert [w for w in json.loads(line) if w in listed] == [w for w in made.text.words(text) if w in listed]


@pytest.mark.parametrize(("name", "field", "value"), [("pair", "epsilon", "2"), ("bits", "f", "0.5")])
def test_numbers_of_a_collection_are_numbers(name, field, value):
    """A limit that is compared with a sum of text and number is no limit."""
    _, data = described(COLLECTIONS[name])
    data["settings"][field] = value
    asked = "import(process.argv[1]).then((client) => client.checked(JSON.parse(process.argv[2])))"
    found = subprocess.run([NODE, "-e", asked, MODULE, json.dumps(data)], capture_output=True, text=True)
    assert "damaged-collection" in found.stderr


@pytest.mark.parametrize("links", [True, False, None])
def test_links_are_read_alike(links):
    texts = [
        "see https://t.co/aBc?x=1, painhttp://t.co/knee (www.knee.org) awww.pain WWW.KNEE.ORG http:// www.",
        'ann.lee+knee@mail.example.org,ben@d.ee;knee@home @user a@b.cc_d@e.ff <a href="http://t.co/x">knee</a>',
        "膝http://t.co/knee痛み ｈｔｔｐ：／／ｔ．ｃｏ… éwww.knee.org \ud83d\ude00ann@example.org",
    ]
    made, data = described(COLLECTIONS["pair"], language="none")
    settings = replace(made.text, links=links is not False)
    data["text"] = settings.to_dict() | {"links": links}
    if links is None:  # as collections said before links were left out
        del data["text"]["links"]
    _, lines = node({"collection": data, "texts": texts, "words": True})
    assert [json.loads(line) for line in lines] == [settings.words(text) for text in texts]


@pytest.mark.parametrize("n", [2, 3, 10, 2**31 - 1])
def test_numbers_below_n_have_no_modulo_bias(n):
    _, data = described(COLLECTIONS["bits"])
    _, lines = node({"collection": data, "below": n, "times": 20_000})
    drawn = np.array(lines, np.int64)
    assert (drawn.min() >= 0) & (drawn.max() < n)
    counts = np.bincount(drawn * 10 // n if n > 10 else drawn, minlength=min(n, 10))
    assert chisquare(counts).pvalue > 1e-6


def test_words_beyond_the_last_multiple_are_thrown_away():
    """2⁶⁴ = 6 modulo 10: the six largest words would make 0 … 5 likelier, by less than any count could show."""
    _, data = described(COLLECTIONS["bits"])
    given = [2**64 - 1, 2**64 - 6, 17, 2**64 - 7, 2**64 - 3, 4]
    _, lines = node({"collection": data, "below": 10, "times": 3, "given": list(map(str, given))})
    assert lines == ["7", "9", "4"]


def test_the_package_holds_what_it_names():
    """npm form: every file is there, and the types name every export of the module."""
    folder = Path(MODULE).parent
    package = json.loads((folder / "package.json").read_text("utf-8"))
    assert [name for name in package["files"] if not (folder / name).is_file()] == []
    assert set(package["exports"]["."].values()) == {f"./{name}" for name in package["files"][:2]}
    script, types = ((folder / name).read_text("utf-8") for name in ("dptopics-client.js", "dptopics-client.d.ts"))
    exported = set(re.findall(r"^export (?:async )?(?:const|class|function) (\w+)", script, re.M))
    assert exported == set(re.findall(r"^export (?:const|class|function) (\w+)", types, re.M))
    codes = set(re.findall(r'ClientError\("([\w-]+)"', script))
    named = types[types.index("ErrorCode =") : types.index("export class ClientError")]
    assert codes == set(re.findall(r'"([\w-]+)"', named))
    for word in ("Date", "localStorage", "Math.random", "console"):
        assert not re.search(rf"\b{re.escape(word)}\b(?=[.(])", script), word


# --- the same law ---

FEW = Vocabulary.of(["w01", "w02", "w03"])
LAWS = {
    "bits": (BitFlips(vocabulary=Vocabulary.of([f"w{i:02d}" for i in range(1, 7)]), f=0.5, max_words=2),
             {"f": 0.45}),
    "pair": (HashedPair(vocabulary=FEW, topics=(("w01",),), epsilon=2.0), {"epsilon": 2.2}),
    "three-words": (ThreeWords(vocabulary=Vocabulary.of(["w01", "w03"]), epsilon=4.0), {"epsilon": 5.0}),
}  # fmt: skip
TEXT, N = "w01 w02 w03 w03", 40_000


def categories(randomizer, data):
    """What a report says about each value, as one number: its bits, or which values each of its answers supports."""
    if isinstance(randomizer, BitFlips):
        return data[:, 0].astype(np.int64)
    answers = data.view(ANSWER)
    found = np.zeros(len(data), np.int64)
    for place in range(answers.shape[1]):
        one = answers[:, place]
        seeds = np.ascontiguousarray(one["seed"])
        values = np.tile(np.arange(randomizer.n_values), len(seeds))
        bucket = buckets(np.repeat(seeds, randomizer.n_values), values, randomizer.hash.n_buckets)
        hit = bucket.reshape(len(seeds), -1) == one["bucket"][:, None]
        for value in range(randomizer.n_values):
            found = 2 * found + hit[:, value].astype(np.int64)
    return found


def from_node(randomizer, times=N):
    _, lines = node({"collection": described(randomizer)[1], "texts": [TEXT], "times": times})
    return np.frombuffer(bytes.fromhex("".join(lines)), np.uint8).reshape(times, -1)


def p_value(randomizer, some, others):
    one, two = (Counter(categories(randomizer, data).tolist()) for data in (some, others))
    rows = np.array([[one[key], two[key]] for key in sorted(one | two)])
    rare = rows.sum(axis=1) < 20  # taken together
    table = np.vstack([rows[~rare], rows[rare].sum(axis=0)[None]])
    return chi2_contingency(table[table.sum(axis=1) > 0]).pvalue


@pytest.mark.parametrize("kind", LAWS)
def test_many_reports_of_each_have_one_law(kind):
    randomizer, wrong = LAWS[kind]
    rng, words = np.random.default_rng(1), TextSettings().words(TEXT)
    python = np.frombuffer(b"".join(randomizer(words, rng) for _ in range(N)), np.uint8).reshape(N, -1)
    script = from_node(randomizer)
    assert p_value(randomizer, python, script) > 1e-6
    if kind != "bits":  # seeds are uniform
        assert chisquare(np.bincount(script[:, :8].reshape(-1), minlength=256)).pvalue > 1e-6
    # The test sees a client that draws with a slightly different ε.
    assert p_value(randomizer, python, from_node(replace(randomizer, **wrong), N // 2)) < 1e-6
