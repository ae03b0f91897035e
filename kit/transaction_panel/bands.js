/* The timeline: a band for each transactional id, coloured by its state.

   Each moment has the same room: a commit takes milliseconds, and the time before it seconds.  Put
   behind marks.js and ledger.js. */

const BAND = 15, BAND_LEFT = 96;
const bandLeft = (width) => (width < MID ? 60 : BAND_LEFT);

/* `t` has rows ([id, [[from, to, state]]]), marks, `at` and `last`, all in moments. */
function timeBars(t, width, title = "") {
  const left = bandLeft(width), room = Math.max(80, width - left - 8), x = (place) => left + (place / Math.max(1, t.last)) * room;
  const top = MARKS + (title ? 18 : 0), low = top + Math.max(1, t.rows.length) * BAND;
  return h("svg", { key: `bars ${title}`, class: "bars", width, height: low + 6, role: "img", "aria-label": "the state of each transactional id over time" },
    title && h("text", { key: "title", class: "take-name", x: 0, y: 13 }, title),
    t.rows.map(([name, spans], row) => h("g", { key: name, class: "band" },
      h("text", { x: left - 8, y: top + row * BAND + 11, "text-anchor": "end" }, cut(name, left - 10)),
      spans.map(([from, to, state], place) => h("g", { key: place, class: `span ${state}` },
        h("title", {}, `${name}: ${state}`),
        h("rect", { x: x(from), y: top + row * BAND + 1, width: Math.max(2, x(Math.min(to, t.last)) - x(from)), height: BAND - 2 }),
        x(to) - x(from) > state.length * 5.6 + 6 && h("text", { key: "says", class: "says", x: x(from) + 4, y: top + row * BAND + 11 }, state))))),
    h("rect", { key: "later", class: "later", x: x(t.at), y: top - 2, width: Math.max(0, x(t.last) - x(t.at)), height: low - top + 4 }),
    h("line", { key: "now", class: "now", x1: x(t.at), x2: x(t.at), y1: top - 6, y2: low + 4 }),
    h("g", { key: "marks", transform: `translate(0,${top - MARKS})` }, marks(t.marks, x, t.at, width)));
}

function timeSlider(t, width, words) {
  const left = bandLeft(width);
  return h("input", { key: "slider", class: "slider", type: "range", min: 0, max: Math.max(1, t.last), step: 1, value: t.at,
    style: `margin-left: ${left - 8}px; width: ${Math.max(80, width - left - 8) + 16}px`, "aria-label": "timeline", "aria-valuetext": words });
}
