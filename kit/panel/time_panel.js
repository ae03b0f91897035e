/* A panel of rows over a recorded world: plays the film that the panel has made of it.

   A film has one take or two (a take is one timeline's steps), and moments: the slider's
   positions, each a step of either take.  Scenes are put together from the film's pools.
   Messages are drawn where they are at the clock's virtual time; between two steps the clock
   runs from the one's time to the other's, and everything follows the clock.

   `playRows` is the widget; `playAlone` plays films in a page without a kernel.  The pieces of
   the picture are in drawing.js, messages.js and timeline.js, put before this file, and what all
   panels share in kit/film.  What a panel adds (kit/panel/time.js) is put behind it. */

const DWELL_MS = 1100;
const FLY_MS = 750;
const TRACE_BEFORE = 26, TRACE_AFTER = 9;
const SINGLE = { wide: 960, right: 190, free: 1 };

/* ---- trace ------------------------------------------------------------------------------------- */

function trace(p, at, view) {
  const take = p.active(at), lines = p.lines(take), here = p.place(at, take);
  const now = Math.max(0, lines.findLastIndex((each) => each.place <= here));
  const shown = lines.slice(Math.max(0, now - TRACE_BEFORE), now + TRACE_AFTER);
  return h("aside", { key: "trace", "aria-label": `trace${p.takes.length > 1 ? ` of timeline ${take + 1}` : ""}`, tabindex: 0 },
    h("h4", {}, "Trace", p.takes.length > 1 && p.pair(at) ? ` of timeline ${take + 1}` : "", h("small", {}, " a line opens the engine’s source")),
    shown.map(({ step, place, line, key }) => {
      const [node, says, why, rule, source] = line;
      const state = place === here ? "now" : place > here ? "later" : "";
      return h("button", {
        key, type: "button", class: state, "data-do": "source", "data-source": source, "data-key": key, "aria-disabled": source ? null : "true",
        title: [why, rule].filter(Boolean).join(" · ") + (source ? "" : " (no source)"),
        "aria-label": `${seconds(step.t, 6)} ${node} ${says}. ${why}`,
        "aria-expanded": source ? String(view.source === source) : null,
      }, h("span", { class: "at" }, seconds(step.t, 3)), h("b", {}, node), ` ${says}`);
    }));
}

/* ---- everything together ------------------------------------------------------------------------------ */

function picture(p, view, notice, look) {
  const at = view.shown, take = p.active(at), scene = p.scene(at, take), pair = p.pair(at);
  const offsets = p.offsets(at);
  const g = view.memo("geometry", [p, String(offsets), view.width, pair], () => look.geometry(offsets, view.width, pair, p));
  const shown = p.flights(take, view.from, view.to)
    .filter((flight) => view.from === view.to || flight[1] > view.from)
    .sort((one, other) => one[6] - other[6]).slice(0, FLIGHTS_MOST);
  const part = !pair && scene.parts_at != null && g.seen(scene.parts_at);
  const differs = p.differs(view.at), sentences = captions(p, view.at);
  const refused = p.film.alone ? NO_ENGINE : "";
  return [
    view.memo("patterns", [], () => patterns(view.id)),
    look.heading(p, at, view.clock),
    look.above(p, at, view, refused),
    h("div", { key: "body", class: "body" },
      h("div", { class: "rows" },
        g.mode !== "narrow" && view.memo("ruler", [g], () => h("svg", { key: "ruler", class: "ruler", width: g.width, height: LANE.ruler, "aria-hidden": true },
          h("text", { class: "digit", x: LANE.left - 12, y: 18, "text-anchor": "end" }, "offset"),
          h("g", { style: "transform: translateY(6px)" }, look.ruler(g)))),
        look.rows(p, at, g, view, refused),
        part && h("div", { key: "part", class: "part", style: `padding-left: ${g.of(scene.parts_at) - CELL.gap / 2}px` }, "logs diverge here"),
        messages(shown, scene, g, pair, take, look.stations),
        g.mode === "narrow" && shown.length > 0 && h("ul", { key: "aloud", class: "aloud", "aria-label": "on its way" },
          shown.map((flight) => h("li", { key: flight.slice(0, 5).join(" "), class: flight[6] ? "held" : "" }, h("b", {}, `${flight[2]} → ${flight[3]}`), ` ${said(flight)}`))),
        look.below(p, at, view)),
      view.memo("trace", [p, view.at, view.source], () => trace(p, view.at, view))),
    view.memo("source", [p, view.source], () => source(p.film.sources, view)),
    h("footer", { key: "footer" },
      h("div", { class: "caption", "aria-live": "polite" }, sentences.map(([name, sentence]) =>
        h("p", { key: name }, name && h("i", { class: `take${name}`, "aria-label": `timeline ${name}` }, name), stressed(sentence)))),
      differs && h("p", { key: "differs", class: "compared", "aria-live": "polite" }, h("i", { "aria-hidden": true }, "≠"), " ", stressed(differs.says)),
      notice && h("p", { key: "notice", class: "notice", role: "status" }, notice),
      view.memo("track", [p, view.at, view.width], () => track(p, view.at, view, view.width - 48)),
      view.memo("deck", [p, view.at === 0, view.at === p.last, view.playing, view.speed, view.rule, view.keep], () => deck(p, view.at, view, look.jumps)),
      view.memo("legend", [], () => look.legend(view.id)),
      view.memo("keys", [], () => look.keys()),
      view.reading && h("pre", { key: "text", class: "reading", tabindex: 0 }, look.words(p, view.at))),
  ];
}

