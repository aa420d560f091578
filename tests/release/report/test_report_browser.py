"""The page in a real browser: slider, search, hover, keyboard, printing, and no word of complaint in its console."""

import json
import shutil
import tempfile
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

from charging import charged
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
    secure_rng,
)
from dptopics.audit.membership.attack import audit_membership
from dptopics.audit.membership.models import of_mechanism
from dptopics.ledger.ledger import Unrecorded
from dptopics.plan import Plan
from dptopics.privacy import events as ev
from dptopics.public.demo import demo_corpus
from dptopics.release import report as page
from dptopics.release.margins import cube
from dptopics.release.release import mechanism_settings
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


def words_shown(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('#words tbody th bdi')].map((e) => e.innerText)"
    )


def slide(browser, to):
    script = (
        "const s = document.getElementById('relevance'); s.value = arguments[0]; s.dispatchEvent(new Event('input'));"
    )
    browser.execute_script(script, to)


def test_the_slider_orders_words_as_the_library_does(opened, model):
    seen = []
    for relevance in (0.0, 0.3, 0.6, 1.0):
        slide(opened, relevance)
        expected = model.top_words(30, relevance=relevance)[0]
        assert words_shown(opened) == [" ".join(w.split()) for w in expected]
        seen.append(words_shown(opened))
        assert opened.find_element("id", "relevance-value").text == f"{relevance:.1f}"
    assert seen[0] != seen[-1]


def test_the_slider_works_by_keyboard(opened):
    slider = opened.find_element("id", "relevance")
    slider.send_keys("\ue012")  # arrow left
    assert opened.find_element("id", "relevance-value").text == "0.5"


def test_search_finds_a_word_across_topics(opened):
    opened.find_element("id", "search").send_keys("knee")
    hits = opened.find_elements("css selector", "#map g.hit")
    assert [hit.get_attribute("aria-label").split(",")[0] for hit in hits] == ["Topic 2"]
    buttons = opened.find_elements("css selector", "#found button")
    assert buttons[0].text.startswith("2: 100")
    assert "kneecap" in [b.text for b in buttons]  # also found
    buttons[0].click()
    assert "Topic 2" in opened.find_element("css selector", "#words caption").text
    assert opened.find_element("css selector", "#words tr.sought bdi").text == "knee"
    opened.find_element("id", "search").clear()
    opened.find_element("id", "search").send_keys("nowhere")
    assert "No topic has such a word" in opened.find_element("id", "found").text


def test_hover_and_focus_show_the_words(opened, model):
    from selenium.webdriver import ActionChains

    tip = opened.find_element("id", "tip")
    assert not tip.is_displayed()
    mark = opened.find_element("css selector", "#map g[aria-label^='Topic 3,']")
    ActionChains(opened).move_to_element(mark).perform()
    assert tip.is_displayed()
    assert tip.text.startswith("Topic 3, 150 (140 to 160) authors")
    assert " ".join(model.top_words(1)[3][0].split()) in tip.text
    ActionChains(opened).move_to_element(opened.find_element("id", "search")).perform()
    assert not tip.is_displayed()


def test_the_map_works_by_keyboard(opened):
    chosen = opened.find_element("css selector", "#map g[tabindex='0']")
    assert chosen.get_attribute("aria-pressed") == "true"
    chosen.send_keys("\ue014")  # arrow right
    now = opened.switch_to.active_element
    assert now.get_attribute("aria-label").startswith("Topic 1,")
    assert "Topic 1" in opened.find_element("css selector", "#words caption").text
    assert len(opened.find_elements("css selector", "#map g[tabindex='0']")) == 1
    assert opened.find_element("id", "tip").is_displayed()


def test_words_are_words_and_never_markup(opened, model):
    seen = set()
    for _ in range(5):
        for relevance in (0.0, 0.5, 1.0):
            slide(opened, relevance)
            seen |= set(words_shown(opened))
        opened.find_element("id", "next").click()
    assert set(EVIL) <= seen
    for word in EVIL:
        opened.find_element("id", "search").clear()
        opened.find_element("id", "search").send_keys(word)
        assert opened.find_element("css selector", "#found bdi").text == word
    assert opened.execute_script("return window.evil") is None
    assert opened.find_elements("css selector", "img") == []
    assert len(opened.find_elements("css selector", "script")) == 2


def test_error_bars_are_two_deviations_of_the_noise(opened, model):
    slide(opened, 1.0)
    top = model.topic_word[0].max()
    ends = opened.find_elements("css selector", "#words tbody tr:first-child line.error")[0]
    low, high = float(ends.get_attribute("x1")), float(ends.get_attribute("x2"))
    assert low / high == pytest.approx((top - 0.008) / (top + 0.008), rel=1e-3)


