/* A panel of rows over a running cluster: draws the traits of its widget, sends back presses.

   Nothing is decided here.  `scene` says what to draw, `timeline` which frames there are,
   `position` which of them is in view (-1: now), `notice` what a button had to say.  The pieces of
   the picture are in drawing.js, which is put before this file behind kit/film/tree.js; what a
   panel adds (kit/panel/live.js) is put behind it. */

const NOW = -1;
const WATCH_MS = 4000;
const PLAY_MS = 900;
const LOOKING_BACK = "You are looking back: press End to return to now.";

/* ---- the parts around the picture ------------------------------------------------------------- */

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

/* ---- the widget -------------------------------------------------------------------------------- */

/* `look` is what a panel adds: its class, its name, and `picture(model, view)`. */
function watchRows({ model, el }, look) {
  const root = document.createElement("section");
  const view = { width: 0, menu: null, playing: null, reading: false, id: `panel-${Math.random().toString(36).slice(2, 8)}-` };
  root.className = `film-panel ${look.kind}`;
  for (const [name, value] of [["role", "group"], ["aria-label", look.name], ["tabindex", "0"], ["data-lm-suppress-shortcuts", "true"]]) {
    root.setAttribute(name, value);
  }
  el.append(root);

  const draw = () => {
    if (!view.width || !model.get("scene").rows) return;
    const { mode } = geometry(model.get("scene").offsets, view.width, { wide: look.wide });
    root.className = `film-panel ${look.kind} ${mode} ${model.get("position") === NOW ? "" : "past"}`;
    const list = root.querySelector("aside"); // follows the newest line, unless it was scrolled back
    const following = !list || list.scrollHeight - list.scrollTop - list.clientHeight < 30;
    patch(root, look.picture(model, view));
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
