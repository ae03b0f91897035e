/* The Group panel over a running cluster: draws the traits of live_panel.py, sends back presses. */

const NOW = -1, WATCH_MS = 4000, PLAY_MS = 500;
const LOOKING_BACK = "You are looking back: press End to return to now.";
const RATES = [0, 20, 100, 500];

const groupTrace = (lines, view, sources) =>
  h("aside", { key: "trace", "aria-label": "trace", tabindex: 0 },
    h("h4", {}, "Trace", h("small", {}, " a line opens the engine’s source")),
    lines.length ? lines.map(([at, node, says, why, rule, source, now], place) => h("button", {
      key: `${at} ${says} ${place}`, type: "button", class: now ? "now" : "", "data-do": "source", "data-source": source, "aria-disabled": source ? null : "true",
      title: [why, rule].filter(Boolean).join(" · ") || null, "aria-expanded": source ? String(view.source === source) : null,
    }, h("span", { class: "at" }, at.toFixed(2)), node >= 0 && h("b", {}, node), ` ${says}`)) : h("p", {}, "Nothing has happened yet."));

const actions = (scene, view, refused) =>
  h("div", { key: "deck", class: "deck" },
    h("span", { class: "group" },
      h("button", { type: "button", "data-do": "play", "aria-label": view.playing ? "stop playing" : "play", "data-tip": "Play what was seen (space)" }, icon(view.playing ? "pause" : "play")),
      h("button", { type: "button", "data-do": "now", "aria-disabled": refused ? null : "true", "data-tip": refused ? "Back to now (End)" : "This is now" }, "now")),
    h("span", { class: "group add" },
      h("label", {}, "a member with ", h("select", { "data-do": "protocol", "aria-label": "protocol of a new member", value: view.protocol },
        scene.protocols.map((name) => h("option", { key: name, value: name, selected: name === view.protocol }, PROTOCOLS[name] ?? name)))),
      h("button", { type: "button", class: "go", "data-do": "add", "aria-disabled": refused ? "true" : null, "data-tip": refused || "A real consumer in a process of its own (A)" }, "+ add")),
    h("label", { class: "group" }, "write ",
      h("select", { "data-do": "write", "aria-label": "records a second", value: String(scene.writes) },
        [...new Set([...RATES, scene.writes])].sort((a, b) => a - b).map((rate) => h("option", { key: rate, value: rate, selected: rate === scene.writes }, rate ? `${rate} records/s` : "nothing")))));

const PROTOCOLS = { range: "range (eager)", "cooperative-sticky": "cooperative-sticky", consumer: "consumer (KIP-848)" };

function livePicture(model, view) {
  const scene = model.get("scene"), t = model.get("timeline"), live = model.get("position") === NOW;
  const g = layout(scene, view.width), refused = live ? "" : LOOKING_BACK, sources = model.get("sources");
  return [
    groupPatterns(view.id),
    groupHeading(scene, h("span", { class: `when ${live ? "live" : "back"}` }, live ? "live" : "looking back", h("b", {}, ` ${scene.time}`))),
    h("div", { key: "body", class: "body" }, board(scene, g, view.id, refused), groupTrace(scene.trace, view, sources)),
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

function render({ model, el }) {
  const { root, view, draw, later, stop } = stage(el, "group-panel", "Group panel", (view) => {
    const scene = model.get("scene");
    return scene.members && [livePicture(model, view), model.get("position") === NOW ? "" : "past"];
  });
  view.protocol = "range";
  const set = (name, value) => { model.set(name, value); model.save_changes(); later(); };
  const say = (words) => { root.querySelector(".notice").textContent = words; };
  const go = (number) => {
    const { first, last } = model.get("timeline");
    set("position", number >= last ? NOW : Math.max(first, number));
  };
  const at = () => model.get("timeline").at;
  const play = (on = !view.playing) => {
    clearInterval(view.ticking);
    view.playing = on;
    if (on) {
      if (model.get("position") === NOW) go(model.get("timeline").times[0][0]);
      view.ticking = setInterval(() => (model.get("position") === NOW ? play(false) : go(at() + 1)), PLAY_MS);
    }
    later();
  };
  controls(root, view, later, say, {
    step: (by) => { play(false); if (by < 0 || model.get("position") !== NOW) go(at() + by); },
    first: () => { play(false); go(model.get("timeline").times[0][0]); },
    last: () => { play(false); go(Infinity); },
    now: () => { play(false); go(Infinity); },
    play: () => play(),
    go: ({ number }) => { play(false); go(Number(number)); },
    time: (us) => { play(false); go((model.get("timeline").times.findLast(([, time]) => time <= us) ?? [0])[0]); },
    press: ({ action, name }) => model.send({ type: "press", action, name }),
    add: () => model.send({ type: "add", protocol: view.protocol }),
    write: (rate) => model.send({ type: "write", per_s: Number(rate) }),
  });
  const traits = ["scene", "timeline", "notice", "position", "sources"].map((name) => `change:${name}`);
  traits.forEach((trait) => model.on(trait, later));
  let inView = true;
  const watch = () => { if (inView && document.visibilityState === "visible") model.send({ type: "watch" }); };
  const seen = new IntersectionObserver(([entry]) => { inView = entry.isIntersecting; watch(); });
  seen.observe(root);
  watch();
  const watching = setInterval(watch, WATCH_MS);
  draw();
  return () => {
    clearInterval(watching);
    clearInterval(view.ticking);
    seen.disconnect();
    stop();
    traits.forEach((trait) => model.off(trait, later));
  };
}

export default { render };
