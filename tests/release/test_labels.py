"""Names of topics: from released words alone, offline or by a server that speaks the OpenAI protocol."""

import inspect
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

from dptopics import TopicModel, Vocabulary, cli
from dptopics.core.errors import BundleError, InputError
from dptopics.privacy.guarantee import Guarantee, Strength, Unit
from dptopics.public.embeddings import available
from dptopics.release import bundle, labels
from dptopics.release.labels import OFFLINE, PROMPT, label
from dptopics.release.release import Release

WORDS = ["asthma", "bible", "breathing", "church", "cough", "faith", "hockey", "league", "season"]
TOPICS = [["asthma", "breathing", "cough"], ["bible", "church", "faith"], ["hockey", "league", "season"]]
MODEL = TopicModel(
    topic_word=np.array([[0.33 if word in topic else 0.01 / 6 for word in WORDS] for topic in TOPICS]),
    topic_share=np.ones(3) / 3,
    vocabulary=Vocabulary.of(WORDS),
    alpha=0.1,
)
PROMISE = Guarantee(events=(), delta=0.0, unit=Unit.AUTHOR, strength=Strength.PROVED)
RELEASE = Release(value=MODEL, guarantee=PROMISE, settings={})


@pytest.fixture
def server():
    """A stub of a language model: names a topic by its first word, and remembers what it was asked."""
    asked = []

    class Stub(BaseHTTPRequestHandler):
        answer = None

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, dict(self.headers), body))
            first = body["messages"][0]["content"].split(": ")[1].split(",")[0]
            content = f'"About {first}."\nAnd more.' if Stub.answer is None else Stub.answer
            answer = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer if Stub.answer != "nonsense" else b"<html>")

        def log_message(self, *_):
            pass

    stub = HTTPServer(("127.0.0.1", 0), Stub)
    thread = threading.Thread(target=stub.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{stub.server_port}/v1", asked, Stub
    stub.shutdown()
    thread.join()
    stub.server_close()


def test_a_language_model_sees_the_released_words_and_nothing_else(server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    url, asked, _ = server
    found = label(RELEASE, by=f"openai:{url}", model="small")
    assert [one.label for one in found.labels] == ["About asthma", "About bible", "About hockey"]
    assert (found.model, found.prompt) == (f"openai:{url} small", PROMPT)
    assert [path for path, _, _ in asked] == ["/v1/chat/completions"] * 3
    for (_, headers, body), one in zip(asked, found.labels, strict=True):
        assert body["model"] == "small"
        assert body["messages"] == [{"role": "user", "content": PROMPT.format(words=", ".join(one.words))}]
        assert "Authorization" not in headers
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    label(RELEASE, by=f"openai:{url}/", model="small")
    assert asked[-1][1]["Authorization"] == "Bearer k"


def test_ollama_is_a_server_of_the_same_protocol(server, monkeypatch):
    url, asked, _ = server
    monkeypatch.setattr(labels, "_OLLAMA", url)
    assert label(RELEASE, by="ollama:llama3").model == "ollama:llama3"
    assert asked[0][2]["model"] == "llama3"


@pytest.mark.parametrize(
    "answer, shown",
    [
        ("", "asthma, breathing, cough"),
        ("\x1b[31mred\n\n", "[31mred"),
        ("x" * 500, "x" * 60),
        ("\n ** Lungs ** ", "Lungs"),
    ],
)
def test_answers_are_cut_to_a_name(server, answer, shown):
    url, _, stub = server
    stub.answer = answer
    assert label(RELEASE, by=f"openai:{url}", model="small").labels[0].label == shown


def test_what_does_not_answer(server):
    url, _, stub = server
    stub.answer = "nonsense"
    with pytest.raises(InputError, match="does not follow the OpenAI protocol"):
        label(RELEASE, by=f"openai:{url}", model="small")
    with pytest.raises(InputError, match="does not respond"):
        label(RELEASE, by="openai:http://127.0.0.1:9/v1", model="small")
    for by, message in (
        ("openai:file:///etc", "begins with http"),
        ("nowhere:function", "would run with your permissions"),
        ("json", "module:function, ollama:MODEL or openai:URL"),
    ):
        with pytest.raises(InputError, match=message):
            label(RELEASE, by=by, model="small")
    with pytest.raises(InputError, match="would run with your permissions"):
        label(RELEASE, by="os:getcwd", allow="cosmos")
    with pytest.raises(InputError, match="there is no function"):
        label(RELEASE, by="nowhere:function", allow=["nowhere"])
    with pytest.raises(InputError, match="needs the name of a model"):
        label(RELEASE, by=f"openai:{url}")


def test_a_function_takes_words_only_and_labels_take_a_release_only():
    seen = []
    found = label(RELEASE, by=lambda words: seen.append(words) or "a name")
    assert [tuple(words) for words in seen] == [one.words for one in found.labels]
    with pytest.raises(InputError, match="returned int for a name"):
        label(RELEASE, by=len)
    assert found.labels[1].words[:3] == ("bible", "church", "faith")
    assert next(iter(inspect.signature(label).parameters.values())).annotation == Release[TopicModel]
    with pytest.raises(InputError, match="made from a release"):
        label(MODEL)
    with pytest.raises(BundleError, match="contains words"):
        label(Release(value=MODEL.vocabulary, guarantee=PROMISE, settings={}))


def test_only_functions_of_modules_that_are_allowed_are_run(tmp_path, monkeypatch, capsys):
    bundle.save(RELEASE, tmp_path / "topics")
    (tmp_path / "touching.py").write_text(
        "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\ndef name(words): return words[0].upper()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    command = ["dptopics", "label", str(tmp_path / "topics"), "--with", "touching:name"]
    for more, code in ([], 2), (["--allow", "os"], 2), (["--allow", "touching"], 0):
        monkeypatch.setattr(sys, "argv", command + more)
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert (stop.value.code or 0) == code
        assert (tmp_path / "ran").exists() == (code == 0)
    assert "BIBLE" in capsys.readouterr().out


@pytest.mark.skipif(not available(), reason="the extra 'embeddings' is not installed")
def test_offline_names_lie_near_their_topics(tmp_path, monkeypatch, capsys):
    found = label(RELEASE)
    assert (found.model, found.prompt) == (OFFLINE, "")
    names = [one.label for one in found.labels]
    assert any(word in names[1] for word in ("bible", "church", "faith", "christ", "relig"))
    assert any(word in names[2] for word in ("hockey", "league", "season", "sport", "team"))
    assert len(set(names)) == 3
    bundle.save(RELEASE, tmp_path / "topics")
    monkeypatch.setattr(sys, "argv", ["dptopics", "label", str(tmp_path / "topics"), "--out", str(tmp_path / "l.json")])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert not stop.value.code
    assert names[1] in capsys.readouterr().out
    assert json.loads((tmp_path / "l.json").read_text("utf-8"))["labels"][1]["label"] == names[1]


def test_without_the_extra_topics_have_no_names_and_nothing_breaks(monkeypatch):
    monkeypatch.setattr(labels, "available", lambda: False)
    assert labels.theme_names(MODEL) == ["", "", ""]


def test_names_of_the_atlas_are_given_once():
    twins = TopicModel(
        topic_word=np.array([[0.4, 0.4, 0.1, 0.1], [0.41, 0.39, 0.1, 0.1], [0.0, 0.0, 0.0, 1.0]]),
        topic_share=np.ones(3) / 3,
        vocabulary=Vocabulary.of(["hockey", "league", "season", "xqzzt"]),
        alpha=0.1,
    )
    names = labels.theme_names(twins)
    assert names[0] != names[1]
    assert all(names[:2])
    assert names[2] == ""  # the model knows nothing of its word
