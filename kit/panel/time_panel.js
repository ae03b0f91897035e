/* The Cluster panel over a recorded world: plays the film that kit/panel/film.py made.

   A film has one take or two (a take is one timeline's steps), and moments: the slider's
   positions, each a step of either take.  Scenes are put together from the film's pools.
   Messages are drawn where they are at the clock's virtual time; between two steps the clock
   runs from the one's time to the other's, and everything follows the clock.

   `render` is the widget; `playAlone` plays films in a page without a kernel.  The pieces of
   the picture are in drawing.js, which is put before this file. */

const SPEEDS = [0.5, 1, 2, 4];
const DWELL_MS = 1100;
const FLY_MS = 750;
const FLIGHTS_MOST = 5;
const TRACE_BEFORE = 26, TRACE_AFTER = 9;
const SINGLE = { wide: 960, right: 190 };
const PAIR = { wide: 960, right: 190, top: 15, cell: 34, height: 67 };
const GLYPHS = { fault: "↯", election: "♛", parted: "≠", truncation: "✂", lost: "✕", ack: "✓" };
const WEIGHTS = ["lost", "truncation", "fork", "parted", "fault", "election", "write", "ack", "start", ""];
const JUMPS = [["fault", "F", "fault"], ["parted", "D", "divergence"], ["truncation", "X", "truncation"]];
const NO_ENGINE = "This page is a recording without an engine. Run its notebook to try another future.";

/* Signs that not every font has are drawn. */
const ICONS = {
  first: "M3 3v10M13 3 6 8l7 5z", back: "M11 3 4 8l7 5z", play: "M5 3l8 5-8 5z", pause: "M5 3v10M11 3v10",
  step: "M4 3l7 5-7 5zM13 3v10", last: "M3 3l7 5-7 5zM13 3v10", fork: "M4 2v12M4 9c0-3 8-2 8-6",
};
const icon = (name) =>
  h("svg", { class: `icon ${name}`, width: 14, height: 14, viewBox: "0 0 16 16", "aria-hidden": true }, h("path", { d: ICONS[name] }));

const seconds = (us, digits = 6) => (us / 1e6).toFixed(digits);

/* ---- a film's scenes ----------------------------------------------------------------------- */

function projector(film) {
  const { pools, takes, moments } = film;
  const rows = pools.rows.map((row) => ({
    ...row, cells: row.cells.map((place) => pools.cells[place]), ...pools.controls[row.controls],
  }));
  const scenes = takes.map((take) => take.steps.map((step) => ({
    ...pools.heads[step.head], rows: step.rows.map((place) => rows[place]), strip: pools.strips[step.strip],
    parts_at: step.parts_at, step, topic: film.topic, partition: film.partition,
  })));
  const starts = takes.flatMap((take) => take.steps.map((step) => step.offsets[0]));
  const ends = rows.map((row) => row.log_end_offset);
  const first = Math.min(...starts), end = Math.max(first + 5, ...ends.map((offset) => offset + 1));
  const even = end - first <= 10; // then nothing moves sideways while the film plays
  const split = (moment) => moment[1] >= 0;
  return {
    film, last: moments.length - 1, takes,
    pair: (at) => split(moments[at]),
    active: (at) => (split(moments[at]) ? 1 : 0),
    scene: (at, take) => (take && split(moments[at]) ? scenes[1][moments[at][1]] : scenes[0][moments[at][0]]),
    place: (at, take) => (take && split(moments[at]) ? moments[at][1] : moments[at][0]),
    time: (at) => Math.max(...moments[at].map((place, take) => (place < 0 ? 0 : takes[take].steps[place].t))),
    differs: (at) => (film.compared[at] >= 0 ? pools.diffs[film.compared[at]] : null),
    /* The steps that are new at a moment: [take, step], the active take's last. */
    fresh: (at) => moments[at].map((place, take) => [take, place])
      .filter(([take, place]) => place >= 0 && (at === 0 || moments[at - 1][take] !== place))
      .map(([take, place]) => [take, takes[take].steps[place]]),
    offsets: (at) => {
      if (even) return [first, end];
      const both = [scenes[0][moments[at][0]], split(moments[at]) && scenes[1][moments[at][1]]].filter(Boolean);
      return [Math.min(...both.map((scene) => scene.step.offsets[0])), Math.max(...both.map((scene) => scene.step.offsets[1] - 1))];
    },
    /* Messages that are on their way between two times. */
    flights: (take, from, to) => takes[take].flights.filter(([sent, arrives]) => sent <= to && arrives >= from),
  };
}

