/* A film of one timeline or two, whose moments a slider goes through; and a page that plays it alone.

   A film has `takes`, each with `steps` (t, caption, label, lines), and `moments`, pairs of places.
   Its panel adds the scenes (kit/group_panel/time.js).  Put behind deck.js, stage.js and asking.js. */

const DWELL_MS = 900, TRACE_BEFORE = 26, TRACE_AFTER = 8;
const NO_ENGINE = "This page is a recording without an engine. Run its notebook to try another future.";

function takesOf(film) {
  const { takes, moments } = film;
  const lines = takes.map((take, number) => {
    const past = number ? takes[0].steps.filter((step) => step.t <= take.steps[0].t).map((step) => [step, -1]) : [];
    return [...past, ...take.steps.map((step, place) => [step, place])].flatMap(([step, place]) => step.lines.map((line, at) => ({ step, place, line, key: `${number} ${step.t} ${place} ${at}` })));
  });
  const split = (at) => moments[at][1] >= 0;
  const time = (at) => Math.max(...moments[at].map((place, take) => (place < 0 ? 0 : takes[take].steps[place].t)));
  return {
    film, takes, last: moments.length - 1, split, time,
    end: Math.max(...takes.map((take) => take.end ?? take.steps.at(-1).t)),
    of: (scenes) => (at, take) => (take && split(at) ? scenes[1][moments[at][1]] : scenes[0][moments[at][0]]),
    place: (at, take) => (take && split(at) ? moments[at][1] : moments[at][0]),
    lines: (take) => lines[take],
    /* The named steps of each take: the moment, its place on an axis, the name. */
    named: (where) => takes.map((take, number) => moments
      .map((moment, at) => [at, moment[number], at && moments[at - 1][number]])
      .filter(([, place, before]) => place >= 0 && place !== before && take.steps[place].label)
      .map(([at, place]) => [at, where(take.steps[place], at), take.steps[place].label])),
    at: (us) => { let found = 0; for (let at = 0; at < moments.length && time(at) <= us; at++) found = at; return found; },
    fresh: (at) => moments[at].map((place, take) => [take, place])
      .filter(([take, place]) => place >= 0 && (at === 0 || moments[at - 1][take] !== place))
      .map(([take, place]) => [take, takes[take].steps[place]]),
  };
}

/* What is new at a moment; of two timelines, first what the one in view came to last. */
function captions(p, at, take = 1) {
  const fresh = p.fresh(at).map(([number, step]) => [number, step.caption]);
  if (!p.split(at)) return [["", fresh[0][1]]];
  const shown = p.takes[take].steps[p.place(at, take)].caption, other = fresh.find(([number]) => number !== take);
  const all = [[String(take + 1), shown]];
  return other && other[1] !== shown ? [...all, [String(2 - take), other[1]]] : all;
}
const narration = (p, at, take) => captions(p, at, take).map(([name, sentence]) => (name ? `Timeline ${name}: ${sentence}` : sentence)).join(" ");

/* The sentences of a moment, under the heading: there they are in sight however long the picture is. */
const saidOf = (p, at, take, notice) => h("div", { key: "said", class: "said" },
  h("div", { class: "caption", "aria-live": "polite" }, captions(p, at, take).map(([name, sentence]) =>
    h("p", { key: name }, name && h("i", { class: `take${name}`, "aria-label": `timeline ${name}` }, name), stressed(sentence)))),
  p.film.compared && h("p", { key: "compared", class: "compared" }, h("i", { "aria-hidden": true }, "≠"), " ", stressed(p.film.compared)),
  notice && h("p", { key: "notice", class: "notice", role: "status" }, notice));

