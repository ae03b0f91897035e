/* The Cluster panel in a browser: draws the traits of kit/panel/panel.py, sends back presses.

   Nothing is decided here.  `scene` says what to draw, `timeline` which frames there are,
   `position` which of them is in view (-1: now), `notice` what a button had to say.  The page
   is described as a tree of `h(tag, attributes, ...children)`; `patch` makes the document agree
   with it and keeps elements by their key, and with them focus and motion. */

const NOW = -1;
const WATCH_MS = 4000;
const PLAY_MS = 900;
const EPOCH_COLOURS = 6;

/* ---- a tree, and the document that follows it ---------------------------------------- */

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set("svg g rect text path line circle defs pattern title".split(" "));

const h = (tag, attributes, ...children) => ({ tag, attributes, children });

function patch(parent, children) {
  const before = new Map([...parent.childNodes].map((node) => [node.panelKey, node]));
  let after = null; // the last node in place
  children.flat(Infinity).forEach((child, index) => {
    if (child == null || child === false || child === "") return;
    const key = `${child.tag ?? "words"} ${child.attributes?.key ?? `#${index}`}`;
    const node = before.get(key) ?? create(child);
    before.delete(key);
    node.panelKey = key;
    if (child.tag) {
      assign(node, child.attributes);
      patch(node, child.children);
    } else if (node.data !== String(child)) {
      node.data = String(child);
    }
    const place = after ? after.nextSibling : parent.firstChild;
    if (node !== place) parent.insertBefore(node, place);
    after = node;
  });
  for (const node of before.values()) leave(node);
}

function create({ tag }) {
  if (!tag) return document.createTextNode("");
  return SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
}

function assign(node, attributes) {
  const old = node.panelAttributes ?? {};
  for (const name of new Set([...Object.keys(old), ...Object.keys(attributes)])) {
    const value = attributes[name];
    if (name === "key" || value === old[name]) continue;
    if (name === "value") node.value = value;
    else if (value == null || value === false) node.removeAttribute(name);
    else node.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : value);
  }
  node.panelAttributes = attributes;
}

/* A record that is cut is seen to fall out before its element goes. */
function leave(node) {
  const falls = node.classList?.contains("cell") && !still();
  if (!falls) return node.remove();
  node.panelKey = Symbol("leaving");
  node.classList.add("leaving");
  node.addEventListener("animationend", () => node.remove(), { once: true });
  setTimeout(() => node.remove(), 1000);
}

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/* ---- small pieces -------------------------------------------------------------------- */

const plain = (sentence) => sentence.replaceAll("**", "");

/* Every second piece between `**` is stressed. */
const stressed = (sentence) =>
  sentence.split("**").map((piece, at) => (at % 2 ? h("strong", { key: at }, piece) : piece));

const crown = () =>
  h("svg", { class: "crown", viewBox: "0 0 16 12", "aria-hidden": true },
    h("path", { d: "M1 2.5 4.6 6 8 .8 11.4 6 15 2.5 13.6 11.2H2.4z" }));

const SIGNS = { running: "●", paused: "❚❚", killed: "✕", stopped: "■", unknown: "?" };

const chip = (kind, sign, words) =>
  h("span", { key: kind + words, class: `chip ${kind}` }, h("span", { "aria-hidden": true }, sign), " " + words);

function short(value, width) {
  const room = Math.max(1, Math.floor((width - 8) / 7.4));
  return value.length <= room ? value : value.slice(0, Math.max(1, room - 1)) + "…";
}

const epochClass = (epoch) => (epoch < 0 ? "unknown" : `e${epoch % EPOCH_COLOURS}`);

/* ---- geometry: offsets to places, the same for all replicas ---------------------------- */

const CELL = { top: 20, height: 42, gap: 6, narrowest: 36, widest: 64 };
const LANE = { height: 96, left: 58, right: 44, ruler: 26 };

function geometry(scene, panelWidth) {
  const mode = panelWidth >= 860 ? "wide" : panelWidth >= 560 ? "mid" : "narrow";
  const beside = { wide: 208 + 264, mid: 208, narrow: 0 }[mode];
  const width = Math.max(160, panelWidth - beside - 34);
  let [first, end] = scene.offsets;
  const room = width - LANE.left - LANE.right;
  const most = Math.max(3, Math.floor(room / CELL.narrowest));
  if (end - first > most) end = Math.max(end - 2, first + most); // free places go first
  if (end - first > most) first = end - most;
  const step = Math.min(CELL.widest, room / (end - first));
  const x = (offset) => LANE.left + (offset - first) * step;
  return { mode, width, first, end, step, x, seen: (offset) => offset >= first && offset <= end };
}

