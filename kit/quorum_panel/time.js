/* The Quorum panel over a recorded world: what it adds to kit/panel/time_panel.js. */

function quorumProjector(film) {
  const p = projector(film);
  const seen = (at) => film.pools.views[film.views[at]];
  return { ...p, seen, offsets: (at) => [0, seen(at).columns.length, at] };
}

function quorumHeading(p, at, clock) {
  const scene = p.scene(at, p.active(at)), others = p.pair(at) ? Object.fromEntries(p.scene(at, 0).facts) : {};
  const both = (name, value) => (p.pair(at) && others[name] !== value ? `${others[name] ?? "–"} | ${value}` : value);
  return h("header", {},
    h("span", { class: "title" }, h("b", {}, "Quorum")),
    scene.facts.map(([name, value]) => fact(name, both(name, value))),
    h("span", { key: "edge", class: "edge" },
      h("span", { class: "when" }, "t = ", h("b", { class: "clock" }, `${seconds(clock)} s`), h("small", {}, ` event ${scene.step.event}`))));
}

const standingIn = (name, row) =>
  h("div", { key: name, class: `standing take${name} ${row.is_active ? "leads" : ""}` },
    h("i", { "aria-label": `timeline ${name}` }, name), row.state === "running" ? [roleOf(row), activeOf(row)] : stateOf(row), epochOf(row, "e"),
    h("div", { key: "vote", class: "vote" }, h("span", {}, row.vote), cutOf(row)));

const quorumPair = (one, two, view, refused) =>
  h("div", { class: `card pair ${two.state}` },
    h("div", { class: "name" }, h("b", {}, two.id)), standingIn("1", one), standingIn("2", two), buttons(two, view, refused));

function quorumRows(p, at, g, view, refused) {
  const pair = p.pair(at), scenes = [p.scene(at, 0), p.scene(at, 1)], differs = p.differs(at);
  return scenes[1].rows.map((row, place) => {
    const one = scenes[0].rows[place] ?? row, cells = differs?.cells[row.id] ?? [];
    const deps = [row, one, g, scenes[0].parts_at, scenes[1].parts_at, pair, String(cells), refused, view.menu === row.id];
    return view.memo(`row ${row.id}`, deps, () => h("div", { key: row.id, class: `row ${row.state}`, "data-row": row.id },
      pair ? quorumPair(one, row, view, refused) : quorumCard(row, view, refused),
      pair
        ? h("div", { key: "lanes", class: "lanes" },
            h("div", { key: "1", class: `sub ${one.state}` }, quorumLane(one, scenes[0], g, view.id, cells, "1")),
            h("div", { key: "2", class: `sub ${row.state}` }, quorumLane(row, scenes[1], g, view.id, cells, "2")))
        : quorumLane(row, scenes[0], g, view.id)));
  });
}

/* The moment in words. */
function quorumWords(p, at) {
  const takes = p.pair(at) ? [0, 1] : [0], now = p.time(at);
  const parts = takes.flatMap((take) => {
    const scene = p.scene(at, take);
    return [`${takes.length > 1 ? `timeline ${take + 1}, ` : ""}t = ${seconds(scene.step.t)} s: ${scene.facts.map((each) => each.join(" ")).join(" · ")}`,
      ...scene.rows.map((row) => row.text)];
  });
  const flights = p.flights(p.active(at), now, now).filter((each) => each[1] > now).map((each) => `${each[6] ? "held at the cut" : "on its way"}: ${each[2]} → ${each[3]}: ${each[5]}`);
  return [...parts, ...flights, plain(narration(p, at)), plain(p.differs(at)?.says ?? "")].filter(Boolean).join("\n");
}

const render = (widget) => playRows(widget, {
  kind: "cluster-panel time-panel quorum-panel", name: "Quorum panel, time travel",
  projector: quorumProjector, heading: quorumHeading, rows: quorumRows, ruler: quorumRuler, words: quorumWords, legend: quorumLegend,
  geometry: (offsets, width, pair, p) => quorumGeometry(p.seen(offsets[2]).columns, width, pair),
  stations: () => null,
  above: () => null,
  below: (p, at, view) => view.memo("entries", [p.seen(at)], () => entriesOf(p.seen(at).entries, p.scene(at, p.active(at)))),
  keys: () => h("div", { key: "keys", class: "keys" }, [["← →", "step"], ["Home End", "ends"], ["space", "play"], ["+ −", "speed"], ["F", "fork here"],
    ["N E X", "next fault, election, truncation (Shift: back)"], ["O", "source"],
    ["K S P C", "kill, stop, pause, cut (on a controller)"], ["T", "read as text"]]
    .map(([key, what]) => h("span", { key }, h("kbd", {}, key), ` ${what}`))),
  jumps: [["fault", "N", "fault"], ["election", "E", "election"], ["truncation", "X", "truncation"]],
});

export default { render };
