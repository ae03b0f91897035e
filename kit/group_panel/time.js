/* The Group panel over a recorded world: plays the film that kit/group_panel/film.py made.

   Nothing is asked of a kernel to step or to play.  `render` is the widget; `playAlone` plays a
   film in a page without a kernel. */

const PROTOCOLS = { range: "range (eager)", "cooperative-sticky": "cooperative-sticky", consumer: "consumer (KIP-848)" };

/* The film's scenes, put together from its pools. */
function projector(film) {
  const { pools, takes } = film, p = takesOf(film);
  const scenes = takes.map((take) => take.steps.map((step) => ({
    group: film.group, topic: film.topic, facts: pools.facts[step.facts], pieces: pools.pieces[step.pieces],
    members: step.members.map((place) => pools.members[place]), lags: step.lags.map((place) => pools.lags[place]), step,
  })));
  const marks = p.named((step) => step.t);
  return {
    ...p, scene: p.of(scenes),
    bars: (at, take) => ({ rows: takes[take].rows, marks: marks[take], now: p.time(at), end: p.end, start: 0 }),
  };
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
      button("add", "+ add a member", "add a member", alone ? NO_ENGINE : "One more member here, with the protocol of the others (A)", alone),
      h("label", {}, h("select", { "data-do": "protocol", "aria-label": "protocol of members that join", value: view.protocol },
        p.film.protocols.map((name) => h("option", { key: name, value: name, selected: name === view.protocol }, PROTOCOLS[name] ?? name)))),
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
  view.joins = usual(scene, view.protocol);
  const g = layout(scene, view.width), refused = p.film.alone ? NO_ENGINE : p.split(at) && take === 0 ? "Timeline 1 stays as it was: show timeline 2 or drop it." : "";
  const width = view.width - 34, two = p.takes.length > 1;
  return [
    groupPatterns(view.id),
    groupHeading(scene, h("span", { class: "when" }, "t = ", h("b", { class: "clock" }, `${seconds(p.time(at))} s`), h("small", {}, ` event ${scene.step.event}`))),
    saidOf(p, at, take, notice),
    h("div", { key: "body", class: "body" }, board(scene, g, view.id, refused), trace(p, at, take, view)),
    source(p.film.sources, view),
    h("footer", { key: "footer" },
      h("div", { class: "scroll" },
        p.takes.map((each, number) => bars(p.bars(at, number), p.scene(at, number).lags, width, view.id, two ? `timeline ${number + 1}: ${each.name}` : "")),
        slider(p.bars(at, 0), width, `step ${at} of ${p.last}, ${seconds(p.time(at), 3)} seconds: ${plain(narration(p, at, take))}`)),
      deck(p, at, view),
      groupLegend(scene, view.id),
      groupKeys([["N", "next event"], ["F", "fork here"], ["V", "other timeline"], ["O", "source"]]),
      view.reading && h("pre", { key: "text", class: "reading", tabindex: 0 }, words(p, at))),
  ];
}

const render = (widget) => travel(widget, {
  kind: "group-panel", name: "Group panel, time travel", projector, picture, view: { protocol: "cooperative-sticky" },
  does: (ask, view) => ({
    press: ({ action, name }) => ask({ type: "press", action, name, keep: true }),
    add: () => ask({ type: "add", protocol: view.joins, keep: true }),
    fork: () => ask({ type: "fork", protocol: view.protocol, keep: true }),
  }),
});

export default { render };
