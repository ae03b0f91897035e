/* The names of a timeline's events, in a drawing whose upper MARKS pixels are free for them. */

const MARKS = 30;

/* Names on the timeline: the newest first, where there is room; what does not fit is a dot. */
function marks(list, x, now, edge = Infinity) {
  let free = Infinity, last = Infinity;
  return list.toReversed().map(([number, at, name]) => {
    const half = name.length * 2.9 + 6, centre = x(at), middle = Math.min(centre, edge - half);
    const fits = middle + half < free && middle - half > -6;
    if (!fits && last - centre < 9) return null;
    last = centre;
    if (fits) free = middle - half;
    return h("g", { key: `mark ${number}`, class: `mark ${at <= now ? "past" : ""}`, "data-do": "go", "data-number": number },
      h("title", {}, name), h("circle", { cx: centre, cy: MARKS - 7, r: 3.6 }),
      fits && h("text", { x: middle, y: MARKS - 15, "text-anchor": "middle" }, name));
  });
}
