/* Buttons of a timeline, and the engine's source that a line of the trace opens. */

const SPEEDS = [0.5, 1, 2, 4];

/* Draws the signs that some fonts lack. */
const ICONS = {
  first: "M3 3v10M13 3 6 8l7 5z", back: "M11 3 4 8l7 5z", play: "M5 3l8 5-8 5z", pause: "M5 3v10M11 3v10",
  step: "M4 3l7 5-7 5zM13 3v10", last: "M3 3l7 5-7 5zM13 3v10", fork: "M4 2v12M4 9c0-3 8-2 8-6",
};
const icon = (name) =>
  h("svg", { class: `icon ${name}`, width: 14, height: 14, viewBox: "0 0 16 16", "aria-hidden": true }, h("path", { d: ICONS[name] }));

const seconds = (us, digits = 6) => (us / 1e6).toFixed(digits);

function source(sources, view) {
  const found = sources[view.source];
  if (!found) return null;
  return h("section", { key: "source", class: "source", "aria-label": `source: ${found.place}` },
    h("h4", {}, h("code", {}, found.place), h("span", {}, ` ${found.function}`),
      found.also && h("button", { key: "also", type: "button", class: "also", "data-do": "source", "data-source": found.also }, `${found.says}: ${sources[found.also].function} ▸`),
      h("button", { type: "button", "data-do": "close", "aria-label": "close the source" }, "✕")),
    h("pre", { tabindex: 0 }, found.lines.map((line, at) => h("div", {
      key: `${view.source} ${at}`, class: found.start + at === found.line ? "here" : "",
    }, h("span", { class: "line" }, String(found.start + at)), line.map(([kind, words], piece) => h("span", { key: piece, class: kind ? `t-${kind}` : null }, words)), "\n"))));
}