/* ---- a replica's lane ------------------------------------------------------------------ */

function lane(row, scene, g, id) {
  const digits = g.mode === "narrow" ? ruler(g) : [];
  const known = row.log_end_offset >= 0;
  return h("svg", {
    class: "lane", width: g.width, height: LANE.height, viewBox: `0 0 ${g.width} ${LANE.height}`,
    role: "img", "aria-label": row.told,
  },
  digits,
  seam(scene, g, LANE.height),
  h("line", { key: "base", class: "base", x1: g.x(g.first), x2: g.x(g.end), y1: CELL.top + CELL.height / 2, y2: CELL.top + CELL.height / 2 }),
  row.log_start_offset < g.first && row.log_end_offset > g.first
    && h("text", { key: "more", class: "more", x: LANE.left - 10, y: CELL.top + 27 }, "…"),
  h("g", { key: "cells" }, row.cells.filter((cell) => cell.offset >= g.first && cell.offset < g.end)
    .map((cell) => record(cell, g, id))),
  bracket(row, g),
  known ? marks(row, g) : scene.facts.length > 0 && h("text", { key: "nothing", class: "soft", x: LANE.left, y: CELL.top + 26 }, "its log cannot be asked for"));
}

function record(cell, g, id) {
  const width = g.step - CELL.gap;
  const open = !cell.committed;
  return h("g", {
    key: `${cell.offset} ${cell.epoch}`,
    class: `cell ${epochClass(cell.epoch)} ${open ? "open" : ""} ${cell.parted ? "parted" : ""}`,
    style: `transform: translate(${g.x(cell.offset)}px, ${CELL.top}px)`,
  },
  h("title", {}, `offset ${cell.offset}, epoch ${cell.epoch}${open ? ", not committed" : ""}: ${cell.value || "value not known"}`),
  h("rect", { class: "back", width, height: CELL.height, rx: 6 }),
  h("rect", { class: "face", width, height: CELL.height, rx: 6, fill: open && cell.epoch >= 0 ? `url(#${id}${epochClass(cell.epoch)})` : null }),
  h("text", { class: "value", x: width / 2, y: 20 }, short(cell.value || "·", width)),
  h("text", { class: "epoch", x: width / 2, y: 35 }, `${width > 41 ? "epoch " : "e"}${cell.epoch < 0 ? "?" : cell.epoch}`));
}

/* Records that the leader's history does not have. */
function bracket(row, g) {
  const parted = row.cells.filter((cell) => cell.parted && cell.offset >= g.first && cell.offset < g.end);
  if (!parted.length) return null;
  const left = g.x(parted[0].offset), right = g.x(parted.at(-1).offset) + g.step - CELL.gap;
  const label = right - left > 150 ? "not in the leader’s history" : "";
  return h("g", { key: "bracket", class: "bracket" },
    h("path", { d: `M${left},${CELL.top - 3}v-4H${right}v4` }),
    label && h("text", { x: left + 2, y: CELL.top - 10 }, label));
}

/* HW to the left of its mark, LEO to the right: they never cover each other. */
function marks(row, g) {
  const y = CELL.top + CELL.height + 3;
  const clamp = (offset) => Math.min(Math.max(offset, g.first), g.end);
  const mark = (name, offset, side) => {
    const away = offset < g.first ? "◂ " : "";
    return h("g", { key: name, class: `mark ${name}`, style: `transform: translate(${g.x(clamp(offset)) - CELL.gap / 2}px, ${y}px)` },
      h("path", { d: "M0,0 5.5,9.5H-5.5z" }),
      h("text", { x: side * 9, y: 10, "text-anchor": side < 0 ? "end" : "start" }, `${away}${name} ${offset < 0 ? "?" : offset}`));
  };
  return [mark("LEO", row.log_end_offset, 1), mark("HW", row.high_watermark, -1)];
}

