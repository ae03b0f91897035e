/* The Cluster panel in a browser: draws the traits of kit/panel/panel.py, sends back presses.

   Nothing is decided here.  `scene` says what to draw, `timeline` which frames there are,
   `position` which of them is in view (-1: now), `notice` what a button had to say.  The
   pieces of the picture are in drawing.js, which is put before this file behind kit/film/tree.js. */

const NOW = -1;
const WATCH_MS = 4000;
const PLAY_MS = 900;
const LOOKING_BACK = "You are looking back: press End to return to now.";

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

/* ---- the parts around the picture ------------------------------------------------------------- */

function heading(scene, live) {
  const name = scene.topics.length > 1
    ? h("select", { "data-do": "topic", "aria-label": "topic", value: scene.topic },
        scene.topics.map((topic) => h("option", { key: topic, value: topic, selected: topic === scene.topic }, topic)))
    : h("b", { class: "topic" }, scene.topic || "cluster");
  const [id, state] = scene.controller;
  return h("header", {},
    h("span", { class: "title" }, name, scene.facts.length ? h("b", {}, ` · partition ${scene.partition}`) : null),
    scene.facts.map(([name, value]) => fact(name, value)),
    h("span", { key: "edge", class: "edge" },
      id >= 0 && h("span", { class: `controller ${state}` }, "controller ", h("b", {}, id), " ", chip(state, SIGNS[state] ?? "?", state)),
      h("span", { class: `when ${live ? "live" : "back"}` }, live ? "live" : "looking back", h("b", {}, ` ${scene.time}`))));
}

function trace(scene) {
  return h("aside", { "aria-label": "trace", tabindex: 0 },
    h("h4", {}, "Trace"),
    scene.trace.length
      ? scene.trace.map((line, at) => h("div", { key: at, class: line.now ? "now" : "", title: [line.why, line.rule].filter(Boolean).join(" · ") },
          h("span", { class: "at" }, line.at), h("b", {}, line.node), ` ${line.says}`))
      : h("p", {}, "Nothing has happened yet."));
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

/* ---- the widget -------------------------------------------------------------------------------- */

function picture(model, view) {
  const scene = model.get("scene"), timeline = model.get("timeline"), notice = model.get("notice");
  const live = model.get("position") === NOW;
  const g = geometry(scene.offsets, view.width);
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
          card(row, scene, view, live ? "" : LOOKING_BACK), lane(row, scene, g, view.id))),
        part && h("div", { key: "part", class: "part", style: `padding-left: ${g.x(scene.parts_at) - CELL.gap / 2}px` }, "logs diverge here"),
        talk(scene, timeline, g, live)),
      trace(scene)),
    h("footer", { key: "footer" },
      h("p", { class: "caption", "aria-live": "polite" }, stressed(scene.caption)),
      h("p", { class: "notice", role: "status" }, notice),
      track(timeline, live, view.playing != null, view.width - 150),
      legend(view.id),
      keys(),
      view.reading && h("pre", { key: "text", tabindex: 0 }, scene.text)),
  ];
}

function render({ model, el }) {
  const root = document.createElement("section");
  const view = { width: 0, menu: null, playing: null, reading: false, id: `panel-${Math.random().toString(36).slice(2, 8)}-` };
  root.className = "film-panel cluster-panel";
  for (const [name, value] of [["role", "group"], ["aria-label", "Cluster panel"], ["tabindex", "0"], ["data-lm-suppress-shortcuts", "true"]]) {
    root.setAttribute(name, value);
  }
  el.append(root);

  const draw = () => {
    if (!view.width || !model.get("scene").rows) return;
    const { mode } = geometry(model.get("scene").offsets, view.width);
    root.className = `film-panel cluster-panel ${mode} ${model.get("position") === NOW ? "" : "past"}`;
    const list = root.querySelector("aside"); // follows the newest line, unless it was scrolled back
    const following = !list || list.scrollHeight - list.scrollTop - list.clientHeight < 30;
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

  const actions = {
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
    actions[button.dataset.do](button.dataset);
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