/* ---- messages ------------------------------------------------------------------------------ */

/* Where the messages' column begins, and where each node is in it. */
function stations(scene, g, pair, active) {
  const height = g.height * (pair ? 2 : 1);
  const middle = (at) => LANE.ruler + at * height + (pair && active ? g.height : 0) + g.top + g.cell / 2;
  const left = Math.min(g.x(g.end) + 40, g.width - g.right + 30);
  const client = left + 34, controller = Math.min(left + 132, g.width - 50);
  return { left, client, controller, height: LANE.ruler + scene.rows.length * height,
    y: (id) => { const at = scene.rows.findIndex((row) => row.id === id); return at < 0 ? null : middle(at); } };
}

function way([, , from, to], s, slot) {
  const a = s.y(from), b = s.y(to), x = s.left;
  const top = (node) => (node === "client" ? s.client : s.controller);
  if (a != null && b != null) {
    const down = Math.sign(b - a), bend = 40 + Math.abs(b - a) / 9 + slot * 13;
    return `M${x},${a + 7 * down} C${x + bend},${a + 7 * down} ${x + bend},${b - 7 * down} ${x + 4},${b - 7 * down}`;
  }
  if (a == null && b != null) return `M${top(from)},26 C${top(from)},${b - 4} ${top(from)},${b - 4} ${x + 4},${b - 4}`;
  if (a != null) return `M${x},${a + 5} C${top(to)},${a + 5} ${top(to)},${a + 5} ${top(to)},30`;
  return null;
}

const ANSWERS = new Set(["records", "mark", "answer", "ack", "refused", "news"]);

function messages(shown, scene, g, pair, active, view) {
  if (g.mode === "narrow") return null;
  const s = stations(scene, g, pair, active);
  const drawn = shown.map((flight, at) => ({ flight, d: way(flight, s, at), at })).filter(({ d }) => d);
  const pills = drawn.map(({ flight, d }) => {
    const a = s.y(flight[2]) ?? 30, b = s.y(flight[3]) ?? 30;
    const width = flight[5].length * 6.25 + 20;
    return { width, y: (a + b) / 2, x: Math.min(s.left + 74, g.width - width / 2 - 4) };
  });
  [...pills].sort((a, b) => a.y - b.y).forEach((pill, at, all) => {
    if (at && pill.y < all[at - 1].y + 27) pill.y = all[at - 1].y + 27;
  });
  return h("svg", { key: "talk", class: "talk", width: g.width, height: s.height, "aria-hidden": true },
    h("g", { key: "client", class: "station" }, h("text", { x: s.client, y: 18 }, "client")),
    h("g", { key: "controller", class: `station ${scene.controller[1]}` }, h("text", { x: s.controller, y: 18 }, `controller ${scene.controller[0]}`)),
    drawn.map(({ flight, d, at }) => h("g", {
      key: flight.slice(0, 5).join(" "), class: `flight ${flight[4]} ${ANSWERS.has(flight[4]) ? "answer" : "request"}`,
      "data-sent": flight[0], "data-arrives": flight[1],
    },
    h("path", { class: "way", d }),
    h("path", { class: "tip", d: "M-7,-4.5 3,0 -7,4.5z" }),
    h("circle", { class: "dot", r: 5.5 }))),
    drawn.map(({ flight }, at) => h("g", { key: `pill ${flight.slice(0, 5).join(" ")}`, class: `says ${flight[4]}` },
      h("rect", { class: "pill", x: pills[at].x - pills[at].width / 2, y: pills[at].y - 12, width: pills[at].width, height: 24, rx: 12 }),
      h("text", { x: pills[at].x, y: pills[at].y + 4 }, flight[5]))));
}

