/* The Segment panel in a browser: draws the traits of panel.py, sends back what is pressed.

   Nothing is decided here.  `scene` says what to draw; `step` is the step of the look-up in view.
   Pointing at a byte and stepping through a look-up need no answer of the kernel. */

const WATCH_MS = 4000;

function heading(scene) {
  const broker = scene.brokers.length > 1
    ? h("select", { "data-do": "broker", "aria-label": "broker", value: String(scene.broker) }, scene.brokers.map((id) => h("option", { key: id, value: id, selected: id === scene.broker }, id)))
    : h("b", {}, scene.broker);
  return h("header", { key: "heading" },
    h("span", { class: "title" }, h("b", {}, scene.title), " on broker ", broker),
    scene.facts.map(([name, value]) => fact(name, value)),
    h("span", { key: "edge", class: "edge" }, scene.follows
      ? h("span", { class: "when live" }, "follows the newest batch")
      : h("button", { type: "button", "data-do": "follow", class: "when", "data-tip": "Open the newest batch, and go on doing so (F)" }, "▸ newest")));
}

const keys = (timed) =>
  h("div", { key: "keys", class: "keys" }, [["← →", "batches"], ["Home End", "first, last"], ["↑ ↓", "fields"], ["PgUp PgDn", "records"], ["L", "look up"], ["P N", "its steps"], ["F", "newest"], ["[ ]", "moments", "time"], ["space", "play", "time"], ["T", "read as text"]]
    .filter(([, , only]) => !only || timed).map(([key, what]) => h("span", { key }, h("kbd", {}, key), ` ${what}`)));

function picture(model, view) {
  const scene = model.get("scene");
  view.step = model.get("step");
  const steps = scene.lookup.steps, at = steps ? Math.min(view.step, steps.length - 1) : 0;
  return [
    patternsOf(view.id),
    heading(scene),
    timeline(scene.timeline, view),
    folder(scene, view, steps ? { ...scene.lookup, at } : {}),
    lookUp(scene, view),
    scene.opened.stored ? batch(scene, view) : null,
    h("footer", { key: "footer" },
      h("p", { class: "caption", "aria-live": "polite" }, stressed(steps && !view.reads ? steps[at].says : scene.caption)),
      h("p", { class: "notice", role: "status" }, model.get("notice")),
      keys(Boolean(scene.timeline)),
      view.reading && h("pre", { key: "text", tabindex: 0 }, scene.text)),
  ];
}

