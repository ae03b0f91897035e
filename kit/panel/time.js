/* The Cluster panel over a recorded world: what it adds to time_panel.js. */

const PAIR = { ...SINGLE, top: 15, cell: 34, height: 67 };

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
      ...scene.rows.map((row) => row.text)];
  });
  const take = p.active(at), now = p.time(at);
  const flights = p.flights(take, now, now).filter((each) => each[1] > now).map((each) => `${each[6] ? "held at the cut" : "on its way"}: ${each[2]} → ${each[3]}: ${each[5]}`);
  return [...parts, ...flights, plain(narration(p, at)), plain(p.differs(at)?.says ?? "")].filter(Boolean).join("\n");
}

/* The nodes that have no row: above the messages' column. */
const clusterStations = (scene, s) => [
  h("g", { key: "client", class: "station" }, h("text", { x: s.client, y: 18 }, "client")),
  h("g", { key: "controller", class: `station ${scene.controller[1]}` }, h("text", { x: s.controller, y: 18 }, noneActive(scene) ? "controllers" : `controller ${scene.controller[0]}`)),
];

const render = (widget) => playRows(widget, {
  kind: "cluster-panel time-panel", name: "Cluster panel, time travel", projector, heading, ruler, keys, words,
  geometry: (offsets, width, pair) => geometry(offsets, width, pair ? PAIR : SINGLE),
  rows: rowsOf,
  stations: clusterStations,
  above: (p, at, view, refused) => {
    const scene = p.scene(at, p.active(at));
    return [view.memo("strip", [scene.strip, scene.partition], () => strip(scene)), controllersOf(scene, view, refused)];
  },
  below: () => null,
  legend: (id) => legend(id, [h("svg", { width: 12, height: 10, "aria-hidden": true }, h("path", { class: "promised", d: "M1.5,5.5l3,3 6,-7" })), "acknowledged to a client"]),
  jumps: [["fault", "N", "fault"], ["parted", "D", "divergence"], ["truncation", "X", "truncation"]],
});

export default { render };
