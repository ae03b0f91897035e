/* The timeline of a group: a row for each partition, with its lag and the times in which it had no reader.  Put behind board.js and marks.js. */

const LAG_WIDTH = 64, AXIS = 20, TITLE = 18;
const ROWS_MOST = 80, ROWS_SHOWN = 48;

function barsLayout(lags, width, takes = 1) {
  const left = width < MID ? 74 : 148;
  const count = Math.max(1, lags.length);
  const height = Math.max(takes > 1 ? 4 : 5, Math.min(takes > 1 ? 13 : 17, (takes > 1 ? 170 : 230) / count));
  return { left, right: 8, row: height, room: Math.max(80, width - left - 8), count, every: Math.ceil(13 / height), tall: height >= 11 };
}

const nice = (us) => [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 6e7, 1.2e8, 3e8].find((step) => us / step <= 9) ?? 6e8;
const short = (us) => (us >= 1e5 ? `${(us / 1e6).toFixed(1)} s` : `${Math.round(us / 1e3)} ms`);

/* Committed offset and log end, or the lag where the two are too long for their column. */
const offsetsOf = (lag) => {
  const both = `${lag.committed < 0 ? "–" : lag.committed}/${lag.end}`;
  return both.length <= 7 ? both : lag.lag;
};

/* Of very many partitions, those that stopped longest, then those with most lag. */
function chosen(t, lags) {
  if (lags.length <= ROWS_MOST) return lags;
  const stopped = (lag) => (t.rows[lag.partition] ?? []).reduce((sum, [from, to, kind]) => sum + (["stopped", "waits", "twice"].includes(kind) ? to - from : 0), 0);
  const score = new Map(lags.map((lag) => [lag, stopped(lag) * 1e3 + lag.lag]));
  return [...lags].sort((a, b) => score.get(b) - score.get(a)).slice(0, ROWS_SHOWN).sort((a, b) => a.partition - b.partition);
}

/* `t` has rows by partition ([from, to, kind, owner]), marks, now, end and start, in µs. */
function bars(t, all, width, id, title = "") {
  const lags = chosen(t, all);
  const b = barsLayout(lags, width, title ? 2 : 1), end = Math.max(1, t.end);
  const above = title ? TITLE : 0;
  const x = (us) => b.left + (us / end) * b.room, top = MARKS + above;
  const high = top + b.count * b.row, most = Math.max(20, ...lags.map((lag) => lag.lag));
  const step = nice(end), ticks = [];
  for (let at = Math.ceil(t.start / step) * step; at <= t.start + end; at += step) ticks.push(at);
  return h("svg", { key: `bars ${title}`, class: "bars", width, height: high + AXIS + (lags.length < all.length ? 14 : 0), role: "img", "aria-label": t.text ?? "who read each partition, and when it had no reader" },
    lags.length < all.length && h("text", { key: "few", class: "few", x: width - 8, y: high + AXIS + 10, "text-anchor": "end" }, `${lags.length} of ${all.length} partitions: those that stopped longest or lag most`),
    title && h("text", { key: "title", class: "take-name", x: 0, y: 13 }, title),
    ticks.map((at) => h("g", { key: `tick ${at}`, class: "tick" },
      h("line", { x1: x(at - t.start), x2: x(at - t.start), y1: top, y2: high }),
      h("text", { x: x(at - t.start), y: high + 14, "text-anchor": "middle" }, at / 1e6 >= 1 || !at ? `${+(at / 1e6).toFixed(2)} s` : `${at / 1e3} ms`))),
    lags.map((lag, at) => {
      const y = top + at * b.row, room = b.left < 100 ? 26 : LAG_WIDTH, shown = at % b.every === 0;
      return h("g", { key: `row ${lag.partition}`, class: `lane ${hue(lag.partition)}` },
        shown && h("text", { key: "name", class: "name", x: 22, y: y + b.row / 2 + 4, "text-anchor": "end" }, lag.partition),
        h("rect", { class: "spot", x: 26, y: y + 1, width: 6, height: Math.max(2, b.row - 2), rx: 1.5 }),
        lag.lag >= 0 && h("g", { key: "lag" },
          h("title", {}, `partition ${lag.partition}: lag ${lag.lag}: end ${lag.end}, committed ${lag.committed < 0 ? "nothing" : lag.committed}${lag.position < 0 ? "" : `, read to ${lag.position}`}`),
          h("rect", { class: "scale", x: 37, y: y + b.row * 0.22, width: room, height: b.row * 0.56 }),
          h("rect", { class: "lag", x: 37, y: y + b.row * 0.22, width: (lag.lag / most) * room, height: b.row * 0.56 }),
          h("rect", { class: "unread", x: 37, y: y + b.row * 0.22, width: (Math.min(lag.unread, lag.lag) / most) * room, height: b.row * 0.56 }),
          shown && b.left > 100 && h("text", { key: "number", class: "name", x: 42 + room, y: y + b.row / 2 + 4 }, offsetsOf(lag))),
        (t.rows[lag.partition] ?? []).map(([from, to, kind, owner], place) => {
          const left = x(from), wide = Math.max(kind === "reads" ? 0.6 : 1.6, x(to) - left);
          const label = kind === "reads" || kind === "reported" ? owner : kind === "twice" ? "2" : short(to - from);
          return h("g", { key: `span ${place}` },
            h("title", {}, `partition ${lag.partition}: ${SPANS[kind]}${owner ? ` (${owner})` : ""}, ${short(to - from)}`),
            h("rect", { class: `span ${kind}`, x: left, y: y + 1, width: wide, height: b.row - 2, fill: kind === "waits" ? `url(#${id}wait)` : null }),
            b.tall && wide > label.length * 6 + 6 && h("text", { key: "label", class: `says ${kind}`, x: left + 4, y: y + b.row / 2 + 3.6 }, label));
        }));
    }),
    h("rect", { key: "later", class: "later", x: x(t.now), y: top - 2, width: Math.max(0, x(end) - x(t.now)), height: high - top + 4 }),
    h("line", { key: "now", class: "now", x1: x(t.now), x2: x(t.now), y1: top - 6, y2: high + 4 }),
    h("g", { key: "marks", transform: `translate(0,${above})` }, marks(t.marks, x, t.now)));
}

const SPANS = { reads: "read", waits: "its owner has not read yet", stopped: "no owner", twice: "two readers", reported: "by the coordinator’s word", unsure: "the group rebalances, and its members report nothing" };

/* The slider over the bars; its places are times. */
const slider = (t, width, words) => {
  const b = barsLayout([], width);
  return h("input", { key: "slider", class: "slider", type: "range", min: 0, max: Math.max(1, t.end), step: 1, value: t.now,
    style: `margin-left: ${b.left - 8}px; width: ${b.room + 16}px`, "aria-label": "timeline", "aria-valuetext": words });
};