function trace(p, at, take, view) {
  const lines = p.lines(take), here = p.place(at, take);
  const now = Math.max(0, lines.findLastIndex((each) => each.place <= here));
  return h("aside", { key: "trace", "aria-label": "trace", tabindex: 0 },
    h("h4", {}, "Trace", p.takes.length > 1 && p.split(at) ? ` of timeline ${take + 1}` : "", h("small", {}, " a line opens the engine’s source")),
    lines.slice(Math.max(0, now - TRACE_BEFORE), now + TRACE_AFTER).map(({ step, place, line, key }) => {
      const [node, says, why, rule, found] = line;
      return h("button", {
        key, type: "button", class: place === here ? "now" : place > here ? "later" : "", "data-do": "source", "data-source": found,
        "aria-disabled": found ? null : "true", title: [why, rule].filter(Boolean).join(" · ") || null, "aria-expanded": found ? String(view.source === found) : null,
      }, h("span", { class: "at" }, seconds(step.t, 3)), node >= 0 && h("b", {}, node), ` ${says}`);
    }));
}

/* The widget.  A panel says how its film is projected and drawn, and in `does`, what it asks the
   kernel for beside going on and dropping timeline 2. */
function travel({ model, el }, panel) {
  let p = null, asked = null;
  const { root, view, draw, later, stop } = stage(el, panel.kind, panel.name, (view) => p && [panel.picture(p, view, asked.said()), "time"]);
  Object.assign(view, { at: 0, take: 0 }, panel.view);
  asked = asking(model, later);
  const { say } = asked;
  const clamp = (at) => Math.max(0, Math.min(at, p.last));
  const go = (wanted) => {
    view.at = clamp(wanted);
    say("");
    if (model.get("position") !== view.at) { model.set("position", view.at); model.save_changes(); }
    later();
  };
  const load = () => {
    const film = model.get("film");
    if (!film.takes) return;
    const two = !p || p.takes.length < film.takes.length;
    p = panel.projector(film);
    view.take = p.takes.length > 1 ? (two ? 1 : view.take) : 0;
    view.at = clamp(model.get("position"));
    later();
  };
  const play = (on = !view.playing) => {
    clearInterval(view.ticking);
    view.playing = on;
    if (on && view.at >= p.last) go(0);
    if (on) view.ticking = setInterval(() => (view.at >= p.last ? play(false) : go(view.at + 1)), DWELL_MS);
    later();
  };
  const ask = (message) => {
    play(false);
    if (p.film.alone) return say(NO_ENGINE);
    asked.ask(message);
  };
  /* Of two timelines, to the next step of the one in view. */
  const step = (by) => {
    play(false);
    if (by > 0 && view.at === p.last && !p.film.alone) return ask({ type: "run_on" });
    let at = clamp(view.at + by);
    while (at > 0 && at < p.last && p.split(at) && !p.fresh(at).some(([take]) => take === view.take)) at += by;
    go(at);
  };
  controls(root, view, later, say, {
    step, back: () => step(-1), forth: () => step(1),
    first: () => { play(false); go(0); }, last: () => { play(false); go(p.last); },
    play: () => play(), go: ({ number }) => { play(false); go(Number(number)); },
    next: () => {
      for (let at = view.at + 1; at <= p.last; at++) if (p.fresh(at).some(([, each]) => each.label)) { play(false); return go(at); }
      say("There is no named step after this moment.");
    },
    time: (us) => { play(false); go(p.at(us)); },
    take: ({ take }) => { view.take = take == null ? 1 - view.take : Number(take); if (p.takes.length < 2) view.take = 0; later(); },
    forget: () => ask({ type: "forget" }),
    ...panel.does(ask, view),
  }, panel.onMember);
  const moved = () => { if (p && clamp(model.get("position")) !== view.at) go(model.get("position")); };
  model.on("change:film", load);
  model.on("change:position", moved);
  model.on("change:notice", later);
  load();
  draw();
  return () => {
    clearInterval(view.ticking);
    asked.stop();
    stop();
    model.off("change:film", load);
    model.off("change:position", moved);
    model.off("change:notice", later);
  };
}

/* The same without a kernel: a page that holds its film. */
function playAlone(el, film, position) {
  const state = { film: { ...film, alone: true }, position, notice: "" }, heard = {};
  render({ el, model: {
    get: (name) => state[name],
    set: (name, value) => { if (state[name] !== value) { state[name] = value; (heard[`change:${name}`] ?? []).forEach((each) => each()); } },
    save_changes: () => {}, send: () => {}, off: () => {},
    on: (name, action) => (heard[name] ??= []).push(action),
  } });
}
