/* The timeline of a recorded world: its moments, their names, and buttons to go through them. */

const PLAY_MS = 500;

function timeline(t, view) {
  if (!t) return null;
  const room = Math.max(120, view.width - 52), x = (place) => 8 + (place / Math.max(1, t.last)) * (room - 16);
  let free = Infinity; // labels are placed from the newest backwards; what does not fit is a dot
  const dots = t.marks.toReversed().map(([place, name]) => {
    const half = name.length * 3 + 5, at = Math.min(Math.max(x(place), half), room - half);
    const fits = at + half < free;
    if (fits) free = at - half;
    return h("g", { key: place, class: `moment ${place <= t.at ? "past" : ""}`, "data-do": "moment", "data-at": place },
      h("title", {}, name), h("circle", { cx: x(place), cy: 7, r: 4 }), fits && h("text", { key: "name", x: at, y: 24, "text-anchor": "middle" }, name));
  });
  return h("section", { key: "time", class: "travel", "aria-label": "timeline" },
    h("div", { key: "deck", class: "deck" },
      h("span", { class: "group" }, moment(-1e9, "first", "The beginning", t.at === 0), moment(-1, "back", "The moment before ([)", t.at === 0),
        h("button", { type: "button", "data-do": "play", "aria-label": view.playing ? "stop playing" : "play", "data-tip": "Play (space)" }, icon(view.playing ? "pause" : "play")),
        moment(1, "step", "The next moment (])", t.at === t.last), moment(1e9, "last", "The end", t.at === t.last)),
      h("span", { class: "group" }, h("b", { class: "clock" }, `${t.seconds.toFixed(3)} s`), h("span", {}, ` moment ${t.at + 1} of ${t.last + 1}`))),
    h("p", { key: "says", class: "happened", "aria-live": "polite" }, stressed(t.says)),
    h("input", { key: "slider", type: "range", min: 0, max: t.last, step: 1, value: t.at, "data-do": "scrub", "aria-label": "timeline", "aria-valuetext": `${t.seconds.toFixed(3)} seconds: ${plain(t.says)}` }),
    h("svg", { key: "marks", class: "marks", width: room, height: 30, "aria-hidden": true }, dots.reverse()));
}

const moment = (by, sign, tip, off) =>
  h("button", { type: "button", "data-do": "moments", "data-by": by, "aria-label": tip, "data-tip": tip, "aria-disabled": off ? "true" : null }, icon(sign));
