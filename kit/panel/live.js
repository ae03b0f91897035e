/* The Cluster panel over a running cluster: what it adds to panel.js. */

/* ---- what one broker says to another ----------------------------------------------------- */

function talk(scene, timeline, g, live) {
  if (g.mode === "narrow" || !scene.messages.length) return null;
  const place = (id) => scene.rows.findIndex((row) => row.id === id);
  const middle = (id) => LANE.ruler + place(id) * LANE.height + CELL.top + CELL.height / 2;
  const ends = scene.rows.map((row) => Math.min(Math.max(row.log_end_offset, g.first), g.end));
  const x = Math.min(g.x(Math.max(...ends)) + 62, g.width - 40);
  const height = LANE.ruler + scene.rows.length * LANE.height;
  return h("svg", {
    key: `talk ${timeline.at}`, class: `talk ${live ? "passing" : ""}`, width: g.width, height, "aria-hidden": true,
  },
  scene.messages.filter((message) => place(message.source) >= 0 && place(message.destination) >= 0).map((message) => {
    const from = middle(message.source), to = middle(message.destination);
    const down = Math.sign(to - from), bend = 34 + Math.abs(to - from) / 12;
    const path = `M${x},${from + 8 * down} C${x + bend},${from + 8 * down} ${x + bend},${to - 8 * down} ${x},${to - 8 * down}`;
    const pill = message.says.length * 6.3 + 22;
    const centre = Math.min(x + bend * 0.75, g.width - pill / 2 - 2);
    const y = Math.abs(to - from) > LANE.height ? to - down * LANE.height / 2 : (from + to) / 2;
    return h("g", { key: message.destination },
      h("path", { class: "way", d: path }),
      h("path", { class: "head", d: `M${x - 7},${to - 8 * down} l9,-5 v10z` }),
      !still() && h("circle", { class: "dot", r: 5, style: `offset-path: path("${path}")` }),
      h("rect", { class: "pill", x: centre - pill / 2, y: y - 12, width: pill, height: 24, rx: 12 }),
      h("text", { x: centre, y: y + 4 }, message.says));
  }));
}

function heading(scene, live) {
  const name = scene.topics.length > 1
    ? h("select", { "data-do": "topic", "aria-label": "topic", value: scene.topic },
        scene.topics.map((topic) => h("option", { key: topic, value: topic, selected: topic === scene.topic }, topic)))
    : h("b", { class: "topic" }, scene.topic || "cluster");
  return h("header", {},
    h("span", { class: "title" }, name, scene.facts.length ? h("b", {}, ` · partition ${scene.partition}`) : null),
    scene.facts.map(([name, value]) => fact(name, value)),
    h("span", { key: "edge", class: "edge" },
      controllerOf(scene),
      h("span", { class: `when ${live ? "live" : "back"}` }, live ? "live" : "looking back", h("b", {}, ` ${scene.time}`))));
}

const keys = () =>
  h("div", { class: "keys" }, [["← →", "step"], ["Home End", "first, now"], ["space", "play"],
    ["K S P C", "kill, stop, pause, cut (on a broker)"], ["T", "read as text"]]
    .map(([key, what]) => h("span", { key }, h("kbd", {}, key), ` ${what}`)));

function picture(model, view) {
  const scene = model.get("scene"), timeline = model.get("timeline"), notice = model.get("notice");
  const live = model.get("position") === NOW;
  const g = geometry(scene.offsets, view.width);
  const part = scene.parts_at != null && g.seen(scene.parts_at);
  return [
    patterns(view.id),
    heading(scene, live),
    strip(scene),
    controllersOf(scene, view, live ? "" : LOOKING_BACK),
    h("div", { key: "body", class: "body" },
      h("div", { class: "rows" },
        g.mode !== "narrow" && h("svg", { key: "ruler", class: "ruler", width: g.width, height: LANE.ruler, "aria-hidden": true },
          h("text", { class: "digit", x: LANE.left - 12, y: 18, "text-anchor": "end" }, "offset"),
          h("g", { style: "transform: translateY(6px)" }, ruler(g))),
        scene.rows.map((row) => h("div", { key: row.id, class: `row ${row.state}`, "data-row": row.id },
          card(row, scene, view, live ? "" : LOOKING_BACK), lane(row, scene, g, view.id))),
        part && h("div", { key: "part", class: "part", style: `padding-left: ${g.of(scene.parts_at) - CELL.gap / 2}px` }, "logs diverge here"),
        talk(scene, timeline, g, live)),
      trace(scene)),
    h("footer", { key: "footer" },
      h("p", { class: "caption", "aria-live": "polite" }, stressed(scene.caption)),
      h("p", { class: "notice", role: "status" }, notice),
      track(timeline, live, view.playing != null, view.width - 150),
      legend(view.id),
      keys(),
      view.reading && h("pre", { key: "text", tabindex: 0 }, scene.text)),
  ];
}

const render = (widget) => watchRows(widget, { kind: "cluster-panel", name: "Cluster panel", picture });

export default { render };