function seam(scene, g, height) {
  if (scene.parts_at == null || !g.seen(scene.parts_at)) return null;
  const x = g.x(scene.parts_at) - CELL.gap / 2;
  return h("line", { key: "seam", class: "seam", x1: x, x2: x, y1: 0, y2: height });
}

function ruler(g) {
  const digits = [];
  for (let offset = g.first; offset < g.end; offset++) {
    digits.push(h("text", { key: `digit${offset}`, class: "digit", x: g.x(offset) + (g.step - CELL.gap) / 2, y: 11 }, offset));
  }
  return digits;
}

/* ---- what one broker says to another ----------------------------------------------------- */

function talk(scene, timeline, g, live) {
  if (g.mode === "narrow" || !scene.messages.length) return null;
  const place = (id) => scene.rows.findIndex((row) => row.id === id);
  const middle = (id) => LANE.ruler + place(id) * LANE.height + CELL.top + CELL.height / 2;
  const ends = scene.rows.map((row) => Math.min(Math.max(row.log_end_offset, g.first), g.end));
  const x = Math.min(g.x(Math.max(...ends)) + 62, g.width - 40);
  const height = LANE.ruler + scene.rows.length * LANE.height;
  return h("svg", {
    key: `talk ${timeline.at}`, class: `talk ${live ? "passing" : ""}`, width: g.width, height, "aria-hidden": true,
  },
  scene.messages.filter((message) => place(message.source) >= 0 && place(message.destination) >= 0).map((message) => {
    const from = middle(message.source), to = middle(message.destination);
    const down = Math.sign(to - from), bend = 34 + Math.abs(to - from) / 12;
    const path = `M${x},${from + 8 * down} C${x + bend},${from + 8 * down} ${x + bend},${to - 8 * down} ${x},${to - 8 * down}`;
    const pill = message.says.length * 6.3 + 22;
    const centre = Math.min(x + bend * 0.75, g.width - pill / 2 - 2);
    const y = Math.abs(to - from) > LANE.height ? to - down * LANE.height / 2 : (from + to) / 2;
    return h("g", { key: message.destination },
      h("path", { class: "way", d: path }),
      h("path", { class: "head", d: `M${x - 7},${to - 8 * down} l9,-5 v10z` }),
      !still() && h("circle", { class: "dot", r: 5, style: `offset-path: path("${path}")` }),
      h("rect", { class: "pill", x: centre - pill / 2, y: y - 12, width: pill, height: 24, rx: 12 }),
      h("text", { x: centre, y: y + 4 }, message.says));
  }));
}

/* ---- a broker's card and its buttons ------------------------------------------------------- */

function card(row, scene, view, live) {
  const leads = row.id === scene.leader;
  const down = !["running", "paused"].includes(row.state);
  const role = leads ? [crown(), " leader"] : down ? ["replica"] : ["follower"];
  const partition = scene.facts.length > 0;
  return h("div", { class: `card ${leads ? "leads" : ""} ${row.state} ${row.fenced ? "fenced" : ""}` },
    h("div", { class: "name" },
      h("b", {}, row.id),
      partition && h("span", { key: "role", class: "role" }, role),
      partition && (row.in_isr ? chip("in", "✓", "ISR") : chip("out", "–", row.eligible ? "ELR" : "not in ISR"))),
    h("div", { class: "state" },
      chip(row.state, SIGNS[row.state] ?? "?", row.state),
      row.fenced && chip("fence", "⚑", "fenced"),
      row.cut_from.length > 0 && chip("cut", "✂", row.cut_from.join(" "))),
    h("div", { class: "buttons" }, row.buttons.map((button, at) => {
      const refusal = live ? button.refusal : "You are looking back: press End to return to now.";
      const menu = button.action === "cut";
      const open = menu && view.menu === row.id;
      return h("div", { key: at, class: "slot" },
        h("button", {
          type: "button", "data-do": menu ? "menu" : "press", "data-action": button.action, "data-node": row.id,
          "data-tip": open ? null : refusal || button.means, "aria-disabled": refusal ? "true" : null,
          "aria-label": `${button.action} ${row.id}. ${refusal || button.means}`,
          "aria-haspopup": menu ? "menu" : null, "aria-expanded": menu ? String(open) : null,
        }, button.action),
        open && links(row));
    })));
}

