/* The Quorum panel's rows: a controller's card, its records by kind, and the records in words.

   Columns are places on the axis: an offset each, or a run of offsets with nothing but NoOps.  Put
   behind the Cluster panel's drawing.js and panel.js, or time_panel.js. */

const QUORUM = { wide: 960, right: 190, widest: 66, top: 27, cell: 46, height: 112 };
const QUORUM_NARROW = { ...QUORUM, top: 42, height: 118 };
const QUORUM_PAIR = { ...QUORUM, top: 20, cell: 40, height: 79 };
const QUORUM_PAIR_NARROW = { ...QUORUM_PAIR, top: 34, height: 92 };
const FOLDED = 0.5; // a run of NoOps has so much of a column's room

const KINDS = {
  leader: ["leader change", "M1 3.5 4.6 7 8 2 11.4 7 15 3.5 13.6 12.4H2.4z", true],
  topic: ["topic", "M3 2h10v12H3zM5.5 5.5h5M5.5 8h5M5.5 10.5h3"],
  partition: ["partition", "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z"],
  broker: ["broker", "M2 2.5h12v4.5H2zM2 9h12v4.5H2zM4.5 4.7h.5M4.5 11.2h.5"],
  fence: ["broker fenced", "M4 14V2M4 2.5h8.5l-2.4 3 2.4 3H4", true],
  config: ["config", "M2 4.5h12M2 11.5h12M5.5 2.3v4.4M10.5 9.3v4.4"],
  feature: ["feature level", "M8 1.8l1.9 4.2 4.6.4-3.5 3 1.1 4.5L8 11.5l-4.1 2.4L5 9.4l-3.5-3 4.6-.4z"],
  ids: ["producer ids", "M6 2 4.5 14M11.5 2 10 14M2.5 5.5h11.5M2 10.5h11.5"],
  quota: ["quota", "M2 12a6 6 0 0 1 12 0M8 12l3-4.5"],
  quiet: ["NoOp", "M3 8h.5M8 8h.5M13 8h.5"],
  other: ["another record", "M8 2a6 6 0 1 0 .01 0M8 5v4M8 11.3v.4"],
};
const kindOf = (kind) => KINDS[kind] ?? KINDS.other;
const sign = (kind, more = {}) =>
  h("g", { class: `kind ${kindOf(kind)[2] ? "solid" : ""}`, ...more }, h("path", { d: kindOf(kind)[1] }));
const glyph = (kind) => h("svg", { class: "glyph", width: 13, height: 13, viewBox: "0 0 16 16", "aria-hidden": true }, sign(kind));

/* ---- the axis -------------------------------------------------------------------------------- */

function axisOf(columns) {
  const wide = columns.map((column) => (column.quiet ? FOLDED : 1)), starts = [0];
  wide.forEach((each) => starts.push(starts.at(-1) + each));
  const total = starts.at(-1);
  const at = (offset) => {
    const place = columns.findIndex(({ last }) => offset <= last);
    if (place < 0) return total + (columns.length && offset > columns.at(-1).last + 1 ? 0.5 : 0);
    const { first, last } = columns[place];
    return offset < first ? starts[place] - 1 : starts[place] + wide[place] * ((offset - first) / (last - first + 1));
  };
  return { at, total, older: (row) => columns.length > 0 && row.log_start_offset < columns[0].first && row.log_end_offset > columns[0].first };
}

function quorumGeometry(columns, width, pair) {
  const narrow = width < MID, axis = axisOf(columns);
  const lanes = pair ? (narrow ? QUORUM_PAIR_NARROW : QUORUM_PAIR) : narrow ? QUORUM_NARROW : QUORUM;
  const g = geometry([0, Math.max(axis.total, 6) + 1], width, { ...lanes, free: 1, ...axis });
  return { ...g, columns, ruler: quorumRuler, last: axis.total, shows: (offset) => axis.at(offset) >= g.first && axis.at(offset) < axis.total };
}

const quorumRuler = (g) => g.columns.map((column) => g.shows(column.first) && h("text", {
  key: `digit${column.first}`, class: "digit", x: g.of(column.first) + (g.step * (column.quiet ? FOLDED : 1) - CELL.gap) / 2, y: 11,
}, column.quiet ? "⋯" : column.first));