function render({ model, el }) {
  const root = document.createElement("section");
  const view = { id: `segment-${Math.random().toString(36).slice(2, 8)}-`, width: 0, mode: "", field: 0, hover: null, what: "offset", reading: false };
  root.className = "film-panel segment-panel";
  for (const [attribute, value] of [["role", "group"], ["aria-label", "Segment panel"], ["tabindex", "0"], ["data-lm-suppress-shortcuts", "true"]]) root.setAttribute(attribute, value);
  el.append(root);
  const draw = () => {
    const scene = model.get("scene");
    if (!view.width || !scene.segments) return;
    view.mode = view.width >= WIDE ? "wide" : view.width >= MID ? "mid" : "narrow";
    const look = `film-panel segment-panel ${view.mode}`;
    if (root.className !== look) root.className = look;
    patch(root, picture(model, view));
    markField(root, view);
    const chosen = root.querySelector(".row.looked") ?? root.querySelector(".row.chosen"), rows = root.querySelector(".rows");
    if (chosen && view.followed !== chosen.dataset.segment) rows.scrollTop = chosen.offsetTop - rows.clientHeight / 2;
    view.followed = chosen?.dataset.segment;
    const now = root.querySelector(".steps .now"), steps = root.querySelector(".steps");
    if (now && view.stepped !== view.step) steps.scrollTop = now.offsetTop - steps.clientHeight / 2;
    view.stepped = view.step;
  };
  let waiting = false; // several traits change at once: draw once
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
  const sized = new ResizeObserver(([entry]) => { view.width = entry.contentRect.width; later(); });
  sized.observe(root);

  const send = (type, more = {}) => model.send({ type, ...more });
  const stepTo = (at) => {
    const count = model.get("scene").lookup.steps?.length ?? 0;
    if (!count) return;
    model.set("step", Math.min(Math.max(0, at), count - 1));
    model.save_changes();
    view.reads = false;
    later();
  };
  const choose = (type, more) => { view.reads = true; send(type, more); };
  const focusField = (by) => {
    view.hover = null;
    view.field = Math.min(Math.max(0, view.field + by), (view.fields?.length ?? 1) - 1);
    draw();
    root.querySelector(`#${view.id}field-${view.field}`)?.focus();
  };
  const place = () => { // what was asked for last; the kernel's picture of it may be under way
    const asked = model.get("position");
    return asked < 0 ? model.get("scene").timeline.last : asked;
  };
  const travel = (at) => {
    const t = model.get("scene").timeline;
    if (!t) return;
    view.reads = true;
    model.set("position", Math.min(Math.max(0, at), t.last));
    model.save_changes();
  };
  const play = (on = !view.playing) => {
    clearInterval(view.ticking);
    view.playing = on && Boolean(model.get("scene").timeline);
    if (view.playing) {
      if (place() === model.get("scene").timeline.last) travel(0);
      view.ticking = setInterval(() => (place() === model.get("scene").timeline.last ? play(false) : travel(place() + 1)), PLAY_MS);
    }
    later();
  };
  const does = {
    moment: ({ at }) => { play(false); travel(Number(at)); },
    moments: ({ by }) => { if (model.get("scene").timeline) { play(false); travel(place() + Number(by)); } },
    play: () => play(),
    open: ({ segment, position }) => choose("open", { segment: Number(segment), position: Number(position) }),
    walk: ({ by }) => choose("walk", { by: Number(by) }),
    turn: ({ by }) => send("turn", { by: Number(by) }),
    follow: () => choose("follow"),
    forget: () => { view.reads = true; send("forget"); },
    step: ({ by }) => stepTo(model.get("step") + Number(by)),
    at: ({ at }) => stepTo(Number(at)),
  };
  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-do]");
    const field = event.target.closest("[data-field]");
    if (field) { view.field = Number(field.dataset.field); later(); return; }
    if (!button || button.getAttribute("aria-disabled") === "true") return;
    does[button.dataset.do]?.(button.dataset);
  });
  root.addEventListener("pointerover", (event) => {
    const field = event.target.closest("[data-field]"), at = field ? Number(field.dataset.field) : null;
    if (at !== view.hover) { view.hover = at; later(); }
  });
  root.addEventListener("pointerleave", () => { view.hover = null; later(); });
  root.addEventListener("focusin", (event) => {
    const field = event.target.closest?.("[data-field]");
    if (field && Number(field.dataset.field) !== view.field) { view.field = Number(field.dataset.field); later(); }
  });
  root.addEventListener("input", ({ target }) => { if (target.dataset.do === "scrub") { play(false); travel(Number(target.value)); } });
  root.addEventListener("change", ({ target }) => {
    if (target.dataset.do === "what") { view.what = target.value; later(); }
    if (target.dataset.do === "broker") send("broker", { broker: Number(target.value) });
  });
  root.addEventListener("submit", (event) => {
    event.preventDefault();
    view.reads = false;
    const value = event.target.querySelector("input").value;
    if (value.trim()) send("look_up", { what: view.what, value });
  });
  const PLAIN = {
    ArrowLeft: () => choose("walk", { by: -1 }), ArrowRight: () => choose("walk", { by: 1 }), Home: () => choose("end", { last: false }), End: () => choose("end", { last: true }),
    ArrowUp: () => focusField(-1), ArrowDown: () => focusField(root.contains(document.activeElement?.closest("[data-field]")) ? 1 : 0),
    PageUp: () => send("turn", { by: -1 }), PageDown: () => send("turn", { by: 1 }),
    p: () => stepTo(model.get("step") - 1), n: () => stepTo(model.get("step") + 1), f: () => choose("follow"),
    "[": () => does.moments({ by: -1 }), "]": () => does.moments({ by: 1 }),
    l: () => root.querySelector(".ask input").focus(), t: () => { view.reading = !view.reading; later(); },
  };
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const writes = event.target.tagName === "INPUT" && event.target.type !== "range";
    if (writes || event.target.tagName === "SELECT") {
      if (event.key === "Escape") root.focus();
      event.stopPropagation();
      return;
    }
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === " " && event.target.tagName !== "BUTTON" && model.get("scene").timeline) play();
    else if (!PLAIN[key] || (event.target.type === "range" && /^(Arrow|Home|End|Page)/.test(key))) return;
    else PLAIN[key]();
    event.preventDefault();
    event.stopPropagation();
  });

  const traits = ["scene", "notice", "step"].map((name) => `change:${name}`);
  traits.forEach((trait) => model.on(trait, later));
  let inView = true;
  const watch = () => { if (inView && !model.get("scene").timeline && document.visibilityState === "visible") send("watch"); };
  const seen = new IntersectionObserver(([entry]) => { inView = entry.isIntersecting; watch(); });
  seen.observe(root);
  watch();
  const watching = setInterval(watch, WATCH_MS);
  draw();
  return () => {
    clearInterval(watching);
    clearInterval(view.ticking);
    seen.disconnect();
    sized.disconnect();
    traits.forEach((trait) => model.off(trait, later));
  };
}

export default { render };