/* Puts every message where it is at a virtual time. */
function fly(root, clock) {
  for (const flight of root.querySelectorAll(".flight")) {
    const [line, head, dot] = flight.children;
    const d = line.getAttribute("d");
    if (flight.way !== d) {
      flight.way = d;
      flight.long = line.getTotalLength();
      const end = line.getPointAtLength(flight.long), near = line.getPointAtLength(flight.long - 6);
      const turn = (Math.atan2(end.y - near.y, end.x - near.x) * 180) / Math.PI;
      head.setAttribute("transform", `translate(${end.x},${end.y}) rotate(${turn})`);
    }
    const { sent, arrives } = flight.dataset;
    const done = Math.min(1, Math.max(0, (clock - sent) / (arrives - sent)));
    const point = line.getPointAtLength(flight.long * done);
    dot.setAttribute("transform", `translate(${point.x},${point.y})`);
    flight.classList.toggle("waiting", clock < sent);
    flight.classList.toggle("there", done === 1);
  }
}

/* ---- cards: one timeline, or two --------------------------------------------------------------- */

const standing = (name, row, scene) => {
  const leads = row.id === scene.leader, down = !["running", "paused"].includes(row.state);
  return h("div", { key: name, class: `standing take${name} ${leads ? "leads" : ""}` },
    h("i", { "aria-label": `timeline ${name}` }, name),
    leads ? h("span", { key: "role", class: "role" }, crown(), " leader") : !down && h("span", { key: "role", class: "role" }, "follower"),
    (row.in_isr || !down) && inSync(row),
    chip(row.state, SIGNS[row.state] ?? "?", row.state === "running" ? "" : row.state),
    row.fenced && chip("fence", "⚑", "fenced"),
    row.cut_from.length > 0 && chip("cut", "✂", row.cut_from.join(" ")));
};

const pairCard = (one, two, scenes, view, refused) =>
  h("div", { class: `card pair ${two.state}` },
    h("div", { class: "name" }, h("b", {}, two.id)),
    standing("1", one, scenes[0]), standing("2", two, scenes[1]),
    buttons(two, view, refused));

/* ---- the timeline ------------------------------------------------------------------------------- */

function track(p, at, view, width) {
  const place = (moment) => (p.last ? (moment / p.last) * 100 : 0);
  const two = p.takes.length > 1, forked = p.film.moments.findIndex((moment) => moment[1] >= 0);
  const dots = [];
  for (let moment = 0; moment <= p.last; moment++) {
    for (const [take, step] of p.fresh(moment)) {
      if (step.mark || step.label) dots.push({ moment, take, step, weight: WEIGHTS.indexOf(step.mark ?? "") });
    }
  }
  const taken = [[], []]; // labels: the weighty ones first, where there is room
  const named = new Map(), anchors = new Map();
  for (const dot of [...dots].sort((a, b) => a.weight - b.weight || a.moment - b.moment)) {
    if (!dot.step.label) continue;
    const long = dot.step.label.length * 5.9 + 12, x = (place(dot.moment) / 100) * width;
    const left = Math.min(Math.max(x - long / 2, -8), width + 8 - long);
    if (taken[dot.take].some(([a, b]) => left < b && left + long > a)) continue;
    taken[dot.take].push([left, left + long]);
    named.set(dot, true);
    anchors.set(dot, left + long / 2 - x);
  }
  const button = (dot) => {
    const { moment, take, step } = dot;
    const differs = take === 1 && moment === p.film.parts_at;
    return h("button", {
      key: `${take} ${moment}`, type: "button", tabindex: -1, "data-do": "go", "data-moment": moment,
      title: plain(step.caption), "aria-label": step.label || plain(step.caption),
      class: `dot ${step.mark} take${take + 1} ${moment <= at ? "past" : ""} ${differs ? "differs" : ""}`, style: `left: ${place(moment)}%`,
    }, h("i", { "aria-hidden": true }, step.mark === "fork" ? icon("fork") : GLYPHS[step.mark] ?? ""),
    named.has(dot) && h("span", { style: `--shift: ${anchors.get(dot).toFixed(1)}px` }, step.label));
  };
  return h("div", { class: `track ${two ? "two" : ""}`, style: `--at: ${place(at)}%; --fork: ${place(Math.max(0, forked))}%` },
    h("span", { class: "rail one" }), two && h("span", { key: "rail", class: "rail other" }),
    two && p.film.parts_at >= 0 && h("span", { key: "part", class: "part-here", style: `left: ${place(p.film.parts_at)}%`, title: "the first record that differs" }),
    h("input", { type: "range", min: 0, max: Math.max(1, p.last), step: 1, value: at, "aria-label": "timeline",
      "aria-valuetext": `step ${at} of ${p.last}, ${seconds(p.time(at), 3)} seconds: ${plain(told(p, at))}` }),
    dots.map(button));
}

