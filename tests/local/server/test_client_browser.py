"""The page in a real browser: what it shows, what leaves it, what it keeps, and that nothing is drawn twice."""

import base64
import hashlib
import json
import os
import re
import shutil
import signal
import tempfile
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources

import numpy as np
import pytest
from collector_tools import collection, running, stored

from dptopics import Vocabulary
from dptopics.local.client import Client, InMemory
from dptopics.local.collection import Collection
from dptopics.local.hashing import HashedPair
from dptopics.local.report_files import Inbox
from dptopics.local.server.app import _PAGE, _PAGE_HEADERS, public_description
from dptopics.local.server.store import open_store
from dptopics.local.topics import fit_reports
from dptopics.privacy.rng import secure_rng

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
# The text is looked for by conftest.py, which says loudly that these tests were skipped.
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER),
    reason="no browser: install Chromium and its driver (Debian: chromium chromium-driver)",
)
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-dev-shm-usage", "--window-size=1000,1400", "--lang=en")  # fmt: skip
MADE = collection("pair")
SECRET = "My knee has a secret zanzibar rash"
FAST = "const clock = window.setTimeout; window.setTimeout = (work, pause) => clock(work, Math.min(pause, 20));"


def new_browser(*more, preferences=None):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.add_experimental_option("prefs", preferences or {})
    for flag in (*FLAGS, *more):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_page_load_timeout(60)
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": FAST})  # pauses between tries
    return driver


@pytest.fixture(scope="module")
def browser():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        driver = new_browser(f"--user-data-dir={folder}")
        try:
            yield driver
        finally:
            driver.quit()