/* ---- a record -------------------------------------------------------------------------------- */

function quorumRecord(cell, g, id, differs) {
  const width = g.step - CELL.gap, open = !cell.committed, middle = g.cell / 2;
  const place = `transform: translate(${g.of(cell.offset)}px, ${g.top}px)`;
  const which = cell.offset === cell.last ? `offset ${cell.offset}` : `offsets ${cell.offset}–${cell.last}`;
  const title = h("title", {}, `${which}, epoch ${cell.epoch}: ${cell.says}${open ? "; this controller does not know it to be committed" : ""}`);
  if (cell.kind === "quiet") return h("g", { key: `${cell.offset} quiet`, class: "cell quiet", style: place }, title,
    h("rect", { class: "hit", width: g.step * FOLDED - CELL.gap, height: g.cell, rx: 6 }),
    h("text", { class: "count", x: (g.step * FOLDED - CELL.gap) / 2, y: middle - 6 }, `×${cell.last - cell.offset + 1}`));
  return h("g", {
    key: `${cell.offset} ${cell.epoch} ${cell.says}`,
    class: `cell ${epochClass(cell.epoch)} ${cell.kind} ${open ? "open" : ""} ${cell.parted ? "parted" : ""} ${differs ? "differs" : ""}`,
    style: place,
  },
  title,
  cell.joined && h("rect", { key: "joint", class: "joint", x: -CELL.gap - 1, y: middle - 7, width: CELL.gap + 2, height: 14 }),
  h("rect", { class: "back", width, height: g.cell, rx: 6 }),
  h("rect", { class: "face", width, height: g.cell, rx: 6, fill: open && cell.epoch >= 0 ? `url(#${id}${epochClass(cell.epoch)})` : null }),
  sign(cell.kind, { transform: `translate(${width > 38 ? 6 : width / 2 - 7},${g.cell * 0.14}) scale(.86)` }),
  width > 38 && h("text", { key: "epoch", class: "epoch", x: width - 5, y: g.cell * 0.14 + 11 }, `e${cell.epoch}`),
  h("text", { class: "value", x: width / 2, y: g.cell * 0.82 }, short(cell.brief || "·", width * 1.1 + 4)),
  differs && unequal(-1, middle));
}

/* Where an epoch begins in a log: its first record is the leader's own. */
function boundaries(row, g) {
  let before = null;
  return row.cells.map((cell) => {
    const begins = cell.epoch !== before && (before != null || cell.kind === "leader");
    before = cell.epoch;
    const x = g.of(cell.offset) - CELL.gap / 2;
    return begins && g.shows(cell.offset) && h("g", { key: `epoch ${cell.epoch}`, class: `boundary ${epochClass(cell.epoch)}` },
      h("line", { x1: x, x2: x, y1: g.top - 15, y2: g.top + g.cell + 3 }),
      h("text", { x: x + 4, y: g.top - 6 }, `epoch ${cell.epoch}`));
  });
}

function quorumLane(row, scene, g, id, differing = [], name = "") {
  const tree = lane(row, scene, g, id, differing, name, quorumRecord);
  return { ...tree, attributes: { ...tree.attributes, class: `lane ${row.high_watermark < 0 ? "unsaid" : ""}` }, children: [...tree.children, h("g", { key: "epochs" }, boundaries(row, g))] };
}

/* ---- a controller's card ------------------------------------------------------------------------ */

const NOMINEES = ["prospective", "candidate"];
const roleOf = (row) => row.role && h("span", { key: "role", class: `role is-${row.role}` }, row.role === "leader" ? [crown(), " leader"] : row.role);
const activeOf = (row) => row.is_active && h("span", { key: "active", class: "chip active", title: QUORUM_MEANINGS.active }, "active");
const stateOf = (row) => chip(row.state, SIGNS[row.state] ?? "?", row.state);
const epochOf = (row, word = "epoch ") => row.epoch >= 0 && h("span", { key: "epoch", class: "chip", title: QUORUM_MEANINGS.epoch }, word, h("b", {}, row.epoch));
const cutOf = (row) => row.cut_from.length > 0 && chip("cut", "✂", row.cut_from.join(" "));
const leadsOf = (row) => `${row.is_active ? "leads" : ""} ${NOMINEES.includes(row.role) ? "nominee" : ""} ${row.state}`;

