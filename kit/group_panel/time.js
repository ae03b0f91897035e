/* The Group panel over a recorded world: plays the film that kit/group_panel/film.py made.

   Nothing is asked of a kernel to step or to play.  `render` is the widget; `playAlone` plays a
   film in a page without a kernel. */

const DWELL_MS = 900, TRACE_BEFORE = 26, TRACE_AFTER = 8;
const NO_ENGINE = "This page is a recording without an engine. Run its notebook to try another future.";
const PROTOCOLS = { range: "range (eager)", "cooperative-sticky": "cooperative-sticky", consumer: "consumer (KIP-848)" };

/* The film's scenes, put together from its pools. */
function projector(film) {
  const { pools, takes, moments } = film;
  const scenes = takes.map((take) => take.steps.map((step) => ({
    group: film.group, topic: film.topic, facts: pools.facts[step.facts], pieces: pools.pieces[step.pieces],
    members: step.members.map((place) => pools.members[place]), lags: step.lags.map((place) => pools.lags[place]), step,
  })));
  const lines = takes.map((take, number) => {
    const past = number ? takes[0].steps.filter((step) => step.t <= take.steps[0].t).map((step) => [step, -1]) : [];
    return [...past, ...take.steps.map((step, place) => [step, place])].flatMap(([step, place]) => step.lines.map((line, at) => ({ step, place, line, key: `${number} ${step.t} ${place} ${at}` })));
  });
  const split = (at) => moments[at][1] >= 0;
  const time = (at) => Math.max(...moments[at].map((place, take) => (place < 0 ? 0 : takes[take].steps[place].t)));
  const end = Math.max(...takes.map((take) => take.end));
  const marks = takes.map((take, number) => moments
    .map((moment, at) => [at, moment[number], at && moments[at - 1][number]])
    .filter(([, place, before]) => place >= 0 && place !== before && take.steps[place].label)
    .map(([at, place]) => [at, take.steps[place].t, take.steps[place].label]));
  return {
    film, takes, last: moments.length - 1, split, time, end,
    scene: (at, take) => (take && split(at) ? scenes[1][moments[at][1]] : scenes[0][moments[at][0]]),
    place: (at, take) => (take && split(at) ? moments[at][1] : moments[at][0]),
    lines: (take) => lines[take],
    bars: (at, take) => ({ rows: takes[take].rows, marks: marks[take], now: time(at), end, start: 0 }),
    at: (us) => { let found = 0; for (let at = 0; at < moments.length && time(at) <= us; at++) found = at; return found; },
    fresh: (at) => moments[at].map((place, take) => [take, place])
      .filter(([take, place]) => place >= 0 && (at === 0 || moments[at - 1][take] !== place))
      .map(([take, place]) => [take, takes[take].steps[place]]),
  };
}

function captions(p, at) {
  const fresh = p.fresh(at).map(([take, step]) => [String(take + 1), step.caption]);
  const same = fresh.length > 1 && fresh[0][1] === fresh[1][1];
  return !p.split(at) || same ? [["", fresh[0][1]]] : fresh;
}
const narration = (p, at) => captions(p, at).map(([name, sentence]) => (name ? `Timeline ${name}: ${sentence}` : sentence)).join(" ");

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

function deck(p, at, view) {
  const end = at === p.last, alone = p.film.alone;
  const button = (action, sign, label, tip, off) => h("button", { key: action, type: "button", "data-do": action, "aria-label": label, "data-tip": tip, "aria-disabled": off ? "true" : null }, sign);
  return h("div", { key: "deck", class: "deck" },
    h("span", { class: "group" },
      button("first", icon("first"), "first step", "First step (Home)", at === 0),
      button("back", icon("back"), "step back", "One step back (←)", at === 0),
      button("play", icon(view.playing ? "pause" : "play"), view.playing ? "stop playing" : "play", view.playing ? "Stop (space)" : "Play (space)"),
      button("forth", icon("step"), "step", end ? "The end: let the world go on (→)" : "One step (→)", end && alone),
      button("last", icon("last"), "last step", "Last step (End)", end),
      button("next", "next event", "next named event", "The next named step (N)", end)),
    p.takes.length > 1 && h("span", { key: "takes", class: "group", role: "radiogroup", "aria-label": "timeline in view" }, p.takes.map((take, number) =>
      h("button", { key: number, type: "button", role: "radio", "aria-checked": String(view.take === number), class: `take take${number + 1} ${view.take === number ? "chosen" : ""}`, "data-do": "take", "data-take": number, "data-tip": "Which timeline the picture shows (V)" }, `timeline ${number + 1}`))),
    h("span", { key: "fork", class: "group fork" },
      h("label", {}, h("select", { "data-do": "protocol", "aria-label": "protocol of members that join", value: view.protocol },
        p.film.protocols.map((name) => h("option", { key: name, value: name, selected: name === view.protocol }, PROTOCOLS[name] ?? name)))),
      button("add", "+ add a member", "add a member", alone ? NO_ENGINE : "One more member here, with this protocol (A)", alone),
      h("button", { key: "branch", type: "button", class: "go", "data-do": "fork", "aria-disabled": alone ? "true" : null, "data-tip": alone ? NO_ENGINE : "A second timeline: who joins from here on does so with this protocol (F)" }, icon("fork"), " fork here"),
      p.takes.length > 1 && !alone && h("button", { key: "forget", type: "button", "data-do": "forget", "data-tip": "Drop timeline 2" }, "drop 2")));
}