class Survey:
    """A collector that does as it is told: 200, another status, or None to hang up without an answer."""

    def __init__(self, data):
        self.description, self.bodies, self.answers, self.importmap = data, [], [], None
        survey = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path == "/collection":
                    self.reply(200, json.dumps(survey.description).encode(), "application/json")
                elif self.path in _PAGE:
                    name, kind = _PAGE[self.path]
                    content = resources.files("dptopics").joinpath("resources", "collector", name).read_bytes()
                    headers = _PAGE_HEADERS
                    if survey.importmap is not None:  # a survey's own page
                        text = f'<script type="importmap">{survey.importmap}</script>\n<script type="module"'
                        content, headers = content.replace(b'<script type="module"', text.encode()), {}
                    self.reply(200, content, kind, headers)
                else:
                    self.reply(404, b"", "text/plain")

            def do_POST(self):
                survey.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                status = survey.answers.pop(0) if survey.answers else 200
                if status is None:
                    self.close_connection = True
                    return
                self.reply(status, b'{"accepted": 1, "refused": []}', "application/json")

            def reply(self, status, content, kind, headers=None):
                self.send_response(status)
                for name, value in {
                    "Content-Type": kind,
                    "Content-Length": str(len(content)),
                    **(headers or {}),
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://localhost:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def survey():
    one = Survey(public_description(MADE))
    yield one
    one.stop()


@pytest.fixture
def opened(browser, survey):
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get(survey.address)
    ready(browser)
    return browser


def ready(browser):
    until(lambda: "being fetched" not in status(browser) and browser.find_elements("css selector", "#card-lines li"))


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def status(browser):
    return browser.find_element("id", "status").text


DATABASE = """
  const [work, done] = arguments;
  const request = indexedDB.open("dptopics", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("kept");
  request.onsuccess = () => {
    const transaction = request.result.transaction("kept", "readwrite");
    const store = transaction.objectStore("kept");
    const found = work === null ? store.getAll() : store.put(work, "sent");
    const keys = store.getAllKeys();
    transaction.oncomplete = () => { request.result.close(); done([keys.result, found.result]); };
  };"""


def database(browser, put=None):
    """All that the page keeps, by name; or something put in the place of what was sent."""
    names, values = browser.execute_async_script(DATABASE, put)
    return {} if put is not None else dict(zip(names, values, strict=True))


def kept(browser):
    return json.loads(database(browser).get("sent", '{"sent": []}'))["sent"]


def answer(browser, text=SECRET, limit="5"):
    browser.find_element("id", "text").send_keys(text)
    browser.find_element("id", "limit").clear()
    browser.find_element("id", "limit").send_keys(limit)
    browser.find_element("id", "agree").click()
    browser.find_element("id", "send").click()


def requests_of(browser):
    found = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
            found.append(message["params"])
    return found


# --- what is shown, and what leaves ---


def test_only_the_randomised_report_leaves_the_page(opened, survey):
    answer(opened)
    until(lambda: "accepted" in status(opened))
    sent = requests_of(opened)
    where = {one["request"]["url"] for one in sent}
    assert where - {"data:,"} <= {survey.address + page for page in
                     ("", "page.js", "page.css", "dptopics-client.js", "collection", "reports")}  # fmt: skip
    text = json.dumps(sent).lower()
    for word in re.findall(r"\w{4,}", SECRET.lower()):
        assert word not in text, word
    (body,) = survey.bodies
    assert set(json.loads(body)) == {"collection", "version", "report", "data"}
    inbox = Inbox(MADE)
    inbox.add_lines([body.decode()])
    assert len(inbox.finish()) == 1
    (one,) = kept(opened)
    assert (one["epsilon"], one["accepted"], one["report"]) == (4, True, json.loads(body)["report"])
    storage = opened.execute_script("return JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
    assert (storage, opened.get_cookies()) == ("{}{}", [])
    storage = json.dumps(database(opened)).lower()
    assert set(database(opened)) == {"limit", "sent", "try"}
    assert not [word for word in ("knee", "zanzibar", "secret", "rash") if word in storage]
    assert opened.find_element("id", "text").get_attribute("value") == ""
    assert opened.get_log("browser") == []


GUESS = """
  const [guesses, done] = arguments;
  const request = indexedDB.open("dptopics", 1);
  request.onsuccess = () => {
    const found = request.result.transaction("kept").objectStore("kept").getAll();
    found.onsuccess = async () => {
      request.result.close();
      const text = JSON.stringify(found.result);
      const keys = [...new Set(text.match(/[0-9a-f]{32,}/g) ?? [])];
      const hex = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
      for (const guess of guesses) {
        const bytes = new TextEncoder().encode(guess);
        if (text.includes(hex(await crypto.subtle.digest("SHA-256", bytes)))) return done(guess);
        for (const key of keys) {
          const raw = Uint8Array.from(key.match(/../g), (byte) => parseInt(byte, 16));
          const mac = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
          if (text.includes(hex(await crypto.subtle.sign("HMAC", mac, bytes)))) return done(guess);
        }
      }
      done(null);
    };
  };"""


def test_a_later_page_cannot_test_guesses(opened, survey):
    """Whatever script this site serves next year sees what is kept: the randomised report, and no trace of the text."""
    answer(opened)
    until(lambda: "accepted" in status(opened))
    (one,) = kept(opened)
    assert set(one) == {"collection", "version", "epsilon", "report", "data", "accepted"}
    assert opened.execute_async_script(GUESS, ["another text", SECRET]) is None


def test_a_keyed_hash_that_was_kept_is_forgotten(opened, survey):
    one = {"collection": MADE.name, "version": MADE.version, "epsilon": 4, "digest": "0123456789abcdef" * 4,
           "report": "0" * 32, "data": "AAAAAAAAAAAAAAAA", "accepted": True}  # fmt: skip
    database(opened, json.dumps({"schema": 1, "sent": [one]}))
    opened.refresh()
    ready(opened)
    assert "accepted before" in status(opened)
    del one["digest"]
    assert kept(opened) == [one]


def test_the_page_shows_name_and_question(browser, survey):
    survey.description = public_description(replace(MADE, question="What <b>hurts</b> today?"))
    browser.get(survey.address)
    ready(browser)
    assert browser.find_element("tag name", "h1").text == browser.title == "Survey: survey"
    assert browser.find_element("id", "question").text == "What <b>hurts</b> today?"
    assert browser.find_element("id", "text").get_attribute("aria-describedby") == "question"
    browser.find_element("css selector", "[data-language=de]").click()
    assert browser.find_element("tag name", "h1").text == browser.title == "Umfrage: survey"
    assert browser.find_element("id", "question").text == "What <b>hurts</b> today?"


def test_the_card_in_two_languages(opened):
    assert not opened.find_element("id", "question").is_displayed()  # none was given
    lines = opened.find_element("id", "card").text
    assert "Your text stays on this device" in lines
    assert "with a chance of 49.8%" in lines
    assert "ε = 4. Whoever guesses what your text says can improve their odds at most 54.6-fold" in lines
    assert "so far: ε = 0. With this one: ε = 4." in lines
    assert "The collector keeps no time." in lines
    opened.find_element("css selector", "[data-language=de]").click()
    assert opened.find_element("tag name", "html").get_attribute("lang") == "de"
    lines = opened.find_element("id", "card").text
    assert "Ihr Text bleibt auf diesem Gerät" in lines
    assert "bisher: ε = 0. Mit diesem: ε = 4." in lines
    assert "höchstens auf das 54,6-Fache" in lines


def test_both_languages_say_everything():
    text = resources.files("dptopics").joinpath("resources", "collector", "page.js").read_text("utf-8")
    english, german = text[text.index("  en: {") :].split("  de: {")
    names = [re.findall(r'^    "?([\w-]+)"?:', part, re.M) for part in (english, german[: german.index("\n};")])]
    assert names[0] == names[1]
    client = resources.files("dptopics").joinpath("resources", "collector", "dptopics-client.js").read_text("utf-8")
    assert set(re.findall(r'ClientError\("([\w-]+)"', client)) <= set(names[0])


def test_nothing_is_sent_without_consent_text_or_limit(opened, survey):
    opened.find_element("id", "send").click()
    opened.find_element("id", "text").send_keys(SECRET)
    opened.find_element("id", "send").click()
    opened.find_element("id", "limit").send_keys("9")
    opened.find_element("id", "send").click()
    time.sleep(0.2)
    assert (survey.bodies, kept(opened)) == ([], [])


def test_a_limit_that_is_too_low_sends_nothing(opened, survey):
    answer(opened, limit="3.99")
    until(lambda: "more than your limit of 3.99. Nothing was sent" in status(opened))
    assert (survey.bodies, kept(opened)) == ([], [])


# --- nothing is drawn twice ---


def test_retries_bring_the_same_bytes(opened, survey):
    survey.answers = [503, None, 429]
    answer(opened)
    until(lambda: "accepted" in status(opened))
    assert len(survey.bodies) >= 4  # a browser itself tries once more where the connection was dropped
    assert len(set(survey.bodies)) == 1


@pytest.mark.parametrize("lost", [[503] * 5, [None] * 20])
def test_a_page_loaded_again_sends_what_was_drawn(opened, survey, lost):
    """Kept, and sent or not, but never acknowledged: a new page offers the same bytes, and no second draw."""
    survey.answers = list(lost)
    answer(opened)
    until(lambda: "cannot be reached" in status(opened))
    (before,) = kept(opened)
    assert before["accepted"] is False
    for _ in range(2):
        opened.refresh()
        ready(opened)
        assert "has not answered yet" in status(opened)
        assert not opened.find_element("id", "send").is_enabled()
        assert "so far: ε = 4. With this one: ε = 4." in opened.find_element("id", "card").text
    survey.answers = []
    opened.find_element("id", "again").click()
    until(lambda: "accepted" in status(opened))
    assert len(set(survey.bodies)) == 1
    assert kept(opened) == [before | {"accepted": True}]
    opened.refresh()
    ready(opened)
    assert "accepted before" in status(opened)
    assert not opened.find_element("id", "again").is_displayed()
    assert not opened.find_element("id", "send").is_enabled()


PUT = "const put = IDBObjectStore.prototype.put; IDBObjectStore.prototype.put = function (value, key) "
STEPS = {
    "before the draw": "const old = crypto.getRandomValues; crypto.getRandomValues = () => { throw Error('gone'); };",
    "before it is kept": PUT + "{ if (key === 'sent') throw Error('gone'); return put.call(this, value, key); };",
    "before it is sent": "window.fetch = () => new Promise(() => {});",
    "before the answer": "const old = fetch; window.fetch = (...all) => old(...all).then(() => new Promise(() => {}));",
    "before it is marked": PUT + "{ if (!value.includes('\"accepted\":true')) return put.call(this, value, key); };",
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_a_reload_at_every_point(opened, survey, step):
    opened.execute_script(STEPS[step])
    answer(opened)
    drawn = step in ("before it is sent", "before the answer", "before it is marked")
    until(lambda: bool(kept(opened)) is drawn and status(opened))
    if step in ("before the answer", "before it is marked"):
        until(lambda: survey.bodies)
    first = kept(opened)
    opened.refresh()
    ready(opened)
    if drawn:
        opened.find_element("id", "again").click()
    else:
        assert survey.bodies == []
        answer(opened)
    until(lambda: "Your report was accepted" in status(opened))
    (one,) = kept(opened)
    assert not first or first[0] | {"accepted": True} == one
    assert len(set(survey.bodies)) == 1


def test_what_was_drawn_is_on_disk_before_it_is_sent(opened, survey):
    """The write asks for the disk, and is complete before the report leaves."""
    opened.execute_script("""
      window.seen = [];
      const open = IDBDatabase.prototype.transaction;
      IDBDatabase.prototype.transaction = function (stores, mode, options) {
        const made = open.call(this, stores, mode, options);
        if (mode === "readwrite") made.addEventListener("complete", () => seen.push(made.durability));
        return made;
      };
      const old = fetch; window.fetch = (...all) => { seen.push("sent"); return old(...all); };""")
    answer(opened)
    until(lambda: "accepted" in status(opened))
    # a try, the limit, the report; then it is sent; then it is marked as accepted
    assert opened.execute_script("return seen") == ["strict", "strict", "strict", "sent", "strict"]


def test_a_browser_that_is_killed_remembers_what_it_sent(survey):
    """SIGKILL when the report has just left. Local storage, which browsers write down later, forgets it."""
    survey.answers = [None] * 20
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        driver = new_browser(f"--user-data-dir={folder}")
        try:
            driver.get(survey.address)
            ready(driver)
            answer(driver)
            until(lambda: survey.bodies)
            os.kill(driver.capabilities["goog:processID"], signal.SIGKILL)
        finally:
            driver.service.stop()
        survey.answers = []
        driver = new_browser(f"--user-data-dir={folder}")
        try:
            driver.get(survey.address)
            ready(driver)
            assert "has not answered yet" in status(driver)
            driver.find_element("id", "again").click()
            until(lambda: "accepted" in status(driver))
        finally:
            driver.quit()
    assert len(set(survey.bodies)) == 1


# --- which client it is ---


def test_the_page_shows_which_client_randomises(opened, survey):
    content = resources.files("dptopics").joinpath("resources", "collector", "dptopics-client.js").read_bytes()
    wanted = "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode()
    assert survey.description["client"] == wanted
    shown = opened.find_element("id", "client").text
    assert f"has the fingerprint {wanted}. The collector names the same one" in shown
    survey.description = survey.description | {"client": "sha256-another"}
    opened.refresh()
    ready(opened)
    assert f"{wanted}. The collector names another one" in opened.find_element("id", "client").text


@pytest.mark.parametrize("pinned", ["the right hash", "another hash"])
def test_a_survey_may_pin_the_client(browser, survey, pinned):
    """As the howto says: an import map with the hash, on the survey's own page."""
    hash_ = survey.description["client"] if pinned == "the right hash" else "sha256-" + 43 * "A" + "="
    survey.importmap = json.dumps({"integrity": {"./dptopics-client.js": hash_}})
    browser.get(survey.address)
    if pinned == "the right hash":
        ready(browser)
        assert browser.find_element("id", "send").is_enabled()
    else:
        until(lambda: "integrity" in json.dumps(browser.get_log("browser")))
        assert not browser.find_element("id", "send").is_enabled()
        assert browser.find_elements("css selector", "#card-lines li") == []


def test_a_survey_gets_one_report_whatever_the_text(opened, survey):
    script = """
      const done = arguments[arguments.length - 1];
      import("/dptopics-client.js").then(async (m) => {
        const survey = await m.fetchCollection(location.href);
        const client = await m.Client.open({ maxEpsilon: 100 });
        const many = await Promise.all([1, 2, 3, 4].map(() => client.report(survey, "knee")));
        many.push(await client.report(survey, "skin"));
        const other = await client.report({ ...survey, version: "2" }, "knee").catch((error) => error.code);
        const forged = await client.send(location.href, { ...many[0], data: "AAAA" }).catch((error) => error.code);
        const { total } = await client.card(survey);
        done([new Set(many.map((one) => one.report + one.data)).size, total, other, forged]);
      });"""
    assert opened.execute_async_script(script) == [1, 4, "sent-already", "not-kept"]
    assert survey.bodies == []


def test_a_text_typed_after_another_tab_answered_is_not_taken_for_sent(opened, survey):
    script = """
      const done = arguments[arguments.length - 1];
      import("/dptopics-client.js").then(async (m) => {
        const client = await m.Client.open({ maxEpsilon: 100 });
        await client.report(await m.fetchCollection(location.href), "knee");
        done();
      });"""
    opened.execute_async_script(script)
    answer(opened)
    until(lambda: "has not answered yet" in status(opened))
    assert survey.bodies == []


def test_weeks_add_up_until_the_limit(opened, survey):
    """A person who is asked every week: each is a collection of its own, and the client stops at the person's limit."""
    script = """
      const done = arguments[arguments.length - 1];
      import("/dptopics-client.js").then(async (m) => {
        const survey = await m.fetchCollection(location.href);
        const client = await m.Client.open({ maxEpsilon: 8 });
        const codes = [];
        for (const week of ["week-1", "week-2", "week-3"]) {
          await client.report({ ...survey, collection: week }, "knee").then(() => codes.push("drawn"),
                                                                          (error) => codes.push(error.code));
        }
        done([codes, (await client.card(survey)).total]);
      });"""
    assert opened.execute_async_script(script) == [["drawn", "drawn", "over-limit"], 8]


# --- browsers that cannot ---


@pytest.mark.parametrize("break_it, said", [
    ("Object.defineProperty(window, 'crypto', { value: undefined });", "no secure randomness"),
    ("Object.defineProperty(Crypto.prototype, 'subtle', { get: () => undefined });", "no secure randomness"),
    ("Object.defineProperty(window, 'indexedDB', { get() { throw new DOMException('no', 'SecurityError'); } });",
     "keeps nothing for this page"),
    ("IDBFactory.prototype.open = () => { throw new DOMException('no', 'SecurityError'); };",
     "keeps nothing for this page"),
    ("IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); };",
     "keeps nothing for this page"),
    ("Object.defineProperty(Navigator.prototype, 'locks', { get: () => undefined });", "too old"),
    ("delete IDBTransaction.prototype.durability;", "too old"),
])  # fmt: skip
def test_browsers_that_cannot_keep_the_promise_send_nothing(browser, survey, break_it, said):
    found = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": break_it})
    try:
        browser.get(survey.address)
        until(lambda: said in status(browser))
        assert not browser.find_element("id", "send").is_enabled()
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": found["identifier"]})
    assert survey.bodies == []


def test_a_memory_that_cannot_be_read_sends_nothing(opened, survey):
    database(opened, "{oops")
    opened.refresh()
    until(lambda: "Treat your limit as reached" in status(opened))
    assert not opened.find_element("id", "send").is_enabled()
    assert survey.bodies == []


def test_storage_that_the_person_forbade(survey):
    """Chromium's own setting, and no script: cookies and site data are blocked."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        driver = new_browser(
            f"--user-data-dir={folder}", preferences={"profile.default_content_setting_values.cookies": 2}
        )
        try:
            driver.get(survey.address)
            until(lambda: "keeps nothing for this page" in status(driver))
            assert not driver.find_element("id", "send").is_enabled()
        finally:
            driver.quit()
    assert survey.bodies == []


def test_a_clock_that_is_wrong_changes_nothing(browser, survey):
    """The device's clock is never asked: the page works in 1970 and in 2099, and sends no time."""
    survey.description = survey.description | {"period": "week"}
    for year in (1970, 2099):
        clock = f"const old = Date; Date = class extends old {{ constructor() {{ super('{year}-01-01'); }} "
        clock += f"static now() {{ return old.parse('{year}-01-01'); }} }};"
        found = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": clock})
        try:
            browser.get(survey.address)
            ready(browser)
        finally:
            browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": found["identifier"]})
        assert browser.execute_script("return new Date().getFullYear()") == year
        assert "keeps the week in which your report comes, and no finer time" in browser.find_element("id", "card").text
        if not survey.bodies:
            answer(browser)
        until(lambda: "accepted" in status(browser))
    assert len(survey.bodies) == 1
    assert set(json.loads(survey.bodies[0])) == {"collection", "version", "report", "data"}


@pytest.mark.parametrize("change, said", [
    ({"schema": 2}, "newer than this page"),
    ({"kind": "all-of-it"}, "does not know"),
    ({"words": []}, "damaged"),
    ({"period": "second"}, "does not know"),
    ({"question": ["what"]}, "damaged"),
    ({"settings": {"epsilon": -1.0, "topics": [["knee"]]}}, "damaged"),
])  # fmt: skip
def test_surveys_that_are_not_understood(browser, survey, change, said):
    survey.description = survey.description | change
    browser.get(survey.address)
    until(lambda: said in status(browser))
    assert not browser.find_element("id", "send").is_enabled()


# --- for everybody ---


def test_it_works_with_the_keyboard_alone(opened, survey):
    from selenium.webdriver.common.keys import Keys

    order = []
    opened.execute_script("document.body.focus()")
    active = opened.switch_to.active_element
    for _ in range(6):
        active.send_keys(Keys.TAB)
        active = opened.switch_to.active_element
        order.append(active.get_attribute("id") or active.get_attribute("data-language"))
        if order[-1] == "text":
            active.send_keys("knee")
        elif order[-1] == "limit":
            active.send_keys("4")
        elif order[-1] == "agree":
            active.send_keys(Keys.SPACE)
    assert order == ["en", "de", "text", "limit", "agree", "send"]
    active.send_keys(Keys.ENTER)
    until(lambda: "accepted" in status(opened))
    assert len(survey.bodies) == 1


def test_names_and_roles_for_screen_readers(opened):
    tree = opened.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    found = {(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node["ignored"]}
    for wanted in (("textbox", "Your answer"), ("button", "Randomise here and send"), ("main", ""),
                   ("heading", "Survey: survey"), ("region", "What is sent, and what it reveals"),
                   ("checkbox", "I have read this, and I want to send one report.")):  # fmt: skip
        assert wanted in found, wanted
    assert "status" in {role for role, _ in found}
    assert [name for role, name in found if role in ("button", "textbox", "checkbox", "spinbutton") and not name] == []


CONTRAST = """
  const light = (colour) => { const [r, g, b] = colour.match(/[\\d.]+/g).map((v) => { v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (part) => { for (; part; part = part.parentElement) {
    const found = getComputedStyle(part).backgroundColor;
    if (!/, 0\\)$/.test(found)) return found; } };
  return [...document.querySelectorAll('h1, h2, p, li, label, button, textarea, input')]
    .filter((part) => part.offsetParent).map((part) => {
      const pair = [light(getComputedStyle(part).color), light(behind(part))].sort((a, b) => b - a);
      return (pair[0] + 0.05) / (pair[1] + 0.05); });"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(opened, scheme):
    features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
    ratios = opened.execute_script(CONTRAST)
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert len(ratios) > 10
    assert min(ratios) >= 4.5  # WCAG 2.2, level AA


# --- end to end ---


def test_two_thousand_people_in_the_browser(browser, tmp_path):
    topics = (("skin", "rash", "itching", "cream"), ("appointment", "week", "monday", "slot"),
              ("sugar", "insulin", "glucose", "diabetes"))  # fmt: skip
    words = Vocabulary.of([word for topic in topics for word in topic] + ["scalp", "available", "fasting", "knee"])
    invented = np.random.default_rng(0)
    texts = [" ".join(invented.choice(topics[k], 3)) for k in invented.integers(0, 3, 2000)]
    made = Collection(name="people", randomizer=HashedPair(vocabulary=words, topics=topics, epsilon=4.0))
    where = str(tmp_path / "reports.db")
    script = """
      const [texts, done] = arguments;
      import("/dptopics-client.js").then(async (m) => {
        const survey = await m.fetchCollection(location.href);
        const person = async (text) => {
          const kept = new Map();
          const memory = { read: async (k) => kept.get(k) ?? null, write: async (k, v) => { kept.set(k, v); } };
          const client = await m.Client.open({ maxEpsilon: 4, memory });
          await client.send(location.href, await client.report(survey, text));
        };
        for (let i = 0; i < texts.length; i += 50) await Promise.all(texts.slice(i, i + 50).map(person));
        done("sent");
      }).catch((error) => done(String(error)));"""
    with running(tmp_path, made, where, "--page", "--per-minute", "100000") as server:
        browser.get(f"http://localhost:{server.port}/")
        ready(browser)
        browser.set_script_timeout(120)
        assert browser.execute_async_script(script, texts) == "sent"
        inbox = Inbox(made)
        inbox.read(where)  # while it runs
        assert browser.get_log("browser") == []
        assert server.stop() == (0, "")
    found = fit_reports(made, inbox.finish()).value
    with open_store(where, made, create=False) as store:
        assert len(stored(store)) == 2000
    rng = secure_rng()
    sent = [Client(InMemory(), max_epsilon=4.0).report(made, text, rng).data for text in texts]
    wanted = fit_reports(made, np.frombuffer(b"".join(sent), np.uint8).reshape(2000, -1)).value
    assert np.abs(found.topic_share - wanted.topic_share).max() < 0.1
    for k, topic in enumerate(topics):
        for model in (found, wanted):
            assert len(set(model.top_words(4)[k]) & set(topic)) == 4, (k, model.top_words(4)[k])
