"""The page in a real browser: slider, search, keyboard, map, printing, axe, and no word of complaint in its console."""

import json
import re
import shutil
import subprocess
import tarfile
import tempfile
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest
from test_report import Reader

from charging import charged
from cubes import cube
from dptopics import (
    Corpus,
    CountTable,
    Guarantee,
    Ledger,
    NgramTable,
    Release,
    Strength,
    TopicModel,
    Unit,
    Vocabulary,
    publish,
    secure_rng,
)
from dptopics.audit.membership.attack import audit_membership
from dptopics.audit.membership.models import of_mechanism
from dptopics.ledger.ledger import Unrecorded
from dptopics.plan import Plan
from dptopics.privacy import events as ev
from dptopics.public.demo import demo_corpus
from dptopics.release import report as page
from dptopics.release.topic_model import fingerprint
from dptopics.release.topic_sizes import TopicSizes

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
# The text is looked for by conftest.py, which says loudly that these tests were skipped.
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER),
    reason="no browser: install Chromium and its driver (Debian: chromium chromium-driver)",
)
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-dev-shm-usage", "--window-size=1280,1400")  # fmt: skip
AXE, NO_AXE = "4.10.3", "no axe-core: install npm (Debian: npm), which fetches it"
EVIL = ["</script><script>window.evil=1</script>", "<img src=x onerror='window.evil=1'>", "a\"'b&amp;"]


@pytest.fixture(scope="module")
def browser():
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for flag in (*FLAGS, f"--user-data-dir={folder}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        driver.set_page_load_timeout(60)
        try:
            yield driver
        finally:
            driver.quit()


def guarantee():
    return Guarantee(events=(ev.Gaussian(3.0),), delta=1e-6, unit=Unit.AUTHOR, strength=Strength.PROVED)


def release(value):
    return Release(value=value, guarantee=guarantee(), settings={"mechanism": "variational", "n_topics": 5})


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(1)
    words = sorted([*(f"word{i:02}" for i in range(60)), "knee", "kneecap", "שלום", *EVIL])
    matrix = rng.gamma(0.3, size=(5, len(words))) + 1e-6
    matrix[:, words.index("knee")] = [1e-9, 1e-9, 9, 1e-9, 1e-9]
    matrix[3, [words.index(word) for word in EVIL]] = 1.0  # above the noise, or they would not be shown
    return TopicModel(
        topic_word=matrix / matrix.sum(axis=1, keepdims=True), vocabulary=Vocabulary.of(words),
        topic_share=np.array([0.3, 0.25, 0.2, 0.15, 0.1]), alpha=0.1, noise_std=np.full(5, 0.004),
        sizes=TopicSizes(noisy=np.array([300.0, 250, 200, 150, 100, 9]), noise=np.full(6, 5.0), unit="author"),
    )  # fmt: skip


def show(browser, tmp_path, text):
    path = tmp_path / "page.html"
    path.write_text(text, "utf-8")
    browser.get(path.as_uri())


@pytest.fixture
def opened(browser, tmp_path, model):
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=9, delta=1e-4)
    ledger.charge(guarantee(), "variational")
    show(browser, tmp_path, page.render(release(model), ledger=ledger.to_dict()))
    yield browser
    assert browser.get_log("browser") == []


def words_shown(browser, figure=0):
    script = """
        const figures = document.querySelectorAll('#words figure');
        const shown = figures[arguments[0]] ?? document.getElementById('list');
        return shown.hidden ? [] : [...shown.querySelectorAll('li bdi')].map((e) => e.innerText)"""
    return browser.execute_script(script, figure)


def put(browser, control, value):
    script = (
        "const c = document.getElementById(arguments[0]); c.value = arguments[1]; c.dispatchEvent(new Event('input'))"
    )
    browser.execute_script(script, control, value)


def test_the_slider_orders_words_as_the_library_does(opened, model):
    seen = [words_shown(opened)]
    assert seen[0] == [" ".join(w.split()) for w in model.top_words(10)[0]]  # drawn without the script
    for many in (10, 30):
        put(opened, "many", many)
        for relevance in (0.0, 0.3, 0.6, 1.0):
            put(opened, "relevance", relevance)
            for k, expected in enumerate(model.top_words(many, relevance=relevance)):
                assert words_shown(opened, k) == [" ".join(w.split()) for w in expected]
            seen.append(words_shown(opened))
            assert opened.find_element("id", "relevance-value").text == f"{relevance:.1f}"
    assert seen[1] != seen[4]