/* What is new at a moment: [timeline, sentence], the timeline only where it matters. */
function captions(p, at) {
  const fresh = p.fresh(at).map(([take, step]) => [String(take + 1), step.caption]);
  const same = fresh.length > 1 && fresh[0][1] === fresh[1][1];
  return !p.pair(at) || same ? [["", fresh[0][1]]] : fresh;
}
const told = (p, at) => captions(p, at).map(([name, sentence]) => (name ? `Timeline ${name}: ${sentence}` : sentence)).join(" ");

function deck(p, at, view) {
  const end = at === p.last;
  const button = (deed, sign, label, tip, off) => h("button", { key: deed, type: "button", "data-do": deed, "aria-label": label, "data-tip": tip, "aria-disabled": off ? "true" : null }, sign);
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
      JUMPS.map(([mark, key, name]) => h("button", { key: mark, type: "button", class: `jump ${mark}`, "data-do": "jump", "data-mark": mark, "data-tip": `Next ${name} (${key}, back with Shift)` }, h("i", { "aria-hidden": true }, GLYPHS[mark]), ` ${name}`))),
    forking(p, view));
}

const forking = (p, view) =>
  h("span", { key: "fork", class: "group fork" },
    h("label", {}, "from here with ",
      h("select", { "data-do": "rule", "aria-label": "truncation rule of the fork", value: view.rule }, p.film.rules.map((rule) =>
        h("option", { key: rule, value: rule, selected: rule === view.rule }, rule)))),
    h("label", { "data-tip": "The faults and writes that came later in timeline 1 come again, at the same times" },
      h("input", { type: "checkbox", "data-do": "keep", checked: view.keep }), " same faults"),
    h("button", { type: "button", class: "go", "data-do": "fork", "aria-disabled": p.film.alone ? "true" : null, "data-tip": p.film.alone ? NO_ENGINE : "A second timeline from this moment (F)" }, icon("fork"), " fork here"),
    p.takes.length > 1 && !p.film.alone && h("button", { key: "forget", type: "button", "data-do": "forget", "data-tip": "Drop timeline 2" }, "drop 2"));

/* ---- trace and source ------------------------------------------------------------------------------ */