const links = (row) =>
  h("div", { class: "menu", role: "menu", "aria-label": `links of ${row.id}` }, row.links.map((choice) =>
    h("button", {
      key: choice.label, type: "button", role: "menuitem", tabindex: -1, "data-do": "press", "data-action": choice.action,
      "data-node": row.id, "data-other": choice.other, "aria-disabled": choice.refusal ? "true" : null,
      "aria-label": choice.refusal ? `${choice.label}. ${choice.refusal}` : choice.label, title: choice.refusal || null,
    }, choice.label)));

/* ---- the parts around the picture ------------------------------------------------------------- */

function heading(scene, live) {
  const name = scene.topics.length > 1
    ? h("select", { "data-do": "topic", "aria-label": "topic", value: scene.topic },
        scene.topics.map((topic) => h("option", { key: topic, value: topic, selected: topic === scene.topic }, topic)))
    : h("b", { class: "topic" }, scene.topic || "cluster");
  const [id, state] = scene.controller;
  return h("header", {},
    h("span", { class: "title" }, name, scene.facts.length ? h("b", {}, ` · partition ${scene.partition}`) : null),
    scene.facts.map(([fact, value]) => h("span", { key: fact, class: "fact" }, `${fact} `, h("b", {}, value))),
    h("span", { key: "edge", class: "edge" },
      id >= 0 && h("span", { class: `controller ${state}` }, "controller ", h("b", {}, id), " ", chip(state, SIGNS[state] ?? "?", state)),
      h("span", { class: `when ${live ? "live" : "back"}` }, live ? "live" : "looking back", h("b", {}, ` ${scene.time}`))));
}

function strip(scene) {
  if (scene.strip.length < 2) return null;
  const longest = Math.max(1, ...scene.strip.flatMap((small) => small.bars.map((bar) => bar[1])));
  return h("div", { key: "strip", class: "strip", role: "tablist", "aria-label": "partitions" }, scene.strip.map((small) => {
    const chosen = small.partition === scene.partition;
    return h("button", {
      key: small.partition, type: "button", role: "tab", "aria-selected": String(chosen), tabindex: chosen ? 0 : -1,
      "data-do": "partition", "data-partition": small.partition, class: small.trouble ? "trouble" : "",
      "aria-label": `partition ${small.partition}, leader ${small.leader < 0 ? "none" : small.leader}${small.trouble ? ", " + small.trouble : ""}`,
    },
    h("span", { class: "small" }, h("b", {}, small.partition), small.leader < 0 ? " no leader" : [" ", crown(), ` ${small.leader}`], small.trouble ? " ⚠" : ""),
    h("svg", { width: 84, height: 22, "aria-hidden": true }, small.bars.map(([id, end, mark, epoch, up], at) => {
      const scale = (offset) => (offset / longest) * 82;
      return h("g", { key: id, class: `${epochClass(epoch)} ${up ? "" : "down"}` },
        h("rect", { class: "rest", x: 1, y: at * 7 + 1, width: Math.max(scale(end), 2), height: 5, rx: 1.5 }),
        h("rect", { class: "held", x: 1, y: at * 7 + 1, width: Math.max(scale(Math.min(mark, end)), 0), height: 5, rx: 1.5 }));
    })));
  }));
}

function trace(scene) {
  return h("aside", { "aria-label": "trace", tabindex: 0 },
    h("h4", {}, "Trace"),
    scene.trace.length
      ? scene.trace.map((line, at) => h("div", { key: at, class: line.now ? "now" : "", title: [line.why, line.rule].filter(Boolean).join(" · ") },
          h("span", { class: "at" }, line.at), h("b", {}, line.node), ` ${line.says}`))
      : h("p", {}, "Nothing has been told yet."));
}