/* ---- the widget -------------------------------------------------------------------------------------- */

/* `look` is what a panel adds:
     kind, name            its class, and its name for a screen reader
     projector(film)       the film's scenes
     geometry(offsets, width, pair), ruler(g), rows(…), stations(scene, s)   the picture
     heading(p, at, clock), above(…), below(…)   around it; legend(id), keys(), words(p, at)
     jumps                 kinds of steps that a key leads to */
function playRows({ model, el }, look) {
  const root = document.createElement("section");
  const kept = new Map();
  const view = {
    id: `time-${Math.random().toString(36).slice(2, 8)}-`, width: 0, menu: null, reading: false, source: "",
    at: 0, shown: 0, clock: 0, from: 0, to: 0, playing: false, speed: 1, rule: "", keep: true,
    memo: (name, deps, make) => {
      const old = kept.get(name);
      if (old && old.deps.length === deps.length && deps.every((each, at) => Object.is(each, old.deps[at]))) return old.tree;
      const tree = make();
      kept.set(name, { deps, tree });
      return tree;
    },
  };
  root.className = `film-panel ${look.kind}`;
  for (const [name, value] of [["role", "group"], ["aria-label", look.name], ["tabindex", "0"], ["data-lm-suppress-shortcuts", "true"]]) {
    root.setAttribute(name, value);
  }
  root.drawn = []; // how long each drawing took, for measurements
  el.append(root);

  let p = null, flying = 0, dwelling = 0;
  const load = () => {
    const film = model.get("film");
    if (!film.takes) return;
    p = look.projector(film);
    view.rule = view.rule || film.rules.find((rule) => rule !== film.takes[0].rule) || film.rules[0];
    arrive(clamp(model.get("position")));
  };
  const clamp = (at) => Math.max(0, Math.min(at, p.last));

  const draw = () => {
    if (!view.width || !p) return;
    const began = performance.now();
    const mode = view.width >= SINGLE.wide ? "wide" : view.width >= MID ? "mid" : "narrow";
    const name = `film-panel ${look.kind} ${mode} ${p.pair(view.shown) ? "pair" : ""}`;
    if (root.className !== name) root.className = name;
    const inside = root.contains(document.activeElement);
    patch(root, picture(p, view, asked.said(), look));
    if (inside && !root.contains(document.activeElement)) root.focus({ preventScroll: true }); // what had it is gone
    fly(root, view.clock);
    requestAnimationFrame(follow); // after the page was laid out, so that asking costs nothing
    root.drawn.push(performance.now() - began);
  };
  const follow = () => { // the trace keeps the present line in sight, the source its line
    const aside = root.querySelector("aside"), now = root.querySelector("aside .now");
    if (now && view.followed !== now) {
      view.followed = now;
      aside.scrollTop = now.offsetTop - aside.clientHeight / 2;
    }
    const code = root.querySelector(".source pre"), here = root.querySelector(".source .here");
    if (code && here && view.read !== view.source) code.scrollTop = here.offsetTop - code.clientHeight / 2;
    view.read = code ? view.source : "";
  };
  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };

  /* At a moment: the clock is at its time; what is on its way then is in the air. */
  const arrive = (at) => {
    cancelAnimationFrame(flying);
    flying = 0;
    view.at = view.shown = at;
    view.clock = view.from = view.to = p.time(at);
    later();
  };
  /* To the next moment: the clock runs there, messages with it, and then the picture changes. */
  const travel = (at) => {
    const from = p.time(view.at), to = p.time(at);
    const coming = p.flights(p.active(at), to, to).filter((each) => each[0] > from - 1);
    const start = coming.length ? Math.max(from, Math.min(...coming.map((each) => each[0]))) : to;
    cancelAnimationFrame(flying);
    if (still() || start >= to || document.visibilityState !== "visible") return arrive(at);
    view.shown = view.at;
    if (p.pair(at) !== p.pair(view.at)) view.shown = at;
    Object.assign(view, { at, from: start, to, clock: start });
    draw();
    const long = FLY_MS / view.speed, began = performance.now();
    const tick = (now) => {
      const part = Math.min(1, Math.max(0, (now - began) / long));
      if (part >= 1) return arrive(at);
      const ticked = performance.now();
      view.clock = Math.round(start + (to - start) * part);
      fly(root, view.clock);
      root.querySelector(".clock").textContent = `${seconds(view.clock)} s`;
      root.drawn.push(performance.now() - ticked);
      flying = requestAnimationFrame(tick);
    };
    flying = requestAnimationFrame(tick);
  };
  const go = (wanted) => {
    const at = clamp(wanted);
    if (at === view.at + 1) travel(at);
    else if (at !== view.at || flying) arrive(at);
    // last: the change comes back here (`moved`), and the panel must be at `at` by then
    if (model.get("position") !== at) { model.set("position", at); model.save_changes(); }
  };
  const play = (on = !view.playing) => {
    clearTimeout(dwelling);
    view.playing = on;
    if (on && view.at >= p.last) go(0);
    const next = () => {
      if (view.at >= p.last) return play(false);
      go(view.at + 1);
      dwelling = setTimeout(next, (DWELL_MS + FLY_MS * !still()) / view.speed);
    };
    if (on) dwelling = setTimeout(next, 250);
    later();
  };
  const jump = (mark, way) => {
    for (let at = view.at + way; at >= 0 && at <= p.last; at += way) {
      if (p.fresh(at).some(([, step]) => step.mark === mark || (mark === "parted" && step.mark === "lost"))) return go(at);
    }
    say(`There is no ${look.jumps.find((each) => each[0] === mark)[2]} ${way > 0 ? "after" : "before"} this moment.`);
  };
  const asked = asking(model, later), { say } = asked;
  const closeMenu = () => {
    const back = root.querySelector(`[data-do="menu"][data-node="${view.menu}"]`);
    view.menu = null;
    draw();
    back?.focus();
  };
  const openSource = () => {
    const steps = p.fresh(view.at).map(([, step]) => step).filter((step) => step.source);
    const [heaviest] = steps.sort((a, b) => WEIGHTS.indexOf(a.mark) - WEIGHTS.indexOf(b.mark));
    if (!view.source && !heaviest) return say("Nothing in the engine’s source reports this step.");
    view.source = view.source ? "" : heaviest.source;
    later();
  };
  const ask = (message) => {
    play(false);
    if (p.film.alone) return say(NO_ENGINE);
    asked.ask(message);
  };

  const actions = {
    first: () => { play(false); go(0); },
    back: () => { play(false); go(view.at - 1); },
    step: () => { play(false); if (view.at < p.last) go(view.at + 1); else if (!p.film.alone) ask({ type: "run_on" }); },
    last: () => { play(false); go(p.last); },
    play: () => play(),
    go: ({ moment }) => { play(false); go(Number(moment)); },
    jump: ({ mark }, event) => { play(false); jump(mark, event?.shiftKey ? -1 : 1); },
    fork: () => ask({ type: "fork", rule: view.rule, keep: view.keep }),
    forget: () => ask({ type: "forget" }),
    source: ({ source }) => { view.source = view.source === source ? "" : source; later(); },
    close: () => { view.source = ""; later(); },
    menu: ({ node }) => { view.menu = view.menu === Number(node) ? null : Number(node); draw(); root.querySelector(".menu button")?.focus(); },
    press: ({ action, node, other }) => {
      if (view.menu != null) closeMenu();
      ask({ type: "press", action, node: Number(node), other: other == null ? null : Number(other), keep: view.keep });
    },
    partition: ({ partition }) => { play(false); model.set("partition", Number(partition)); model.save_changes(); },
  };
  const doing = (target) => target.closest("button[data-do]");
  root.addEventListener("click", (event) => {
    const button = doing(event.target);
    if (!button) return;
    if (button.getAttribute("aria-disabled") === "true") return say(button.dataset.tip ?? button.title);
    say("");
    actions[button.dataset.do](button.dataset, event);
  });
  root.addEventListener("input", (event) => { if (event.target.type === "range") { play(false); go(Number(event.target.value)); } });
  root.addEventListener("change", ({ target }) => {
    if (target.dataset.do === "speed") view.speed = Number(target.value);
    if (target.dataset.do === "rule") view.rule = target.value;
    if (target.dataset.do === "keep") view.keep = target.checked;
    later();
  });
  const speed = (by) => { view.speed = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(view.speed) + by))]; later(); };
  const ON_BROKER = { k: 0, s: 1, p: 2, c: 3 };
  const MARKS = Object.fromEntries(look.jumps.map(([mark, key]) => [key.toLowerCase(), mark]));
  const PLAIN = { ArrowLeft: "back", ArrowRight: "step", Home: "first", End: "last", f: "fork" };
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const among = event.target.closest("[role=menu], [role=tablist]");
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[key];
    if (key === "Escape" && view.menu != null) closeMenu();
    else if (key === "Escape" && view.source) actions.close();
    else if (among && by) {
      const items = [...among.querySelectorAll("button")];
      const next = items[(items.indexOf(event.target) + by + items.length) % items.length];
      next.focus();
      if (next.role === "tab") next.click();
    } else if (key in PLAIN) { if (key === "f" && p.film.alone) say(NO_ENGINE); else actions[PLAIN[key]](); }
    else if (key === " " && !["BUTTON", "INPUT"].includes(event.target.tagName)) play();
    else if (key === " " && event.target.type === "range") play();
    else if (key === "+" || key === "=") speed(1);
    else if (key === "-") speed(-1);
    else if (key in MARKS) { play(false); jump(MARKS[key], event.shiftKey ? -1 : 1); }
    else if (key === "o") openSource();
    else if (key === "t") { view.reading = !view.reading; later(); }
    else if (key in ON_BROKER && event.target.closest("[data-row]")) event.target.closest("[data-row]").querySelectorAll(".buttons .slot > button")[ON_BROKER[key]].click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  root.addEventListener("focusout", (event) => {
    if (view.menu != null && !event.relatedTarget?.closest?.(".menu")) { view.menu = null; later(); }
  });

  const moved = () => { if (p && clamp(model.get("position")) !== view.at) go(model.get("position")); };
  model.on("change:film", load);
  model.on("change:position", moved);
  model.on("change:notice", later);
  const sized = new ResizeObserver(([entry]) => { view.width = entry.contentRect.width; view.followed = null; later(); });
  sized.observe(root);
  load();

  return () => {
    clearTimeout(dwelling);
    cancelAnimationFrame(flying);
    asked.stop();
    sized.disconnect();
    model.off("change:film", load);
    model.off("change:position", moved);
    model.off("change:notice", later);
  };
}

/* The same without a kernel: a page that holds its films. */
function playAlone(el, films, partition, position) {
  const heard = {};
  for (const film of Object.values(films)) film.alone = true;
  const state = { film: films[partition], partition, position, notice: "" };
  const tell = (name) => (heard[`change:${name}`] ?? []).forEach((each) => each());
  const times = (film) => film.moments.map(([one]) => film.takes[0].steps[one].t);
  const model = {
    get: (name) => state[name],
    set: (name, value) => {
      if (state[name] === value) return;
      state[name] = value;
      if (name === "partition") { // another partition has other steps: stay at the same time
        const now = times(state.film)[state.position];
        state.film = films[value];
        state.position = Math.max(0, times(state.film).findLastIndex((time) => time <= now));
        tell("film");
      }
      tell(name);
    },
    save_changes: () => {},
    send: () => {},
    on: (name, action) => (heard[name] ??= []).push(action),
    off: () => {},
  };
  render({ model, el });
}