function words(p, at) {
  const takes = p.split(at) ? [0, 1] : [0];
  return [...takes.flatMap((take) => {
    const scene = p.scene(at, take);
    return [`${takes.length > 1 ? `timeline ${take + 1} (${p.takes[take].name}), ` : ""}t = ${seconds(scene.step.t)} s: ${scene.facts.map((each) => each.join(" ")).join(" · ")}`, ...scene.members.map((member) => member.text)];
  }), plain(narration(p, at)), plain(p.film.compared)].filter(Boolean).join("\n");
}

function picture(p, view, notice) {
  const at = view.at, take = p.split(at) ? view.take : 0, scene = p.scene(at, take);
  const g = layout(scene, view.width), refused = p.film.alone ? NO_ENGINE : p.split(at) && take === 0 ? "Timeline 1 stays as it was: show timeline 2 or drop it." : "";
  const width = view.width - 34, two = p.takes.length > 1;
  return [
    groupPatterns(view.id),
    groupHeading(scene, h("span", { class: "when" }, "t = ", h("b", { class: "clock" }, `${seconds(p.time(at))} s`), h("small", {}, ` event ${scene.step.event}`))),
    h("div", { key: "body", class: "body" }, board(scene, g, view.id, refused), trace(p, at, take, view)),
    source(p.film.sources, view),
    h("footer", { key: "footer" },
      h("div", { class: "caption", "aria-live": "polite" }, captions(p, at).map(([name, sentence]) =>
        h("p", { key: name }, name && h("i", { class: `take${name}`, "aria-label": `timeline ${name}` }, name), stressed(sentence)))),
      p.film.compared && h("p", { key: "compared", class: "compared" }, h("i", { "aria-hidden": true }, "≠"), " ", stressed(p.film.compared)),
      notice && h("p", { key: "notice", class: "notice", role: "status" }, notice),
      h("div", { class: "scroll" },
        p.takes.map((each, number) => bars(p.bars(at, number), p.scene(at, number).lags, width, view.id, two ? `timeline ${number + 1}: ${each.name}` : "")),
        slider(p.bars(at, 0), width, `step ${at} of ${p.last}, ${seconds(p.time(at), 3)} seconds: ${plain(narration(p, at))}`)),
      deck(p, at, view),
      groupLegend(scene, view.id),
      groupKeys([["N", "next event"], ["F", "fork here"], ["V", "other timeline"], ["O", "source"]]),
      view.reading && h("pre", { key: "text", class: "reading", tabindex: 0 }, words(p, at))),
  ];
}

function render({ model, el }) {
  let p = null;
  const { root, view, draw, later, stop } = stage(el, "Group panel, time travel", (view) => p && [picture(p, view, model.get("notice")), "time"]);
  Object.assign(view, { at: 0, take: 0, protocol: "cooperative-sticky" });
  const say = (said) => { model.set("notice", said); model.save_changes(); later(); };
  const clamp = (at) => Math.max(0, Math.min(at, p.last));
  const go = (wanted) => {
    view.at = clamp(wanted);
    if (model.get("position") !== view.at) { model.set("position", view.at); model.save_changes(); }
    later();
  };
  const load = () => {
    const film = model.get("film");
    if (!film.takes) return;
    const two = !p || p.takes.length < film.takes.length;
    p = projector(film);
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
    say("The engine is at work …");
    model.send({ ...message, keep: true });
  };
  const step = (by) => { play(false); if (by > 0 && view.at === p.last && !p.film.alone) ask({ type: "run_on" }); else go(view.at + by); };
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
    press: ({ action, name }) => ask({ type: "press", action, name }),
    add: () => ask({ type: "add", protocol: view.protocol }),
    fork: () => ask({ type: "fork", protocol: view.protocol }),
    forget: () => ask({ type: "forget" }),
  });
  const moved = () => { if (p && clamp(model.get("position")) !== view.at) go(model.get("position")); };
  model.on("change:film", load);
  model.on("change:position", moved);
  model.on("change:notice", later);
  load();
  draw();
  return () => {
    clearInterval(view.ticking);
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

export default { render };