def test_the_script_draws_bars_as_the_page_has_them(opened):
    drawn = "return document.querySelector('#words figure ol').outerHTML"
    before = opened.execute_script(drawn)
    put(opened, "relevance", 0.6)
    after = opened.execute_script(drawn)
    numbers = re.compile(r"\d[\d.]*")
    assert numbers.sub("", before) == numbers.sub("", after)
    for one, other in zip(numbers.findall(before), numbers.findall(after), strict=True):
        assert float(one) == pytest.approx(float(other), abs=0.02)


def test_the_slider_works_by_keyboard(opened):
    slider = opened.find_element("id", "relevance")
    slider.send_keys("\ue012")  # arrow left
    assert opened.find_element("id", "relevance-value").text == "0.5"


def test_search_finds_a_word_across_topics(opened):
    opened.find_element("id", "search").send_keys("kneecap")
    opened.find_element("id", "search").send_keys("\ue003" * 3)  # backspace
    figures = opened.find_elements("css selector", "#words figure")
    found = [k for k, figure in enumerate(figures) if figure.is_displayed()]
    assert 2 in found
    assert len(found) < 5
    assert words_shown(opened, 2)[0] == "knee"
    assert opened.find_elements("css selector", "#words figure:not([hidden]) li:not(.sought)") == []
    assert f"{len(found)} of 5 topics" in opened.find_element("id", "found").text
    put(opened, "search", "nowhere")
    assert "0 of 5 topics" in opened.find_element("id", "found").text
    put(opened, "search", "")
    assert all(figure.is_displayed() for figure in figures)


def test_words_are_words_and_never_markup(opened, model):
    put(opened, "many", 30)
    put(opened, "relevance", 1.0)
    assert set(EVIL) <= set(words_shown(opened, 3))
    for word in EVIL:
        put(opened, "search", word)
        assert words_shown(opened, 3) == [word]
    assert opened.execute_script("return window.evil") is None
    assert opened.find_elements("css selector", "img") == []
    assert len(opened.find_elements("css selector", "script")) == 2


def test_error_bars_are_two_deviations_of_the_noise(opened, model):
    put(opened, "relevance", 1.0)
    top = model.topic_word[0].max()
    path = opened.find_element("css selector", "#words li path.error").get_attribute("d")
    low, high = (float(path[1:].split(" ")[0]), float(path.split("H")[1].split("M")[0]))
    assert low / high == pytest.approx((top - 0.008) / (top + 0.008), rel=2e-3)


def test_noise_is_never_shown_as_words(opened, browser, tmp_path, model):
    put(opened, "many", 30)
    put(opened, "relevance", 1.0)
    assert len(words_shown(opened)) == np.count_nonzero(model.topic_word[0] >= 3 * 0.004) < 30
    # Of few people: no word stands above the noise, in charts and in what is read aloud.
    show(browser, tmp_path, page.render(release(replace(model, noise_std=np.full(5, 60.0)))))
    everything = browser.execute_script(
        "return [document.body.innerText, ...document.querySelectorAll('[aria-label], option')]"
        ".map((e) => e.innerText || e.getAttribute?.('aria-label') || e).join(' ')"
    ) + browser.find_element("id", "data").get_attribute("textContent")
    assert not [word for word in model.vocabulary.words if word in everything and len(word) > 3]
    assert "No word of any topic is above the noise" in everything


@pytest.mark.parametrize("scheme, dark", [("light", False), ("dark", True)])
def test_light_and_dark(opened, scheme, dark):
    features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
    colour = opened.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(json.loads(f"[{colour[4:-1]}]")) < 200) is dark
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_it_prints_with_all_topics(opened):
    assert len(opened.execute_cdp_cmd("Page.printToPDF", {})["data"]) > 10_000
    assert all(one.get_attribute("open") for one in opened.find_elements("tag name", "details"))


def test_tables_of_words_and_ngrams(browser, tmp_path):
    values = [
        Vocabulary(tuple(sorted(["knee", "kneecap", *EVIL])), (5.0, 4.0, 3.0, 2.0, 1.0)),
        Vocabulary.of(["knee", "kneecap", *EVIL]),
        NgramTable(vocabulary=Vocabulary.of(["my knee", "my kneecap", "to run"]), noise_std=np.full(3, 0.01),
                   probability=np.array([0.2, 0.3, 0.5])),
    ]  # fmt: skip
    for value in values:
        show(browser, tmp_path, page.render(release(value)))
        total = len(words_shown(browser))
        browser.find_element("id", "search").send_keys("KNEE")
        assert len(words_shown(browser)) == 2 < total
        assert "2 found" in browser.find_element("id", "found").text
    assert browser.execute_script("return window.evil") is None
    assert browser.get_log("browser") == []