function trace(p, at, view) {
  const take = p.active(at), steps = p.takes[take].steps;
  const here = p.place(at, take);
  const lines = [];
  const past = take ? p.takes[0].steps.filter((step) => step.t <= steps[0].t).map((step) => [step, -1]) : [];
  [...past, ...steps.map((step, number) => [step, number])].forEach(([step, number]) =>
    step.lines.forEach((line) => lines.push({ step, number, line, key: `${take} ${lines.length}` })));
  const now = Math.max(0, lines.findLastIndex((each) => each.number <= here));
  const shown = lines.slice(Math.max(0, now - TRACE_BEFORE), now + TRACE_AFTER);
  return h("aside", { key: "trace", "aria-label": `trace${p.takes.length > 1 ? ` of timeline ${take + 1}` : ""}`, tabindex: 0 },
    h("h4", {}, "Trace", p.takes.length > 1 && p.pair(at) ? ` of timeline ${take + 1}` : "", h("small", {}, " a line opens the engine’s source")),
    shown.map(({ step, number, line, key }) => {
      const [node, says, why, rule, source] = line;
      const state = number === here ? "now" : number > here ? "later" : "";
      return h("button", {
        key, type: "button", class: state, "data-do": "source", "data-source": source, "data-key": key, "aria-disabled": source ? null : "true",
        title: [why, rule].filter(Boolean).join(" · ") + (source ? "" : " (no source)"),
        "aria-label": `${seconds(step.t, 6)} ${node} ${says}. ${why}`,
        "aria-expanded": source ? String(view.source === source) : null,
      }, h("span", { class: "at" }, seconds(step.t, 3)), h("b", {}, node), ` ${says}`);
    }));
}

function source(film, view) {
  const found = film.sources[view.source];
  if (!found) return null;
  return h("section", { key: "source", class: "source", "aria-label": `source: ${found.place}` },
    h("h4", {}, h("code", {}, found.place), h("span", {}, ` ${found.function}`),
      h("button", { type: "button", "data-do": "close", "aria-label": "close the source" }, "✕")),
    h("pre", { tabindex: 0 }, found.lines.map((line, at) => h("div", {
      key: `${view.source} ${at}`, class: found.start + at === found.line ? "here" : "",
    }, h("span", { class: "line" }, String(found.start + at)), line.map(([kind, words], piece) => h("span", { key: piece, class: kind ? `t-${kind}` : null }, words)), "\n"))));
}

/* ---- everything together ------------------------------------------------------------------------------ */

function heading(p, at, clock) {
  const take = p.active(at), scene = p.scene(at, take);
  const pair = p.pair(at), others = pair ? Object.fromEntries(p.scene(at, 0).facts) : {};
  const both = (name, value) => (pair && others[name] !== value ? `${others[name] ?? "–"} | ${value}` : value);
  return h("header", {},
    h("span", { class: "title" }, h("b", { class: "topic" }, p.film.topic), h("b", {}, ` · partition ${p.film.partition}`)),
    scene.facts.map(([name, value]) => fact(name, both(name, value))),
    fact("rule", pair ? `${p.takes[0].rule} | ${p.takes[1].rule}` : p.takes[0].rule),
    h("span", { key: "edge", class: "edge" },
      h("span", { class: "when" }, "t = ", h("b", { class: "clock" }, `${seconds(clock)} s`), h("small", {}, ` event ${scene.step.event}`))));
}

function rowsOf(p, at, g, view, refused) {
  const pair = p.pair(at), scenes = [p.scene(at, 0), p.scene(at, 1)], differs = p.differs(at);
  return scenes[1].rows.map((row, place) => {
    const one = scenes[0].rows[place] ?? row, cells = differs?.cells[row.id] ?? [];
    const leads = row.id === scenes[1].leader;
    const deps = [row, one, g, scenes[0].parts_at, scenes[1].parts_at, scenes[0].leader, scenes[1].leader, pair, String(cells), refused, view.menu === row.id];
    return view.memo(`row ${row.id}`, deps, () => h("div", { key: row.id, class: `row ${row.state} ${leads ? "leads" : ""}`, "data-row": row.id },
      pair ? pairCard(one, row, scenes, view, refused) : card(row, scenes[0], view, refused),
      pair
        ? h("div", { key: "lanes", class: "lanes" },
            h("div", { key: "1", class: `sub ${one.state}` }, lane(one, scenes[0], g, view.id, cells, "1")),
            h("div", { key: "2", class: `sub ${row.state}` }, lane(row, scenes[1], g, view.id, cells, "2")))
        : lane(row, scenes[0], g, view.id)));
  });
}