const quorumCard = (row, view, refused) =>
  h("div", { class: `card ${leadsOf(row)}` },
    h("div", { class: "name" }, h("b", {}, row.id), roleOf(row), activeOf(row)),
    h("div", { class: "state" }, stateOf(row), epochOf(row)),
    h("div", { class: "vote" }, h("span", {}, row.vote || "no vote"), cutOf(row)),
    buttons(row, view, refused));

/* ---- the records in words ------------------------------------------------------------------------- */

const HOLDS = { known: "knows it to be committed", held: "has it", none: "does not have it" };

function entriesOf(entries, scene) {
  if (scene.lacks) return h("p", { key: "entries", class: "lacks" }, scene.lacks);
  if (!entries.length) return null;
  return h("section", { key: "entries", class: "entries", "aria-label": "records in words" },
    h("div", { class: "entry head", "aria-hidden": true }, h("span", {}, "offset"), h("span", {}, "epoch"), h("span", { class: "words" }, "record"),
      h("span", { class: "held" }, scene.rows.map((row) => h("i", { key: row.id }, row.id)))),
    entries.map((entry) => {
      const open = !entry.known_by.length;
      return h("div", { key: `${entry.offset} ${entry.epoch}`, class: `entry ${epochClass(entry.epoch)} ${open ? "open" : ""} ${entry.parted ? "parted" : ""}`, role: "group",
        "aria-label": `offset ${entry.offset}, epoch ${entry.epoch}: ${entry.says}; ${open ? "not committed" : "committed"}; on ${entry.held_by.join(" ")}` },
      h("span", { class: "offset" }, entry.offset), h("span", { class: "in" }, entry.epoch),
      h("span", { class: "words" }, glyph(entry.kind), " ", entry.says),
      h("span", { class: "held" }, scene.rows.map((row) => {
        const how = entry.known_by.includes(row.id) ? "known" : entry.held_by.includes(row.id) ? "held" : "none";
        return h("i", { key: row.id, class: how, title: `${row.id} ${HOLDS[how]}` });
      })));
    }));
}

/* ---- what the words mean ---------------------------------------------------------------------------- */

const QUORUM_MEANINGS = {
  active: "The controller that decides: it leads the quorum, and its first record of the epoch is committed.",
  epoch: "It counts elections: an epoch has one leader at most, and each record carries the epoch it was written in.",
  committed: "High watermark: what is below it is on the disks of a majority, and no election can undo it.",
  majority: "So many controllers must have a record before it is committed, or vote for a leader.",
};
Object.assign(MEANINGS, {
  ...QUORUM_MEANINGS,
  HW: "High watermark: as far as this controller knows, what is below it is committed.",
  LEO: "Log end offset: where this controller’s next record will go.",
});

const quorumLegend = (id) =>
  h("div", { key: "legend", class: "legend", role: "note", "aria-label": "legend" },
    [...["leader", "topic", "partition", "broker", "fence", "config", "feature"].map((kind) => [glyph(kind), kindOf(kind)[0]]),
     [swatch("", id), "committed"], [swatch("open", id), "hatched: this controller does not know that it is"],
     [h("svg", { width: 26, height: 12, "aria-hidden": true }, h("g", { class: "e0 sample" }, h("rect", { class: "face", x: 1, y: 1, width: 9, height: 10, rx: 2 }), h("rect", { class: "face", x: 16, y: 1, width: 9, height: 10, rx: 2 }), h("rect", { class: "joint", x: 9, y: 4, width: 8, height: 4 }))), "one batch: one change"],
     [triangle("HW"), "HW, high watermark"], [triangle("LEO"), "LEO, log end offset"],
     [h("span", { class: "entries" }, h("span", { class: "held" }, h("i", { class: "known" }), h("i", { class: "held" }), h("i", { class: "none" }))), "knows it to be committed, has it, does not"]]
      .map(([sign, words], at) => h("span", { key: at }, sign, " ", words)));