def test_counts_are_an_overview_and_groups(browser, tmp_path):
    table = CountTable(
        axes=("topic", "ward"),
        values=(("0", "1"), ("north", EVIL[0])),
        cube=cube(np.array([[90.0, 10.0], [np.nan, 60.0]])),
        noise=2.0,
    )
    show(browser, tmp_path, page.render(release(table)))
    assert "90 (86 to 94)" in browser.find_element("tag name", "details").get_attribute("textContent")
    figures = browser.find_elements("css selector", "#by-1 figure")
    assert ["suppressed" in figure.text for figure in figures] == [True, True]
    assert browser.execute_script("return window.evil") is None
    assert browser.get_log("browser") == []


def test_the_demo_with_its_audit(browser, tmp_path):
    demo = demo_corpus()
    corpus = Corpus.from_texts(demo.texts[:3000], demo.authors[:3000])
    plan = Plan.topics(
        mechanism="variational", vocabulary="weighted", n_topics=4, epsilon=8.0, delta=1e-6, unit=Unit.AUTHOR, steps=3
    )
    made = publish(plan, lambda plan: corpus.bounded())
    audit = audit_membership(
        of_mechanism(plan.build(), corpus), corpus, n_shadows=4, by_author=True, claim=plan.build().guarantee,
        settings={"plan": plan.to_dict()},
    )  # fmt: skip
    show(browser, tmp_path, page.render(made, audit=audit.to_dict()))
    word = made.value.top_words(1, relevance=1.0)[2][0]
    browser.find_element("id", "search").send_keys(word)
    assert word in browser.find_element("css selector", "#words figure:not([hidden]) li").text
    assert len(browser.find_elements("css selector", "#audit polyline")) == len(audit.attacks) + 2
    assert "NOT FOR RELEASE" in browser.find_element("class name", "banner").text
    assert browser.get_log("browser") == []


def test_five_hundred_topics(browser, tmp_path):
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet(np.full(400, 0.1), 500)
    model = TopicModel(
        topic_word=matrix, vocabulary=Vocabulary(tuple(f"w{i:03}" for i in range(400))),
        topic_share=rng.dirichlet(np.ones(500)), alpha=0.1,
    )  # fmt: skip
    show(browser, tmp_path, page.render(release(model)))
    assert len(browser.find_elements("css selector", "#words figure")) == 500
    put(browser, "search", "w007")
    assert "of 500 topics have such a word" in browser.find_element("id", "found").text
    assert "is not known" in browser.find_element("css selector", "#words p").text
    assert browser.get_log("browser") == []


def counted(model):
    cells = np.random.default_rng(0).integers(50, 90, (model.n_topics, 3, 4)).astype(float)
    table = CountTable(
        axes=("topic", "ward", "month"),
        values=(tuple(map(str, range(model.n_topics))), ("north", EVIL[0], "other"),
                ("2026-01", "2026-02", "2026-03", "other")),
        cube=cube(cells), noise=3.0,
        model=fingerprint(model.topic_word, model.vocabulary.words),
    )  # fmt: skip
    return release(table)


def named(model):
    names = ["knees and more", EVIL[1], "skin", "sleep", "bills"]
    labels = [{"topic": k, "label": name} for k, name in enumerate(names)]
    return {"labels": labels, "model": "me", "topics": fingerprint(model.topic_word, model.vocabulary.words)}


@pytest.fixture(params=[(1280, 1400), (390, 844)], ids=["screen", "phone"])
def everything(request, browser, tmp_path, model):
    """The whole page, on a screen and on a phone."""
    wide, high = request.param
    settings = {"width": wide, "height": high, "deviceScaleFactor": 1, "mobile": wide < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", settings)
    show(browser, tmp_path, page.render(release(model), labels=named(model), counts=counted(model)))
    yield browser
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert browser.execute_script("return window.evil") is None
    assert browser.get_log("browser") == []


def test_nothing_is_cut_off_and_bars_can_be_read(everything):
    wide = everything.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide[0] <= wide[1]
    bars = everything.execute_script(
        "return [...document.querySelectorAll('section > .bars svg')].map((e) => e.getBoundingClientRect().width)"
    )
    assert min(bars) >= 150
    names = everything.execute_script(
        "return [...document.querySelectorAll('.bars .name')].filter((e) => e.offsetParent)"
        ".map((e) => e.getBoundingClientRect().width)"
    )
    assert min(names) >= 40
    charts = everything.execute_script(
        "return [...document.querySelectorAll('#trends figure > svg')].map((e) => e.getBoundingClientRect().width)"
    )
    assert len(charts) == 5
    assert min(charts) >= 200


def test_what_is_folded_has_its_title_in_print(everything):
    everything.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    titles = everything.find_elements("tag name", "summary")
    shown = [one.is_displayed() for one in titles]
    everything.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert len(shown) >= 2
    assert all(shown)


def test_the_picture_of_the_page_is_not_empty(everything, tmp_path):
    shot = everything.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})["data"]
    assert len(b64decode(shot)) > 40_000
    first = everything.find_element("css selector", "main section")
    assert first.get_attribute("id") == "overview"
    assert first.is_displayed()