function track(timeline, live, playing, width) {
  const span = Math.max(1, timeline.last - timeline.first);
  const place = (number) => ((number - timeline.first) / span) * 100;
  let free = Infinity; // labels are placed from the newest backwards; what does not fit is a dot
  const dots = timeline.marks.toReversed().map(([number, name]) => {
    const atEdge = place(number) > 94;
    const centre = (place(number) / 100) * width - (atEdge ? name.length * 2.2 : 0), half = name.length * 3 + 6;
    const fits = centre + half < free && centre - half > -8;
    if (fits) free = centre - half;
    return h("button", {
      key: number, type: "button", tabindex: -1, "data-do": "go", "data-number": number, title: name, "aria-label": name,
      class: number <= timeline.at ? "past" : "", style: `left: ${place(number)}%`,
    }, fits && h("span", { class: atEdge ? "last" : "" }, name));
  });
  return h("div", { class: "time" },
    h("button", { type: "button", class: "play", "data-do": "play", "aria-label": playing ? "stop playing" : "play", "data-tip": playing ? "Stop" : "Play what was seen" }, playing ? "❚❚" : "▶"),
    h("div", { class: "track", style: `--at: ${timeline.last === timeline.first ? 100 : place(timeline.at)}%` },
      h("input", {
        type: "range", min: timeline.first, max: Math.max(timeline.last, timeline.first + 1), step: 1,
        value: timeline.last === timeline.first ? timeline.first + 1 : timeline.at, "aria-label": "what the panel saw", "aria-valuetext": live ? "now" : `looking back, ${timeline.at - timeline.first + 1} of ${span + 1}`,
      }),
      dots.reverse()),
    h("button", { type: "button", class: "end", "data-do": "now", "aria-disabled": live ? "true" : null, "data-tip": live ? "This is now" : "Back to now" }, "now"));
}

const keys = () =>
  h("div", { class: "keys" }, [["← →", "step"], ["Home End", "first, now"], ["space", "play"],
    ["K S P C", "kill, stop, pause, cut (on a broker)"], ["T", "read as text"]]
    .map(([key, what]) => h("span", { key }, h("kbd", {}, key), ` ${what}`)));

