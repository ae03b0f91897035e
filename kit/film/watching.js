/* A panel over a running cluster: draws what its traits say, and sends back what is pressed.

   `timeline` has the frames at hand (first, last, at, and times: number and place), `position` is
   the frame in view, NOW while it follows.  Put behind stage.js. */

const NOW = -1, WATCH_MS = 4000, PLAY_MS = 500;
const LOOKING_BACK = "You are looking back: press End to return to now.";

const liveTrace = (lines, view, sources) =>
  h("aside", { key: "trace", "aria-label": "trace", tabindex: 0 },
    h("h4", {}, "Trace", h("small", {}, " a line opens the engine’s source")),
    lines.length ? lines.map(([at, node, says, why, rule, source, now], place) => h("button", {
      key: `${at} ${says} ${place}`, type: "button", class: now ? "now" : "", "data-do": "source", "data-source": source, "aria-disabled": source ? null : "true",
      title: [why, rule].filter(Boolean).join(" · ") || null, "aria-expanded": source ? String(view.source === source) : null,
    }, h("span", { class: "at" }, at.toFixed(2)), node >= 0 && h("b", {}, node), ` ${says}`)) : h("p", {}, "Nothing has happened yet."));

/* The widget.  A panel says how it is drawn, and in `does`, what it sends beside going back and forth. */
function watching({ model, el }, panel) {
  const { root, view, draw, later, stop } = stage(el, panel.kind, panel.name, (view) => {
    const drawn = panel.picture(model, view);
    return drawn && [drawn, model.get("position") === NOW ? "" : "past"];
  });
  Object.assign(view, panel.view);
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
    time: (place) => { play(false); go((model.get("timeline").times.findLast(([, time]) => time <= place) ?? [0])[0]); },
    ...panel.does((message) => model.send(message), view, root),
  }, panel.onMember);
  const traits = ["scene", "timeline", "notice", "position", "sources"].map((name) => `change:${name}`);
  traits.forEach((trait) => model.on(trait, later));
  let inView = true;
  const watch = () => { if (inView && document.visibilityState === "visible") model.send({ type: "watch" }); };
  const seen = new IntersectionObserver(([entry]) => { inView = entry.isIntersecting; watch(); });
  seen.observe(root);
  watch();
  const ticking = setInterval(watch, WATCH_MS);
  draw();
  return () => {
    clearInterval(ticking);
    clearInterval(view.ticking);
    seen.disconnect();
    stop();
    traits.forEach((trait) => model.off(trait, later));
  };
}