def test_circles_and_labels_of_the_map_do_not_cover_each_other(browser, tmp_path):
    rng = np.random.default_rng(0)
    n, words = 14, tuple(f"w{i:02}" for i in range(60))
    weights = rng.dirichlet(np.full(3, 0.4), n) @ rng.dirichlet(np.full(60, 0.1), 3)
    model = TopicModel(
        topic_word=weights, vocabulary=Vocabulary(words), topic_share=rng.dirichlet(np.ones(n)), alpha=0.1
    )
    names = [{"topic": k, "label": f"A name of topic {k}"} for k in range(n)]
    labels = {"labels": names, "model": "me", "topics": fingerprint(model.topic_word, model.vocabulary.words)}
    show(browser, tmp_path, page.render(release(model), labels=labels))
    assert len(browser.find_elements("css selector", ".map circle")) == n
    overlaps = """
        const boxes = [...document.querySelectorAll(arguments[0])].map((e) => e.getBBox());
        const over = (a, b) => a.x < b.x + b.width - 1 && b.x < a.x + a.width - 1
          && a.y < b.y + b.height - 3 && b.y < a.y + a.height - 3;
        return boxes.filter((a, i) => boxes.some((b, j) => i < j && over(a, b))).length;"""
    assert browser.execute_script(overlaps, ".map text") == 0
    assert len(browser.find_elements("css selector", ".map text")) > n / 2
    apart = """
        const at = (e) => [e.cx, e.cy, e.r].map((x) => x.baseVal.value);
        const c = [...document.querySelectorAll('.map circle')].map(at);
        return Math.min(...c.flatMap((a, i) => c.filter((_, j) => i < j).map(
          (b) => Math.hypot(a[0] - b[0], a[1] - b[1]) - a[2] - b[2])));"""
    assert browser.execute_script(apart) > -1
    assert browser.get_log("browser") == []


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The source of axe-core, fetched by name."""
    folder, npm = tmp_path_factory.mktemp("axe"), shutil.which("npm")
    got = npm and subprocess.run([npm, "pack", f"axe-core@{AXE}"], cwd=folder, capture_output=True, check=False)
    if not got or got.returncode:
        pytest.skip(NO_AXE)
    with tarfile.open(folder / f"axe-core-{AXE}.tgz") as packed:
        return packed.extractfile("package/axe.min.js").read().decode()


def pages(model):
    """Every kind of page."""
    ledger_free = release(model)
    yield "topics", page.render(ledger_free, labels=named(model), counts=counted(model))
    yield "counts and what changed", page.render(counted(model), before=counted(model))
    yield "answers", page.render(answers())
    yield "words", page.render(release(Vocabulary(("a", "knee"), (5.0, 4.0))))
    yield "none", page.render(replace(ledger_free, guarantee=replace(guarantee(), strength=Strength.NONE)))
    demo = demo_corpus()
    corpus = Corpus.from_texts(demo.texts[:900], demo.authors[:900])
    plan = Plan.topics(mechanism="atlas", n_topics=20, epsilon=1.0, delta=1e-6, unit=Unit.AUTHOR).build()
    yield "themes", page.render(charged(Unrecorded(), plan, corpus.bounded(), secure_rng()))


def answers():
    """Of how many people two things are true, with the mean of a number."""
    own = {"asked": ('{"mention": "pain"}', '{"question": "Is it about <b>bills</b>?"}')}
    return release(CountTable(
        axes=("question", "ward"), values=(("pain", "bills"), ("north", "south", "other")), noise=3.0,
        cube=cube(np.array([[90.0, 80, 0], [40, 60, 0]])), number="stars", number_range=(1.0, 5.0),
        numbers=cube(np.array([[9.0, 8, 0], [4, 6, 0]])), **own,
    ))  # fmt: skip


def test_answers_with_means(browser, tmp_path):
    show(browser, tmp_path, page.render(answers()))
    assert browser.find_element("tag name", "h1").text == "How many people, by question and ward"
    shown = browser.find_element("id", "overview").text
    assert "Is it about <b>bills</b>?" in shown
    assert '{"mention"' not in shown
    table = answers().value
    mean = table.mean(question="pain")
    assert f"pain {mean.value:.3g} ({mean.low:.3g} to {mean.high:.3g})" in Reader(page.render(answers())).words


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser, tmp_path, model, axe, scheme):
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    for name, text in pages(model):
        show(browser, tmp_path, text)
        browser.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        browser.execute_script(axe)
        found = browser.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
        wrong = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found["violations"]]
        assert wrong == [], name
        assert len(found["passes"]) > 10
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