const patterns = (id) =>
  h("svg", { class: "patterns", width: 0, height: 0, "aria-hidden": true }, h("defs", {},
    Array.from({ length: EPOCH_COLOURS }, (_, epoch) =>
      h("pattern", { key: epoch, id: `${id}e${epoch}`, class: `e${epoch}`, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        h("rect", { class: "stripe", width: 2, height: 7 })))));

/* ---- the widget -------------------------------------------------------------------------------- */

function picture(model, view) {
  const scene = model.get("scene"), timeline = model.get("timeline"), notice = model.get("notice");
  const live = model.get("position") === NOW;
  const g = geometry(scene, view.width);
  const part = scene.parts_at != null && g.seen(scene.parts_at);
  return [
    patterns(view.id),
    heading(scene, live),
    strip(scene),
    h("div", { key: "body", class: "body" },
      h("div", { class: "rows" },
        g.mode !== "narrow" && h("svg", { key: "ruler", class: "ruler", width: g.width, height: LANE.ruler, "aria-hidden": true },
          h("text", { class: "digit", x: LANE.left - 12, y: 18, "text-anchor": "end" }, "offset"),
          h("g", { style: "transform: translateY(6px)" }, ruler(g))),
        scene.rows.map((row) => h("div", { key: row.id, class: `row ${row.state}`, "data-row": row.id },
          card(row, scene, view, live), lane(row, scene, g, view.id))),
        part && h("div", { key: "part", class: "part", style: `padding-left: ${g.x(scene.parts_at) - CELL.gap / 2}px` }, "histories part here"),
        talk(scene, timeline, g, live)),
      trace(scene)),
    h("footer", { key: "footer" },
      h("p", { class: "caption", "aria-live": "polite" }, stressed(scene.caption)),
      h("p", { class: "notice", role: "status" }, notice),
      track(timeline, live, view.playing != null, view.width - 150),
      keys(),
      view.reading && h("pre", { key: "text", tabindex: 0 }, scene.text)),
  ];
}

function render({ model, el }) {
  const root = document.createElement("section");
  const view = { width: 0, menu: null, playing: null, reading: false, id: `panel-${Math.random().toString(36).slice(2, 8)}-` };
  root.className = "cluster-panel";
  for (const [name, value] of [["role", "group"], ["aria-label", "Cluster panel"], ["tabindex", "0"], ["data-lm-suppress-shortcuts", "true"]]) {
    root.setAttribute(name, value);
  }
  el.append(root);

  const draw = () => {
    if (!view.width || !model.get("scene").rows) return;
    const { mode } = geometry(model.get("scene"), view.width);
    root.className = `cluster-panel ${mode} ${model.get("position") === NOW ? "" : "past"}`;
    const told = root.querySelector("aside"); // follows the newest line, unless it was scrolled back
    const following = !told || told.scrollHeight - told.scrollTop - told.clientHeight < 30;
    patch(root, picture(model, view));
    if (following) root.querySelector("aside").scrollTop = 1e9;
  };
  let waiting = false; // several traits change at once: draw once
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };

  const set = (name, value) => { model.set(name, value); model.save_changes(); later(); };
  const go = (number) => {
    const { first, last } = model.get("timeline");
    set("position", number >= last ? NOW : Math.max(first, number));
  };
  const at = () => model.get("timeline").at;
  const play = (on = view.playing == null) => {
    clearInterval(view.playing);
    view.playing = null;
    if (on) {
      if (model.get("position") === NOW) go(model.get("timeline").first);
      view.playing = setInterval(() => (model.get("position") === NOW ? play(false) : go(at() + 1)), PLAY_MS);
    }
    later();
  };
  const menu = (node) => {
    view.menu = view.menu === node ? null : node;
    draw();
    root.querySelector(".menu button")?.focus();
  };
  const closeMenu = () => {
    const back = root.querySelector(`[data-do="menu"][data-node="${view.menu}"]`);
    view.menu = null;
    draw();
    back?.focus();
  };

  const deeds = {
    press: ({ action, node, other }) => {
      if (view.menu != null) closeMenu();
      model.send({ type: "press", action, node: Number(node), other: other == null ? null : Number(other) });
    },
    menu: ({ node }) => menu(Number(node)),
    partition: ({ partition }) => set("partition", Number(partition)),
    go: ({ number }) => go(Number(number)),
    now: () => { play(false); go(Infinity); },
    play: () => play(),
  };
  root.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-do]");
    if (!button) return;
    if (button.getAttribute("aria-disabled") === "true") {
      root.querySelector(".notice").textContent = button.dataset.tip ?? button.title;
      return;
    }
    deeds[button.dataset.do](button.dataset);
  });
  root.addEventListener("input", (event) => { if (event.target.type === "range") { play(false); go(Number(event.target.value)); } });
  root.addEventListener("change", (event) => { if (event.target.dataset.do === "topic") set("topic", event.target.value); });

  const LETTERS = { k: 0, s: 1, p: 2, c: 3 };
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const among = event.target.closest("[role=menu], [role=tablist]");
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[key];
    if (key === "Escape" && view.menu != null) closeMenu();
    else if (among && step) {
      const items = [...among.querySelectorAll("button")];
      const next = items[(items.indexOf(event.target) + step + items.length) % items.length];
      next.focus();
      if (next.role === "tab") next.click();
    } else if (key === "ArrowLeft") { play(false); go(at() - 1); }
    else if (key === "ArrowRight") { play(false); if (model.get("position") !== NOW) go(at() + 1); }
    else if (key === "Home") { play(false); go(model.get("timeline").first); }
    else if (key === "End") { play(false); go(Infinity); }
    else if (key === " " && event.target.tagName !== "BUTTON") play();
    else if (key === "t") { view.reading = !view.reading; later(); }
    else if (key in LETTERS) event.target.closest("[data-row]")?.querySelectorAll(".buttons .slot > button")[LETTERS[key]].click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  root.addEventListener("focusout", (event) => {
    if (view.menu != null && !event.relatedTarget?.closest?.(".menu")) { view.menu = null; later(); }
  });

  const traits = ["scene", "timeline", "notice", "position"].map((name) => `change:${name}`);
  traits.forEach((trait) => model.on(trait, later));

  let inView = true;
  const watch = () => { if (inView && document.visibilityState === "visible") model.send({ type: "watch" }); };
  const seen = new IntersectionObserver(([entry]) => { inView = entry.isIntersecting; watch(); });
  const sized = new ResizeObserver(([entry]) => { view.width = entry.contentRect.width; later(); });
  seen.observe(root);
  sized.observe(root);
  watch();
  const watching = setInterval(watch, WATCH_MS);

  return () => {
    clearInterval(watching);
    clearInterval(view.playing);
    seen.disconnect();
    sized.disconnect();
    traits.forEach((trait) => model.off(trait, later));
  };
}

export default { render };