function picture(p, view, notice) {
  const at = view.shown, take = p.active(at), scene = p.scene(at, take), pair = p.pair(at);
  const offsets = p.offsets(at);
  const g = view.memo("geometry", [p, String(offsets), view.width, pair], () => geometry(offsets, view.width, pair ? PAIR : SINGLE));
  const shown = p.flights(take, view.from, view.to)
    .filter((flight) => flight[1] > view.from || flight[0] >= view.from).slice(0, FLIGHTS_MOST);
  const part = !pair && scene.parts_at != null && g.seen(scene.parts_at);
  const differs = p.differs(view.at), sentences = captions(p, view.at);
  const refused = p.film.alone ? NO_ENGINE : "";
  return [
    view.memo("patterns", [], () => patterns(view.id)),
    heading(p, at, view.clock),
    view.memo("strip", [scene.strip, scene.partition], () => strip(scene)),
    h("div", { key: "body", class: "body" },
      h("div", { class: "rows" },
        g.mode !== "narrow" && view.memo("ruler", [g], () => h("svg", { key: "ruler", class: "ruler", width: g.width, height: LANE.ruler, "aria-hidden": true },
          h("text", { class: "digit", x: LANE.left - 12, y: 18, "text-anchor": "end" }, "offset"),
          h("g", { style: "transform: translateY(6px)" }, ruler(g)))),
        rowsOf(p, at, g, view, refused),
        part && h("div", { key: "part", class: "part", style: `padding-left: ${g.x(scene.parts_at) - CELL.gap / 2}px` }, "histories part here"),
        messages(shown, scene, g, pair, take, view),
        g.mode === "narrow" && shown.length > 0 && h("ul", { key: "aloud", class: "aloud", "aria-label": "on its way" },
          shown.map(([sent, , from, to, kind, says]) => h("li", { key: `${sent} ${from} ${to} ${kind}` }, h("b", {}, `${from} → ${to}`), ` ${says}`)))),
      view.memo("trace", [p, view.at, view.source], () => trace(p, view.at, view))),
    view.memo("source", [p, view.source], () => source(p.film, view)),
    h("footer", { key: "footer" },
      h("div", { class: "caption", "aria-live": "polite" }, sentences.map(([name, sentence]) =>
        h("p", { key: name }, name && h("i", { class: `take${name}`, "aria-label": `timeline ${name}` }, name), stressed(sentence)))),
      differs && h("p", { key: "differs", class: "compared", "aria-live": "polite" }, h("i", { "aria-hidden": true }, "≠"), " ", stressed(differs.says)),
      notice && h("p", { key: "notice", class: "notice", role: "status" }, notice),
      view.memo("track", [p, view.at, view.width], () => track(p, view.at, view, view.width - 48)),
      view.memo("deck", [p, view.at, view.playing, view.speed, view.rule, view.keep], () => deck(p, view.at, view)),
      view.memo("legend", [], () => legend(view.id, [h("svg", { width: 12, height: 10, "aria-hidden": true }, h("path", { class: "promised", d: "M1.5,5.5l3,3 6,-7" })), "a client was told: written"])),
      view.memo("keys", [], () => keys()),
      view.reading && h("pre", { key: "text", class: "reading", tabindex: 0 }, words(p, view.at))),
  ];
}

const keys = () =>
  h("div", { key: "keys", class: "keys" }, [["← →", "step"], ["Home End", "ends"], ["space", "play"], ["+ −", "speed"], ["F", "fork here"],
    ["N D X", "next fault, divergence, truncation (Shift: back)"], ["O", "source"],
    ["K S P C", "kill, stop, pause, cut (on a broker)"], ["T", "read as text"]]
    .map(([key, what]) => h("span", { key }, h("kbd", {}, key), ` ${what}`)));

/* The moment in words. */
function words(p, at) {
  const takes = p.pair(at) ? [0, 1] : [0];
  const parts = takes.flatMap((take) => {
    const scene = p.scene(at, take);
    return [`${takes.length > 1 ? `timeline ${take + 1}, rule ${p.takes[take].rule}, ` : ""}t = ${seconds(scene.step.t)} s: ${scene.facts.map((each) => each.join(" ")).join(" · ")}`,
      ...scene.rows.map((row) => row.told)];
  });
  const take = p.active(at), now = p.time(at);
  const flights = p.flights(take, now, now).filter((each) => each[1] > now).map((each) => `on its way: ${each[2]} → ${each[3]}: ${each[5]}`);
  return [...parts, ...flights, plain(told(p, at)), plain(p.differs(at)?.says ?? "")].filter(Boolean).join("\n");
}

