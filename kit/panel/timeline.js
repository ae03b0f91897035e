/* The timeline of a recorded world: its named steps, and the deck of buttons below it. */

const GLYPHS = { fault: "↯", election: "♛", parted: "≠", truncation: "✂", lost: "✕", ack: "✓" };
const WEIGHTS = ["lost", "truncation", "fork", "parted", "fault", "election", "write", "ack", "start", ""];
const NO_ENGINE = "This page is a recording without an engine. Run its notebook to try another future.";

/* The named steps on the rails; they stay while the position moves. */
function dots(p, width) {
  const place = (moment) => (p.last ? (moment / p.last) * 100 : 0);
  const all = [];
  for (let moment = 0; moment <= p.last; moment++) {
    for (const [take, step] of p.fresh(moment)) {
      if (step.mark || step.label) all.push({ moment, take, step, weight: WEIGHTS.indexOf(step.mark), x: (place(moment) / 100) * width });
    }
  }
  const shown = [], spots = [[], []], labels = [[], []]; // the weighty ones first, where there is room
  for (const dot of all.sort((a, b) => a.weight - b.weight || a.moment - b.moment)) {
    const { take, step, x } = dot, apart = dot.weight <= WEIGHTS.indexOf("election") ? 11 : 9;
    if (spots[take].some((other) => Math.abs(other - x) < apart)) continue;
    spots[take].push(x);
    shown.push(dot);
    const long = step.label.length * 5.9 + 12, left = Math.min(Math.max(x - long / 2, -8), width + 8 - long);
    if (!step.label || labels[take].some(([a, b]) => left < b && left + long > a)) continue;
    labels[take].push([left, left + long]);
    dot.shift = left + long / 2 - x;
  }
  return shown.sort((a, b) => a.moment - b.moment).map(({ moment, take, step, shift }) => h("button", {
    key: `${take} ${moment}`, type: "button", tabindex: -1, "data-do": "go", "data-moment": moment,
    title: plain(step.caption), "aria-label": step.label || plain(step.caption),
    class: `dot ${step.mark} take${take + 1} ${take && moment === p.film.parts_at ? "differs" : ""}`, style: `left: ${place(moment)}%`,
  }, h("i", { "aria-hidden": true }, step.mark === "fork" ? icon("fork") : GLYPHS[step.mark] ?? ""),
  shift != null && h("span", { style: `--shift: ${shift.toFixed(1)}px` }, step.label)));
}

function track(p, at, view, width) {
  const place = (moment) => (p.last ? (moment / p.last) * 100 : 0);
  const two = p.takes.length > 1, forked = p.film.moments.findIndex((moment) => moment[1] >= 0);
  return h("div", { class: `track ${two ? "two" : ""}`, style: `--at: ${place(at)}%; --fork: ${place(Math.max(0, forked))}%` },
    h("span", { class: "rail one" }), two && h("span", { key: "rail", class: "rail other" }),
    two && p.film.parts_at >= 0 && h("span", { key: "part", class: "part-here", style: `left: ${place(p.film.parts_at)}%`, title: "the first record that differs" }),
    h("input", { type: "range", min: 0, max: Math.max(1, p.last), step: 1, value: at, "aria-label": "timeline",
      "aria-valuetext": `step ${at} of ${p.last}, ${seconds(p.time(at), 3)} seconds: ${plain(narration(p, at))}` }),
    view.memo("dots", [p, width], () => h("div", { key: "dots", class: "dots" }, dots(p, width))));
}

function deck(p, at, view, jumps) {
  const end = at === p.last;
  const button = (action, sign, label, tip, off) => h("button", { key: action, type: "button", "data-do": action, "aria-label": label, "data-tip": tip, "aria-disabled": off ? "true" : null }, sign);
  return h("div", { class: "deck" },
    h("span", { class: "group" },
      button("first", icon("first"), "first step", "First step (Home)", at === 0),
      button("back", icon("back"), "step back", "One step back (←)", at === 0),
      button("play", icon(view.playing ? "pause" : "play"), view.playing ? "stop playing" : "play", view.playing ? "Stop (space)" : "Play (space)"),
      button("step", icon("step"), "step", end ? "The end: let the world go on (→)" : "One step (→)", end && p.film.alone),
      button("last", icon("last"), "last step", "Last step (End)", end)),
    h("label", { class: "group" }, "speed ",
      h("select", { "data-do": "speed", "aria-label": "speed", value: String(view.speed) }, SPEEDS.map((speed) => h("option", { key: speed, value: speed, selected: speed === view.speed }, `${speed}×`)))),
    h("span", { class: "group" }, "next ",
      jumps.map(([mark, key, name]) => h("button", { key: mark, type: "button", class: `jump ${mark}`, "data-do": "jump", "data-mark": mark, "data-tip": `Next ${name} (${key}, back with Shift)` }, h("i", { "aria-hidden": true }, GLYPHS[mark]), ` ${name}`))),
    forking(p, view));
}

const forking = (p, view) =>
  h("span", { key: "fork", class: "group fork" },
    p.film.rules.length > 0 && h("label", { key: "rule" }, "from here with ",
      h("select", { "data-do": "rule", "aria-label": "truncation rule of the fork", value: view.rule }, p.film.rules.map((rule) =>
        h("option", { key: rule, value: rule, selected: rule === view.rule }, rule)))),
    h("label", { "data-tip": "The faults and writes that came later in timeline 1 come again, at the same times" },
      h("input", { type: "checkbox", "data-do": "keep", checked: view.keep }), " same faults"),
    h("button", { type: "button", class: "go", "data-do": "fork", "aria-disabled": p.film.alone ? "true" : null, "data-tip": p.film.alone ? NO_ENGINE : "A second timeline from this moment (F)" }, icon("fork"), " fork here"),
    p.takes.length > 1 && !p.film.alone && h("button", { key: "forget", type: "button", "data-do": "forget", "data-tip": "Drop timeline 2" }, "drop 2"));
