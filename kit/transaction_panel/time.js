/* The Transaction panel over a recorded world: plays the film that kit/transaction_panel/film.py made.

   `render` is the widget; `playAlone` (kit/film/takes.js) plays a film without a kernel. */

function projector(film) {
  const { pools, takes } = film, p = takesOf(film);
  const all = (name, step) => step[name].map((place) => pools[name][place]);
  const scenes = takes.map((take) => take.steps.map((step) => ({
    ids: all("ids", step), clients: all("clients", step), rows: all("rows", step), records: pools.records[step.records],
    readers: pools.readers[step.readers], empty: step.empty, more: step.more, facts: step.facts, step,
  })));
  const marks = p.named((step, at) => at);
  return { ...p, scene: p.of(scenes), at: (place) => Math.round(place), bars: (at, take) => ({ marks: marks[take], at, last: p.last }) };
}

/* Each transactional id's state, moment by moment. */
function bands(p, take) {
  const rows = new Map();
  for (let at = 0; at <= p.last; at++) {
    for (const each of p.scene(at, take).ids) {
      const spans = rows.get(each.id) ?? rows.set(each.id, []).get(each.id), before = spans.at(-1);
      if (before && before[2] === each.state && before[1] === at) before[1] = at + 1;
      else spans.push([at, at + 1, each.state]);
    }
  }
  return [...rows];
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
      h("button", { key: "branch", type: "button", class: "go", "data-do": "fork", "aria-disabled": alone ? "true" : null, "data-tip": alone ? NO_ENGINE : "A second timeline from here (F); a button of a producer makes one too" }, icon("fork"), " fork here"),
      p.takes.length > 1 && !alone && h("button", { key: "forget", type: "button", "data-do": "forget", "data-tip": "Drop timeline 2" }, "drop 2")));
}

function words(p, at) {
  const takes = p.split(at) ? [0, 1] : [0];
  return [...takes.flatMap((take) => {
    const scene = p.scene(at, take);
    return [`${takes.length > 1 ? `timeline ${take + 1}, ` : ""}t = ${seconds(scene.step.t)} s`, ...scene.ids.map((each) => `${each.id}: ${each.state}`), ...[...scene.clients, ...scene.rows, ...scene.readers].map((each) => each.text)];
  }), plain(narration(p, at))].filter(Boolean).join("\n");
}

function picture(p, view, notice) {
  const at = view.at, take = p.split(at) ? view.take : 0, scene = p.scene(at, take);
  const refused = p.film.alone ? NO_ENGINE : p.split(at) && take === 0 ? "Timeline 1 stays as it was: show timeline 2 or drop it." : "";
  const width = view.width - 34, narrow = view.width < MID, inside = Math.max(240, (view.width >= WIDE ? view.width - 264 : view.width) - 34);
  const two = p.takes.length > 1;
  return [
    ledgerPatterns(view.id),
    h("header", { key: "heading" },
      h("span", { class: "title" }, h("b", {}, "Transactions"), h("b", {}, p.film.title ? ` · ${p.film.title}` : "")),
      scene.facts.map(([name, value]) => fact(name, value)),
      h("span", { key: "edge", class: "edge" }, h("span", { class: "when" }, "t = ", h("b", { class: "clock" }, `${seconds(p.time(at))} s`), h("small", {}, ` event ${scene.step.event}`)))),
    saidOf(p, at, take, notice),
    h("div", { key: "body", class: "body" },
      h("div", { key: "board", class: "board" },
        scene.ids.map((each) => idCard(each, scene, p.film.edges, Math.min(640, inside - 24), refused)),
        loose(scene, refused),
        ledger(scene, inside, narrow, view.id),
        readersOf(scene)),
      trace(p, at, take, view)),
    source(p.film.sources, view),
    h("footer", { key: "footer" },
      h("div", { class: "scroll" },
        p.takes.map((each, number) => timeBars({ ...p.bars(at, number), rows: bands(p, number) }, width, two ? `timeline ${number + 1}` : "")),
        timeSlider({ at, last: p.last }, width, `step ${at} of ${p.last}, ${seconds(p.time(at), 3)} seconds: ${plain(narration(p, at, take))}`)),
      deck(p, at, view),
      ledgerLegend(view.id),
      h("div", { key: "keys", class: "keys" }, [["← →", "step"], ["Home End", "ends"], ["space", "play"], ["N", "next event"], ["F", "fork here"], ["V", "other timeline"], ["O", "source"],
        ["B S G C X K", "begin, send, group offsets, commit, abort, kill (on a producer)"], ["T", "read as text"]]
        .map(([key, what]) => h("span", { key }, h("kbd", {}, key), ` ${what}`))),
      view.reading && h("pre", { key: "text", class: "reading", tabindex: 0 }, words(p, at))),
  ];
}

const render = (widget) => travel(widget, {
  kind: "transaction-panel", name: "Transaction panel, time travel", projector, picture, view: {},
  does: (ask) => ({
    press: ({ action, name }) => ask({ type: "press", action, name }),
    zombie: ({ id }) => ask({ type: "zombie", id }),
    broker: ({ action, broker }) => ask({ type: "broker", action, broker: Number(broker) }),
    fork: () => ask({ type: "fork" }),
  }),
  onMember: { b: 0, s: 1, g: 2, c: 3, x: 4, k: 5 },
});

export default { render };
