"use strict";
// Search, order of words and the map; without it the page shows all but the map. All text goes in by textContent:
// whatever a word holds, it stays a word.
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
  const fold = (word) => word.toLocaleLowerCase().normalize("NFC");
  const short = (x) => String(Number(x.toPrecision(2)));

  // As charts.bars draws them.
  function bars(rows) {
    const scale = Math.max(1e-12, ...rows.map((row) => row.weight + 2 * (row.noise ?? 0)));
    const at = (x) => Math.max(0, Math.min(100, (100 * x) / scale)).toFixed(2);
    return el("ol", { class: "bars", role: "list" }, ...rows.map(({ word, weight, noise, shown, interval, sought }) => {
      const bar = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("path", { class: "size", d: `M0 1.5H${at(weight)}V8.5H0Z` }));
      if (noise !== null) {
        const [a, b] = [at(weight - 2 * noise), at(weight + 2 * noise)];
        bar.append(svg("path", { class: "error", d: `M${a} 2.5V7.5M${a} 5H${b}M${b} 2.5V7.5` }));
      }
      return el("li", sought ? { class: "sought" } : {}, el("span", { class: "name" }, el("bdi", {}, word)), bar, " ",
        el("b", {}, shown), " ", el("span", {}, interval));
    }));
  }

  function wordsOfTopics() {
    const { topics, words, mean, listed } = data;
    const figures = [...document.querySelectorAll("#words figure")];
    const slider = byId("relevance"), search = byId("search"), many = byId("many"), found = byId("found");
    const folded = words.map(fold);
    fill(slider, { min: 0, max: 1, step: 1 / data.steps }, []);
    slider.value = 0.6;

    function draw() {
      const relevance = Math.round(slider.value * data.steps) / data.steps;
      const sought = fold(search.value.trim());
      byId("relevance-value").textContent = relevance.toFixed(1);
      let topicsFound = 0;
      listed.forEach((k, i) => {
        const topic = topics[k], noise = topic.noise_std;
        const rows = topic.words
          .map((w, j) => ({ w, weight: topic.weight[j],
            rank: Math.log(topic.weight[j]) - (1 - relevance) * Math.log(mean[w]) }))
          .filter(({ w }) => folded[w].includes(sought))
          .sort((a, b) => b.rank - a.rank)
          .slice(0, Number(many.value))
          .map(({ w, weight }) => ({ word: words[w], weight, noise, sought: sought !== "",
            shown: `${short(100 * weight)} %`, interval: noise === null ? "" : `± ${short(200 * noise)}` }));
        figures[i].querySelector("ol").replaceWith(bars(rows));
        figures[i].hidden = !rows.length;
        topicsFound += rows.length > 0;
      });
      const held = words.length < data.total ? `; the page holds ${words.length} of ${data.total} words` : "";
      found.textContent = sought === "" ? "" : `${topicsFound} of ${topics.length} topics have such a word${held}.`;
    }
    for (const control of [slider, search, many]) control.addEventListener("input", draw);
    document.querySelector(".controls").hidden = false;
    byId("relevance-value").textContent = "0.6";
  }

  // Circles by share, moved apart where they overlap; each label at the first place where it covers nothing.
  function map() {
    const [wide, high, edge] = [900, 560, 12];
    const drawing = document.querySelector("svg.map");
    const marks = data.topics.map((topic, k) => {
      const r = Math.max(5, Math.min(60, 110 * Math.sqrt(topic.share)));
      return { k, r, x: wide / 2 + topic.at[0] * (wide / 2 - 130), y: high / 2 - topic.at[1] * (high / 2 - 70) };
    });
    for (let round = 0; round < 200; round++) {
      for (const a of marks) for (const b of marks) {
        if (a.k >= b.k) continue;
        const [dx, dy] = [b.x - a.x || 0.1 * (b.k - a.k), b.y - a.y], apart = Math.hypot(dx, dy);
        const push = (a.r + b.r + 3 - apart) / 2;
        if (push <= 0) continue;
        a.x -= (push * dx) / apart; b.x += (push * dx) / apart;
        a.y -= (push * dy) / apart; b.y += (push * dy) / apart;
      }
      for (const a of marks) {
        a.x = Math.max(a.r + edge, Math.min(wide - a.r - edge, a.x));
        a.y = Math.max(a.r + edge, Math.min(high - a.r - edge, a.y));
      }
    }
    const taken = marks.map(({ x, y, r }) => [x - r, y - r, x + r, y + r]);
    for (const { x, y, r } of marks) drawing.append(svg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: r.toFixed(1) }));
    for (const mark of [...marks].sort((a, b) => b.r - a.r)) {
      const name = data.topics[mark.k].label || data.topics[mark.k].first.slice(0, 2).map((w) => data.words[w]).join(", ");
      const text = svg("text", {}, name.length > 34 ? `${name.slice(0, 33)}…` : name);
      drawing.append(text);
      const size = text.getBBox(), own = taken[mark.k];
      const places = [[0, 5, "middle"], [mark.r + 5, 5, "start"], [-mark.r - 5, 5, "end"], [0, -mark.r - 6, "middle"],
        [0, mark.r + 17, "middle"], [0.75 * mark.r + 4, -0.75 * mark.r - 3, "start"], [-0.75 * mark.r - 4, -0.75 * mark.r - 3, "end"],
        [0.75 * mark.r + 4, 0.75 * mark.r + 13, "start"], [-0.75 * mark.r - 4, 0.75 * mark.r + 13, "end"]];
      const free = places.some(([dx, dy, anchor]) => {
        const left = mark.x + dx - { start: 0, middle: 0.5, end: 1 }[anchor] * size.width, top = mark.y + dy - 13;
        const box = [left, top, left + size.width, top + 17];
        const inside = box[0] > own[0] && box[2] < own[2];
        const hit = (other) => other !== own && box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1];
        if (box[0] < 2 || box[2] > wide - 2 || box[1] < 0 || box[3] > high || taken.some(hit)) return false;
        if (dx === 0 && dy === 5 && !inside) return false;
        fill(text, { x: (mark.x + dx).toFixed(1), y: (mark.y + dy).toFixed(1), "text-anchor": anchor }, []);
        taken.push(box);
        return true;
      });
      if (!free) text.remove();
    }
  }

  function tablePage() {
    const { words, weight, noise_std: noise } = data, search = byId("search"), most = 200;
    const folded = words.map(fold), ngrams = data.kind === "ngrams";
    const number = (x) => (x === 0 ? "0" : x >= 0.001 && x < 1e6 ? String(Number(x.toPrecision(3))) : x.toExponential(1));
    function draw() {
      const sought = fold(search.value.trim());
      const hits = words.map((_, i) => i).filter((i) => folded[i].includes(sought));
      const shown = hits.slice(0, most);
      const cut = data.total > words.length ? `; the page holds ${words.length} of ${data.total}` : "";
      byId("found").textContent = `${hits.length} found, ${shown.length} shown${cut}.`;
      if (!weight) {
        const lines = shown.map((i) => el("li", {}, el("bdi", {}, words[i])));
        byId("list").replaceChildren(el("ul", { class: "plain", role: "list" }, ...lines));
        return;
      }
      const about = `${ngrams ? "Probability" : "Noisy weight"}${noise ? ", with two standard deviations of the noise" : ""}`;
      const rows = shown.map((i) => ({ word: words[i], weight: weight[i], noise: noise ? noise[i] : null,
        shown: number(weight[i]), interval: noise ? `± ${number(2 * noise[i])}` : "" }));
      byId("list").replaceChildren(el("p", { class: "axis" }, about), bars(rows));
    }
    search.addEventListener("input", draw);
    document.querySelector(".controls").hidden = false;
    draw();
  }

  if (data.kind === "topics") {
    if (byId("search")) wordsOfTopics();
    if (byId("map")) map();
  } else if (data.kind !== "counts") tablePage();
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