/* ---- the widget -------------------------------------------------------------------------------------- */

function render({ model, el }) {
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
  root.className = "cluster-panel time-panel";
  for (const [name, value] of [["role", "group"], ["aria-label", "Cluster panel, time travel"], ["tabindex", "0"], ["data-lm-suppress-shortcuts", "true"]]) {
    root.setAttribute(name, value);
  }
  root.drawn = []; // how long each drawing took, for those who measure
  el.append(root);

  let p = null, flying = 0, dwelling = 0;
  const load = () => {
    const film = model.get("film");
    if (!film.takes) return;
    p = projector(film);
    view.rule = view.rule || film.rules.find((rule) => rule !== film.takes[0].rule) || film.rules[0];
    arrive(clamp(model.get("position")));
  };
  const clamp = (at) => Math.max(0, Math.min(at, p.last));

  const draw = () => {
    if (!view.width || !p) return;
    const began = performance.now();
    const mode = view.width >= SINGLE.wide ? "wide" : view.width >= MID ? "mid" : "narrow";
    const name = `cluster-panel time-panel ${mode} ${p.pair(view.shown) ? "pair" : ""}`;
    if (root.className !== name) root.className = name;
    patch(root, picture(p, view, model.get("notice")));
    fly(root, view.clock);
    follow();
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

  /* At a moment: the clock stands at its time; what is on its way then is in the air. */
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
    const next = at === view.at + 1;
    if (model.get("position") !== at) { model.set("position", at); model.save_changes(); }
    if (next) travel(at); else if (at !== view.at || flying) arrive(at);
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
    say(`There is no ${JUMPS.find((each) => each[0] === mark)[2]} ${way > 0 ? "after" : "before"} this moment.`);
  };
  const say = (words) => { model.set("notice", words); model.save_changes(); later(); };
  const closeMenu = () => {
    const back = root.querySelector(`[data-do="menu"][data-node="${view.menu}"]`);
    view.menu = null;
    draw();
    back?.focus();
  };
  const openSource = () => {
    const line = p.fresh(view.at).flatMap(([, step]) => step.lines).find((each) => each[4]);
    view.source = view.source ? "" : line?.[4] ?? "";
    if (!view.source && !line) say("Nothing in the engine’s source told of this step.");
    later();
  };
  const ask = (message) => { play(false); model.send(message); };

  const deeds = {
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
    if (model.get("notice")) say("");
    deeds[button.dataset.do](button.dataset, event);
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
  const MARKS = { n: "fault", d: "parted", x: "truncation" };
  const PLAIN = { ArrowLeft: "back", ArrowRight: "step", Home: "first", End: "last", f: "fork" };
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const among = event.target.closest("[role=menu], [role=tablist]");
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[key];
    if (key === "Escape" && view.menu != null) closeMenu();
    else if (key === "Escape" && view.source) deeds.close();
    else if (among && by) {
      const items = [...among.querySelectorAll("button")];
      const next = items[(items.indexOf(event.target) + by + items.length) % items.length];
      next.focus();
      if (next.role === "tab") next.click();
    } else if (key in PLAIN) { if (key === "f" && p.film.alone) say(NO_ENGINE); else deeds[PLAIN[key]](); }
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
  const sized = new ResizeObserver(([entry]) => { view.width = entry.contentRect.width; later(); });
  sized.observe(root);
  load();

  return () => {
    clearTimeout(dwelling);
    cancelAnimationFrame(flying);
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
    send: () => model.set("notice", NO_ENGINE),
    on: (name, deed) => (heard[name] ??= []).push(deed),
    off: () => {},
  };
  render({ model, el });
}

export default { render };