def test_noise_is_never_shown_as_words(opened, browser, tmp_path, model):
    slide(opened, 1.0)
    assert len(words_shown(opened)) == np.count_nonzero(model.topic_word[0] >= 3 * 0.004) < 30
    # Of few people: no word stands above the noise, in tables, menus, on the map and in what is read aloud.
    show(browser, tmp_path, page.render(release(replace(model, noise_std=np.full(5, 60.0)))))
    assert words_shown(browser) == []
    everything = browser.execute_script(
        "return [document.body.innerText, ...document.querySelectorAll('[aria-label], option')]"
        ".map((e) => e.innerText || e.getAttribute?.('aria-label') || e).join(' ')"
    ) + browser.find_element("id", "data").get_attribute("textContent")
    assert not [word for word in model.vocabulary.words if word in everything and len(word) > 3]
    assert "no word above the noise" in everything


@pytest.mark.parametrize("scheme, dark", [("light", False), ("dark", True)])
def test_light_and_dark(opened, scheme, dark):
    features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
    colour = opened.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(json.loads(f"[{colour[4:-1]}]")) < 200) is dark
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_it_prints_with_all_topics(opened):
    assert len(opened.execute_cdp_cmd("Page.printToPDF", {})["data"]) > 10_000
    assert opened.find_element("id", "all-topics").get_attribute("open")


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


def test_counts_are_an_overview_and_maps(browser, tmp_path):
    table = CountTable(
        axes=("topic", "ward"),
        values=(("0", "1"), ("north", EVIL[0])),
        cube=cube(np.array([[90.0, 10.0], [np.nan, 60.0]])),
        noise=2.0,
    )
    show(browser, tmp_path, page.render(release(table)))
    cells = browser.find_elements("css selector", ".heat td")
    assert [cell.text for cell in cells] == ["90", "10", "", "60"]
    assert cells[0].get_attribute("title") == "86 to 94 (95 %)"
    assert browser.execute_script("return window.evil") is None
    assert browser.get_log("browser") == []


def test_the_demo_with_its_audit(browser, tmp_path):
    demo = demo_corpus()
    corpus = Corpus.from_texts(demo.texts[:3000], demo.authors[:3000])
    plan = Plan.topics(
        mechanism="variational", vocabulary="weighted", n_topics=4, epsilon=8.0, delta=1e-6, unit=Unit.AUTHOR, steps=3
    ).build()
    made = charged(Unrecorded(), plan, corpus.bounded(), secure_rng())
    audit = audit_membership(
        of_mechanism(plan, corpus), corpus, n_shadows=4, by_author=True, claim=plan.guarantee,
        settings={"mechanism": mechanism_settings(plan)},
    )  # fmt: skip
    show(browser, tmp_path, page.render(made, audit=audit.to_dict()))
    word = made.value.top_words(1, relevance=1.0)[2][0]
    browser.find_element("id", "search").send_keys(word)
    assert browser.find_element("css selector", "#found bdi").text == word
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
    assert len(browser.find_elements("css selector", "#map g")) == 500
    browser.find_element("id", "search").send_keys("w007")
    assert browser.find_elements("css selector", "#map g.hit")
    assert "not known" in browser.find_element("css selector", ".key").text
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
        "return [...document.querySelectorAll('#words td.bar')].map((e) => e.getBoundingClientRect().width)"
    )
    assert min(bars) >= 150
    charts = everything.execute_script(
        "return [...document.querySelectorAll('.multiples svg')].map((e) => e.getBoundingClientRect().width)"
    )
    assert len(charts) == 5
    assert min(charts) >= 200


def test_the_picture_of_the_page_is_not_empty(everything, tmp_path):
    shot = everything.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})["data"]
    assert len(b64decode(shot)) > 40_000
    first = everything.find_element("css selector", "main section")
    assert first.get_attribute("id") == "overview"
    assert first.is_displayed()


def test_circles_carry_names_and_the_overview_leads_to_them(everything):
    names = everything.execute_script(
        "return [...document.querySelectorAll('#map text.name')].map((e) => e.textContent)"
    )
    assert "skin" in names
    row = everything.find_element("css selector", "tr[data-topic='2']")
    everything.execute_script("arguments[0].click()", row)
    assert everything.find_element("css selector", "#words caption").text.startswith("Topic 2")
    assert len(everything.find_elements("css selector", ".tree text")) == 5
