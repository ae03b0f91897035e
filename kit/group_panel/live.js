/* The Group panel over a running cluster: draws the traits of live_panel.py, sends back presses. */

const RATES = [0, 20, 100, 500];

const actions = (scene, view, refused) =>
  h("div", { key: "deck", class: "deck" },
    h("span", { class: "group" },
      h("button", { type: "button", "data-do": "play", "aria-label": view.playing ? "stop playing" : "play", "data-tip": "Play what was seen (space)" }, icon(view.playing ? "pause" : "play")),
      h("button", { type: "button", "data-do": "now", "aria-disabled": refused ? null : "true", "data-tip": refused ? "Back to now (End)" : "This is now" }, "now")),
    h("span", { class: "group add" },
      h("label", {}, "a member with ", h("select", { "data-do": "protocol", "aria-label": "protocol of a new member", value: view.joins },
        scene.protocols.map((name) => h("option", { key: name, value: name, selected: name === view.joins }, PROTOCOLS[name] ?? name)))),
      h("button", { type: "button", class: "go", "data-do": "add", "aria-disabled": refused ? "true" : null, "data-tip": refused || "A real consumer in a process of its own (A)" }, "+ add")),
    h("label", { class: "group" }, "write ",
      h("select", { "data-do": "write", "aria-label": "records a second", value: String(scene.writes) },
        [...new Set([...RATES, scene.writes])].sort((a, b) => a - b).map((rate) => h("option", { key: rate, value: rate, selected: rate === scene.writes }, rate ? `${rate} records/s` : "nothing")))));

const PROTOCOLS = { range: "range (eager)", "cooperative-sticky": "cooperative-sticky", consumer: "consumer (KIP-848)" };

function livePicture(model, view) {
  const scene = model.get("scene"), t = model.get("timeline"), live = model.get("position") === NOW;
  view.joins = view.protocol || usual(scene, "range");
  const g = layout(scene, view.width), refused = live ? "" : LOOKING_BACK, sources = model.get("sources");
  return [
    groupPatterns(view.id),
    groupHeading(scene, h("span", { class: `when ${live ? "live" : "back"}` }, live ? "live" : "looking back", h("b", {}, ` ${scene.time}`))),
    h("div", { key: "body", class: "body" }, board(scene, g, view.id, refused), liveTrace(scene.trace, view, sources)),
    source(sources, view),
    h("footer", { key: "footer" },
      h("p", { class: "caption", "aria-live": "polite" }, stressed(scene.caption)),
      h("p", { class: "notice", role: "status" }, model.get("notice")),
      h("div", { class: "scroll" }, bars(t, scene.lags, view.width - 34, view.id), slider(t, view.width - 34, live ? "now" : `looking back, ${scene.time}`)),
      actions(scene, view, refused),
      groupLegend(scene, view.id),
      groupKeys([]),
      view.reading && h("pre", { key: "text", tabindex: 0 }, scene.text)),
  ];
}

const render = (widget) => watching(widget, {
  kind: "group-panel", name: "Group panel", view: { protocol: "" },
  picture: (model, view) => model.get("scene").members && livePicture(model, view),
  does: (send, view) => ({
    press: ({ action, name }) => send({ type: "press", action, name }),
    add: () => send({ type: "add", protocol: view.joins }),
    write: (rate) => send({ type: "write", per_s: Number(rate) }),
  }),
});

export default { render };
