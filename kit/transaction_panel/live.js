/* The Transaction panel over a running cluster: draws the traits of live_panel.py, sends back presses. */

const liveDeck = (scene, view, refused) =>
  h("div", { key: "deck", class: "deck" },
    h("span", { class: "group" },
      h("button", { type: "button", "data-do": "play", "aria-label": view.playing ? "stop playing" : "play", "data-tip": "Play what was seen (space)" }, icon(view.playing ? "pause" : "play")),
      h("button", { type: "button", "data-do": "now", "aria-disabled": refused ? null : "true", "data-tip": refused ? "Back to now (End)" : "This is now" }, "now")),
    h("span", { key: "add", class: "group add" },
      h("label", {}, "transactional.id ", h("input", { type: "text", class: "new-id", "aria-label": "transactional.id of a new producer", placeholder: "transfer", size: 14 })),
      h("button", { type: "button", class: "go", "data-do": "add", "aria-disabled": refused ? "true" : null, "data-tip": refused || "A real producer in a process of its own" }, "+ producer")));

function livePicture(model, view) {
  const scene = model.get("scene"), t = model.get("timeline"), live = model.get("position") === NOW, sources = model.get("sources");
  if (!scene.ids) return null;
  const width = view.width - 34, narrow = view.width < MID, inside = Math.max(240, (view.width >= WIDE ? view.width - 264 : view.width) - 34);
  const refused = live ? "" : LOOKING_BACK;
  return [
    ledgerPatterns(view.id),
    h("header", { key: "heading" },
      h("span", { class: "title" }, h("b", {}, "Transactions"), h("b", {}, scene.title ? ` · ${scene.title}` : "")),
      scene.facts.map(([name, value]) => fact(name, value)),
      h("span", { key: "edge", class: "edge" }, scene.files ? h("span", { class: "when" }, "a broker’s files") : h("span", { class: `when ${live ? "live" : "back"}` }, live ? "live" : "looking back", h("b", {}, ` ${scene.time}`)))),
    h("div", { key: "body", class: "body" },
      h("div", { key: "board", class: "board" },
        scene.ids.map((each) => idCard(each, scene, scene.edges, Math.min(640, inside - 24), refused)),
        loose(scene, refused),
        ledger(scene, inside, narrow, view.id),
        readersOf(scene)),
      liveTrace(scene.trace, view, sources)),
    source(sources, view),
    h("footer", { key: "footer" },
      h("p", { class: "caption", "aria-live": "polite" }, stressed(scene.caption)),
      h("p", { class: "notice", role: "status" }, model.get("notice")),
      !scene.files && h("div", { key: "time", class: "scroll" }, timeBars({ ...t, at: t.now, last: t.end }, width), timeSlider({ at: t.now, last: t.end }, width, live ? "now" : `looking back, ${scene.time}`)),
      !scene.files && liveDeck(scene, view, refused),
      ledgerLegend(view.id),
      h("div", { key: "keys", class: "keys" }, [["← →", "step"], ["Home End", "ends"], ["space", "play"], ["O", "source"],
        ["B S G C X K", "begin, send, group offsets, commit, abort, kill (on a producer)"], ["T", "read as text"]]
        .map(([key, what]) => h("span", { key }, h("kbd", {}, key), ` ${what}`))),
      view.reading && h("pre", { key: "text", tabindex: 0 }, scene.text)),
  ];
}

const render = (widget) => watching(widget, {
  kind: "transaction-panel", name: "Transaction panel", view: {}, picture: livePicture,
  does: (send, view, root) => ({
    press: ({ action, name }) => send({ type: "press", action, name }),
    zombie: ({ id }) => send({ type: "zombie", id }),
    add: () => { const typed = root.querySelector(".new-id"); send({ type: "add", id: typed.value.trim() || typed.placeholder }); },
    broker: ({ action, broker }) => send({ type: "broker", action, broker: Number(broker) }),
  }),
  onMember: { b: 0, s: 1, g: 2, c: 3, x: 4, k: 5 },
});

export default { render };
