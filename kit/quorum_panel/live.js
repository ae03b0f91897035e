/* The Quorum panel over a running cluster: what it adds to kit/panel/panel.js. */

function quorumLive(model, view) {
  const scene = model.get("scene"), timeline = model.get("timeline"), live = model.get("position") === NOW;
  const g = quorumGeometry(scene.columns, view.width, false);
  const part = scene.parts_at != null && g.seen(scene.parts_at);
  return [
    patterns(view.id),
    h("header", {},
      h("span", { class: "title" }, h("b", {}, "Quorum")),
      scene.facts.map(([name, value]) => fact(name, value)),
      h("span", { key: "edge", class: "edge" }, h("span", { class: `when ${live ? "live" : "back"}` }, live ? "live" : "looking back", h("b", {}, ` ${scene.time}`)))),
    h("div", { key: "body", class: "body" },
      h("div", { class: "rows" },
        g.mode !== "narrow" && h("svg", { key: "ruler", class: "ruler", width: g.width, height: LANE.ruler, "aria-hidden": true },
          h("text", { class: "digit", x: LANE.left - 12, y: 18, "text-anchor": "end" }, "offset"),
          h("g", { style: "transform: translateY(6px)" }, quorumRuler(g))),
        scene.rows.map((row) => h("div", { key: row.id, class: `row ${row.state}`, "data-row": row.id },
          quorumCard(row, view, live ? "" : LOOKING_BACK), quorumLane(row, scene, g, view.id))),
        part && h("div", { key: "part", class: "part", style: `padding-left: ${g.of(scene.parts_at) - CELL.gap / 2}px` }, "logs diverge here"),
        entriesOf(scene.entries, scene)),
      trace(scene)),
    h("footer", { key: "footer" },
      h("p", { class: "caption", "aria-live": "polite" }, stressed(scene.caption)),
      h("p", { class: "notice", role: "status" }, model.get("notice")),
      track(timeline, live, view.playing != null, view.width - 150),
      quorumLegend(view.id),
      h("div", { class: "keys" }, [["← →", "step"], ["Home End", "first, now"], ["space", "play"],
        ["K S P C", "kill, stop, pause, cut (on a controller)"], ["T", "read as text"]]
        .map(([key, what]) => h("span", { key }, h("kbd", {}, key), ` ${what}`))),
      view.reading && h("pre", { key: "text", tabindex: 0 }, scene.text)),
  ];
}

const render = (widget) => watchRows(widget, { kind: "cluster-panel quorum-panel", name: "Quorum panel", picture: quorumLive, wide: QUORUM.wide });

export default { render };
