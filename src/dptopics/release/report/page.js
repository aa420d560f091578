"use strict";
// Draws the page's data. All text goes in by textContent: whatever a word holds, it stays a word.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children); // strings become text
    return node;
  }
  const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
  const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
  const number = (x) => (x === 0 ? "0" : x >= 0.001 && x < 1e6 ? String(Number(x.toPrecision(3))) : x.toExponential(1));
  const fold = (word) => word.toLocaleLowerCase().normalize("NFC");
  const SURE = 3; // deviations: words below may be there by chance

  // One row of bars: weight, its error bar (two deviations either way), and the mean of all topics as a tick.
  function row(word, weight, deviation, mean, scale, sought) {
    const bar = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    const x = (value) => Math.max(0, Math.min(100, (100 * value) / scale));
    bar.append(svg("rect", { class: "weight", x: 0, y: 1.5, width: x(weight), height: 7 }));
    if (mean !== null) bar.append(svg("rect", { class: "mean", x: Math.min(99, x(mean)), y: 0, width: 0.8, height: 10 }));
    if (deviation !== null) {
      const ends = { x1: x(weight - 2 * deviation), x2: x(weight + 2 * deviation) };
      bar.append(svg("line", { class: "error", ...ends, y1: 5, y2: 5 }));
      for (const end of [ends.x1, ends.x2]) bar.append(svg("line", { class: "error", x1: end, x2: end, y1: 2.5, y2: 7.5 }));
    }
    const doubtful = deviation !== null && weight < SURE * deviation;
    const line = el("tr", doubtful ? { class: "doubtful" } : {},
      el("th", { scope: "row", title: word }, el("bdi", {}, word)), el("td", { class: "bar" }, bar),
      el("td", { class: "number" }, number(weight)));
    if (deviation !== null) line.append(el("td", { class: "number" }, `± ${number(2 * deviation)}`));
    if (sought) line.classList.add("sought");
    return line;
  }

  function wordTable(caption, heads, rows) {
    const head = el("tr", {}, ...heads.map((name) => el("th", { scope: "col" }, name)));
    return el("table", { class: "words" }, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, ...rows));
  }

  function key(deviation, mean) {
    const line = el("p", { class: "key" });
    const add = (kind, text) => line.append(el("span", { class: `swatch ${kind}` }), text);
    add("weight", "weight");
    if (mean) add("mean", "mean of all topics");
    if (deviation) {
      if (!mean) add("doubtful", "may be chance: below three standard deviations of the noise");
      add("error", "error bar: two standard deviations of the noise either way");
    } else line.append(" · How large the noise is, is not known: no error bars.");
    return line;
  }

  function topicsPage() {
    const { topics, words, mean } = data;
    const state = { topic: 0, relevance: 0.6, word: -1 };
    const order = topics.map((_, k) => k).sort((a, b) => topics[b].share - topics[a].share);
    state.topic = order[0];
    const folded = words.map(fold);

    function best(k, relevance, n) {
      const topic = topics[k];
      return topic.words
        .map((word, i) => ({ word, weight: topic.weight[i],
          rank: Math.log(topic.weight[i]) - (1 - relevance) * Math.log(mean[word]) }))
        .sort((a, b) => b.rank - a.rank)
        .slice(0, n);
    }
    // The page holds no words of a topic but those above its noise.
    const listed = (k) => best(k, state.relevance, 8).map((w) => words[w.word]);
    const NONE = "no word above the noise";
    const sized = (k) => (topics[k].size ? `, ${topics[k].size} ${data.unit}` : "");
    // As many letters as a circle has room for, and half as many more.
    const short = (name, r) => (name.length * 4.5 <= 3 * r ? name : `${name.slice(0, Math.max(4, Math.floor(r / 1.5)))}…`);
    const weightOf = (k, word) => {
      const i = topics[k].words.indexOf(word);
      return i < 0 ? null : topics[k].weight[i];
    };

    // The map.
    const map = byId("map"), tip = byId("tip");
    map.append(svg("line", { class: "axis", x1: 300, x2: 300, y1: 0, y2: 600 }),
      svg("line", { class: "axis", x1: 0, x2: 600, y1: 300, y2: 300 }));
    const radius = (k) => Math.max(5, Math.min(90, 150 * Math.sqrt(topics[k].share)));
    const marks = [];
    for (const k of order) { // the large ones first, so that small ones lie on top
      const r = radius(k), at = topics[k].at.map((c, axis) => 300 + (axis ? -1 : 1) * c * (290 - Math.min(r, 90)));
      const mark = svg("g", { role: "button", tabindex: -1, transform: `translate(${at[0]} ${at[1]})` }, svg("circle", { r }));
      if (r > 9) mark.append(svg("text", {}, String(k)));
      const name = topics[k].label || listed(k)[0];
      if (r > 24 && name) mark.append(svg("text", { class: "name", y: Math.min(r - 8, 20) }, short(name, r)));
      mark.addEventListener("click", () => choose(k));
      mark.addEventListener("mouseenter", () => showTip(k));
      mark.addEventListener("mouseleave", () => { tip.hidden = true; });
      mark.addEventListener("focus", () => showTip(k));
      mark.addEventListener("blur", () => { tip.hidden = true; });
      mark.addEventListener("keydown", (event) => keys(event, k));
      marks[k] = mark;
      map.append(mark);
    }

    function keys(event, k) {
      const n = topics.length;
      const to = { ArrowRight: (k + 1) % n, ArrowDown: (k + 1) % n, ArrowLeft: (k + n - 1) % n, ArrowUp: (k + n - 1) % n,
        Home: 0, End: n - 1, Enter: k, " ": k }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      choose(to);
      marks[to].focus();
    }

    function showTip(k) {
      tip.replaceChildren(el("strong", {}, `Topic ${k}${topics[k].label ? `, ${topics[k].label}` : ""}${sized(k)}`), el("br"));
      listed(k).forEach((word, i) => tip.append(i ? ", " : "", el("bdi", {}, word)));
      if (!listed(k).length) tip.append(NONE);
      tip.hidden = false;
      const box = map.getBoundingClientRect(), mark = marks[k].getBoundingClientRect();
      const left = mark.left - box.left + mark.width / 2 - tip.offsetWidth / 2;
      const below = mark.bottom - box.top + 6;
      const top = below + tip.offsetHeight > box.height ? mark.top - box.top - tip.offsetHeight - 6 : below;
      tip.style.left = `${Math.max(0, Math.min(left, box.width - tip.offsetWidth))}px`;
      tip.style.top = `${Math.max(0, top)}px`;
    }

    // Controls.
    const select = byId("topic"), slider = byId("relevance"), search = byId("search"), found = byId("found");
    topics.forEach((_, k) => select.append(el("option", { value: k })));
    fill(slider, { min: 0, max: 1, step: 1 / data.steps }, []);
    slider.value = state.relevance;
    select.addEventListener("change", () => choose(Number(select.value)));
    byId("previous").addEventListener("click", () => choose((state.topic + topics.length - 1) % topics.length));
    byId("next").addEventListener("click", () => choose((state.topic + 1) % topics.length));
    slider.addEventListener("input", () => {
      state.relevance = Math.round(slider.value * data.steps) / data.steps;
      names();
      drawWords();
    });
    search.addEventListener("input", () => seek(search.value));

    function names() {
      byId("relevance-value").textContent = state.relevance.toFixed(1);
      topics.forEach((topic, k) => {
        const first = listed(k).slice(0, 3).map((word) => `\u2068${word}\u2069`); // each in its own direction
        select.options[k].textContent = `${k}: ${topic.label || first.join(", ") || NONE}`;
        marks[k].setAttribute("aria-label", `Topic ${k}${sized(k)}, words: ${listed(k).join(", ") || NONE}`);
      });
    }

    function choose(k) {
      state.topic = k;
      select.value = k;
      marks.forEach((mark, i) => fill(mark, { "aria-pressed": i === k, tabindex: i === k ? 0 : -1 }, []));
      drawWords();
    }

    function drawWords() {
      const topic = topics[state.topic], rows = best(state.topic, state.relevance, data.shown), d = topic.noise_std;
      const scale = Math.max(...rows.map((w) => Math.max(w.weight + 2 * (d ?? 0), mean[w.word])), 1e-12);
      const heads = ["Word", "", "Weight"].concat(d === null ? [] : ["Noise"]);
      const title = `Topic ${state.topic}${sized(state.topic)}`;
      if (!rows.length) {
        byId("words").replaceChildren(el("p", {}, `${title}: ${NONE}.`));
        return;
      }
      byId("words").replaceChildren(
        wordTable(title, heads, rows.map((w) => row(words[w.word], w.weight, d, mean[w.word], scale, w.word === state.word))),
        key(d !== null, true));
    }

    // Search: an exact word, else the most common that begins so, else that holds it.
    function seek(text) {
      const sought = fold(text.trim());
      state.word = -1;
      found.replaceChildren();
      map.classList.toggle("searching", sought !== "");
      marks.forEach((mark) => mark.classList.remove("hit"));
      if (sought !== "") {
        const quality = (w) => (folded[w] === sought ? 2 : folded[w].startsWith(sought) ? 1 : 0);
        const hits = words.map((_, w) => w).filter((w) => folded[w].includes(sought))
          .sort((a, b) => quality(b) - quality(a) || mean[b] - mean[a]);
        if (hits.length) pick(hits[0], hits.slice(1, 8));
        else found.append(`No topic has such a word among those shown here (${words.length} of ${data.total} words).`);
      }
      drawWords();
    }

    function pick(word, others) {
      state.word = word;
      const holders = topics.map((topic, k) => ({ k, weight: weightOf(k, word) }))
        .filter((h) => h.weight !== null)
        .map((h) => ({ ...h, part: h.weight * topics[h.k].share }))
        .sort((a, b) => b.part - a.part);
      const total = data.complete ? holders.reduce((sum, h) => sum + h.part, 0) : Math.max(mean[word], 1e-300);
      found.append(el("strong", {}, el("bdi", {}, words[word])), " is used most in topic");
      for (const h of holders.slice(0, 6)) {
        const go = el("button", { type: "button" }, `${h.k}: ${percent(Math.min(1, h.part / total))}`);
        go.addEventListener("click", () => choose(h.k));
        found.append(" ", go);
      }
      if (!data.complete) found.append(" (topics that have it among their words shown)");
      for (const h of holders) {
        const strong = Math.min(1, h.part / total);
        if (data.complete && strong < 0.02) continue;
        marks[h.k].classList.add("hit");
        marks[h.k].style.setProperty("--strong", String(0.15 + 0.8 * strong));
      }
      if (others.length) {
        found.append(" · also:");
        for (const other of others) {
          const go = el("button", { type: "button" }, el("bdi", {}, words[other]));
          go.addEventListener("click", () => { search.value = words[other]; seek(words[other]); });
          found.append(" ", go);
        }
      }
    }

    for (const line of document.querySelectorAll("tr[data-topic]")) {
      line.addEventListener("click", () => {
        choose(Number(line.dataset.topic));
        byId("topics").scrollIntoView();
      });
    }
    document.querySelector(".controls").hidden = false;
    byId("charts").hidden = false;
    names();
    choose(state.topic);
  }

  function tablePage() {
    const { words, weight, noise_std: deviation } = data, search = byId("search"), most = 200;
    const folded = words.map(fold);
    const ngrams = data.kind === "ngrams";
    function draw() {
      const sought = fold(search.value.trim());
      const hits = words.map((_, i) => i).filter((i) => folded[i].includes(sought));
      const shown = hits.slice(0, most);
      const cut = data.total > words.length ? `; the page holds ${words.length} of ${data.total}` : "";
      byId("found").textContent = `${hits.length} found, ${shown.length} shown${cut}.`;
      const caption = ngrams ? "N-grams, the most probable first" : weight ? "Words, the most used first" : "Words";
      if (!weight) {
        const lines = shown.map((i) => el("tr", {}, el("th", { scope: "row" }, el("bdi", {}, words[i]))));
        byId("words").replaceChildren(wordTable(caption, ["Word"], lines));
        return;
      }
      const d = (i) => (deviation ? deviation[i] : null);
      const scale = Math.max(...shown.map((i) => weight[i] + 2 * (d(i) ?? 0)), 1e-12);
      const heads = [ngrams ? "N-gram" : "Word", "", ngrams ? "Probability" : "Noisy weight"].concat(deviation ? ["Noise"] : []);
      const rows = shown.map((i) => row(words[i], weight[i], d(i), null, scale, false));
      byId("words").replaceChildren(wordTable(caption, heads, rows), key(Boolean(deviation), false));
    }
    search.addEventListener("input", draw);
    document.querySelector(".controls").hidden = false;
    draw();
  }

  if (data.kind !== "counts") (data.kind === "topics" ? topicsPage : tablePage)();
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
