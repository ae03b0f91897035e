/* What the Cluster panel is drawn with: live (panel.js) and over a recorded world
   (time_panel.js).  Both are put behind this file, and this one behind kit/film/tree.js. */

const EPOCH_COLOURS = 6;

const crown = () =>
  h("svg", { class: "crown", viewBox: "0 0 16 12", "aria-hidden": true },
    h("path", { d: "M1 2.5 4.6 6 8 .8 11.4 6 15 2.5 13.6 11.2H2.4z" }));

const SIGNS = { running: "●", paused: "❚❚", killed: "✕", stopped: "■", unknown: "?" };

function short(value, width) {
  const room = Math.max(1, Math.floor((width - 8) / 7.4));
  if (value.length <= room) return value;
  const keep = Math.max(1, room - 1); // numbered values differ in their number
  return /\d$/.test(value) ? "…" + value.slice(-keep) : value.slice(0, keep) + "…";
}

const epochClass = (epoch) => (epoch < 0 ? "unknown" : `e${epoch % EPOCH_COLOURS}`);

/* ---- geometry: offsets to places, the same for all replicas ---------------------------- */

const CELL = { top: 20, height: 42, gap: 6, narrowest: 36, widest: 64 };
const LANE = { height: 96, left: 58, right: 44, ruler: 26 };
const WIDE = 860, MID = 560, DIGIT = 7.8; // DIGIT: a mark's letter is at most that wide

/* `more`: `free` places follow the newest record, `right` keeps free space beside the records, `top`, `cell` and `height` make lanes
   lower, `wide` is the panel width from which the trace is beside the picture.  `at` gives an offset's
   place on the axis where this is not the offset itself; `older` tells whether a row begins before it. */
function geometry(offsets, panelWidth, more = {}) {
  const mode = panelWidth >= (more.wide ?? WIDE) ? "wide" : panelWidth >= MID ? "mid" : "narrow";
  const beside = { wide: 208 + 264, mid: 208, narrow: 0 }[mode];
  const width = Math.max(160, panelWidth - beside - 34);
  const right = mode === "narrow" ? LANE.right : more.right ?? LANE.right;
  let [first, end] = offsets;
  const room = width - LANE.left - right;
  const most = Math.max(3, Math.floor(room / CELL.narrowest));
  if (end - first > most) end = Math.max(end - (more.free ?? 2), first + most); // free places go first
  if (end - first > most) first = end - most;
  const step = Math.min(more.widest ?? CELL.widest, room / (end - first));
  const x = (place) => LANE.left + (place - first) * step, at = more.at ?? ((offset) => offset);
  return {
    mode, width, right, first, end, step, x, at, of: (offset) => x(at(offset)),
    seen: (offset) => at(offset) >= first && at(offset) <= end, shows: (offset) => at(offset) >= first && at(offset) < end,
    older: more.older ?? ((row) => row.log_start_offset < first && row.log_end_offset > first),
    top: more.top ?? CELL.top, cell: more.cell ?? CELL.height, height: more.height ?? LANE.height,
  };
}

/* ---- a replica's lane ------------------------------------------------------------------ */

/* `differing`: the offsets at which another timeline holds something else, or nothing; `draw` draws
   a record. */
function lane(row, scene, g, id, differing = [], name = "", draw = record) {
  const digits = g.mode === "narrow" && !name.startsWith("2") ? (g.ruler ?? ruler)(g) : [];
  const known = row.log_end_offset >= 0, middle = g.top + g.cell / 2;
  const cells = row.cells.filter((cell) => g.shows(cell.offset));
  return h("svg", {
    class: "lane", width: g.width, height: g.height, viewBox: `0 0 ${g.width} ${g.height}`,
    role: "img", "aria-label": name ? `timeline ${name}: ${row.text}` : row.text,
  },
  digits,
  seam(scene, g, g.height),
  name && h("g", { key: "name", class: `take take${name}` },
    h("circle", { cx: 12, cy: middle, r: 9 }), h("text", { x: 12, y: middle + 4 }, name)),
  h("line", { key: "base", class: "base", x1: g.x(g.first), x2: g.x(g.end), y1: middle, y2: middle }),
  g.older(row) && h("text", { key: "more", class: "more", x: LANE.left - 10, y: middle + 6 }, "…"),
  h("g", { key: "cells" },
    differing.filter((offset) => g.shows(offset) && !cells.some((cell) => cell.offset === offset))
      .map((offset) => ghost(offset, g)),
    cells.map((cell) => draw(cell, g, id, differing.includes(cell.offset)))),
  bracket(row, g),
  known ? marks(row, g) : scene.facts.length > 0 && h("text", { key: "nothing", class: "soft", x: LANE.left, y: middle + 5 }, scene.step ? "no log yet" : "its log cannot be asked for"));
}

const UNKNOWN_FATE = ": this broker does not yet know that it is committed";

function record(cell, g, id, differs) {
  const width = g.step - CELL.gap;
  const open = !cell.committed;
  return h("g", {
    key: `${cell.offset} ${cell.epoch} ${cell.value}`,
    class: `cell ${epochClass(cell.epoch)} ${open ? "open" : ""} ${cell.parted ? "parted" : ""} ${differs ? "differs" : ""}`,
    style: `transform: translate(${g.of(cell.offset)}px, ${g.top}px)`,
  },
  h("title", {}, `${cell.value || "value not known"}, offset ${cell.offset}, written in epoch ${cell.epoch}${open ? UNKNOWN_FATE : ": committed"}${cell.promised ? "; a client received its acknowledgement" : ""}`),
  h("rect", { class: "back", width, height: g.cell, rx: 6 }),
  h("rect", { class: "face", width, height: g.cell, rx: 6, fill: open && cell.epoch >= 0 ? `url(#${id}${epochClass(cell.epoch)})` : null }),
  h("text", { class: "value", x: width / 2, y: g.cell * 0.48 }, short(cell.value || "·", width)),
  h("text", { class: "epoch", x: width / 2, y: g.cell * 0.84 }, `${width > 41 ? "epoch " : "e"}${cell.epoch < 0 ? "?" : cell.epoch}`),
  cell.promised && h("path", { key: "promised", class: "promised", d: `M${width - 11},7l3,3.4 5,-6.4` }),
  differs && unequal(-1, g.cell / 2));
}

/* The place of a record that only the other timeline has here. */
const ghost = (offset, g) =>
  h("g", { key: `ghost ${offset}`, class: "ghost", style: `transform: translate(${g.of(offset)}px, ${g.top}px)` },
    h("title", {}, `offset ${offset}: only the other timeline has a record here`),
    h("rect", { width: g.step - CELL.gap, height: g.cell, rx: 6 }), unequal(-1, g.cell / 2));

const unequal = (x, y) =>
  h("g", { key: "unequal", class: "unequal" }, h("circle", { cx: x, cy: y, r: 7.5 }), h("text", { x, y: y + 4 }, "≠"));

/* Records that the leader's history does not have. */
function bracket(row, g) {
  const parted = row.cells.filter((cell) => cell.parted && g.shows(cell.offset));
  if (!parted.length) return null;
  const left = g.of(parted[0].offset), right = g.of(parted.at(-1).offset) + g.step - CELL.gap;
  const label = right - left > 150 && g.top > 16 ? "not in the leader’s history" : "";
  return h("g", { key: "bracket", class: "bracket" },
    h("path", { d: `M${left},${g.top - 3}v-4H${right}v4` }),
    label && h("text", { x: left + 2, y: g.top - 10 }, label));
}

/* HW to the left of its mark, LEO to the right: they never cover each other.  Where the words
   would not fit between the mark and the lane's beginning, they are to its right, and LEO's
   behind them. */
function marks(row, g) {
  const y = g.top + g.cell + 3;
  const place = (offset) => g.x(Math.min(Math.max(g.at(offset), g.first), g.end)) - CELL.gap / 2;
  const words = (name, offset) => `${g.at(offset) < g.first ? "◂ " : ""}${name} ${offset < 0 ? "?" : offset}${g.at(offset) > (g.last ?? g.end) ? " ▸" : ""}`;
  const low = place(row.high_watermark), end = place(row.log_end_offset), says = words("HW", row.high_watermark);
  const fits = says.length * DIGIT + 9 <= low;
  const mark = (name, at, label, x, anchor) =>
    h("g", { key: name, class: `mark ${name}`, style: `transform: translate(${at}px, ${y}px)` },
      h("title", {}, MEANINGS[name]),
      h("path", { d: "M0,0 5.5,9.5H-5.5z" }),
      h("text", { x, y: 10, "text-anchor": anchor }, label));
  return [
    mark("LEO", end, words("LEO", row.log_end_offset), fits ? 9 : Math.max(9, low - end + 14 + says.length * DIGIT), "start"),
    fits ? mark("HW", low, says, -9, "end") : mark("HW", low, says, 9, "start"),
  ];
}

function seam(scene, g, height) {
  if (scene.parts_at == null || !g.seen(scene.parts_at)) return null;
  const x = g.of(scene.parts_at) - CELL.gap / 2;
  return h("line", { key: "seam", class: "seam", x1: x, x2: x, y1: 0, y2: height });
}

function ruler(g) {
  const digits = [];
  for (let offset = g.first; offset < g.end; offset++) {
    digits.push(h("text", { key: `digit${offset}`, class: "digit", x: g.x(offset) + (g.step - CELL.gap) / 2, y: 11 }, offset));
  }
  return digits;
}

/* ---- what the words mean --------------------------------------------------------------- */

const MEANINGS = {
  leader: "The replica that takes the writes; the others fetch from it.",
  epoch: "Leader epoch: it counts this partition’s leaders, and each record carries the epoch it was written in.",
  ISR: "In-sync replicas: those that keep up with the leader. A record is committed when all of them have it.",
  ELR: "Eligible leader replicas: out of the ISR, yet sure to hold every committed record (KIP-966).",
  "min.insync.replicas": "A write with acks=all is refused while the ISR is smaller than this.",
  rule: "How a returning follower finds out what it must cut from its log.",
  HW: "High watermark: as far as this broker knows, what is below it is committed.",
  LEO: "Log end offset: where this broker’s next record will go.",
};

const swatch = (kind, id) =>
  h("svg", { width: 20, height: 14, "aria-hidden": true }, h("g", { class: `sample e0 ${kind}` },
    h("rect", { class: "face", x: 1, y: 1, width: 18, height: 12, rx: 3, fill: kind ? `url(#${id}e0)` : null })));

const triangle = (kind) =>
  h("svg", { width: 13, height: 11, "aria-hidden": true }, h("g", { class: kind }, h("path", { d: "M6.5,.5 12,10H1z" })));

const legend = (id, ...more) =>
  h("div", { key: "legend", class: "legend", role: "note", "aria-label": "legend" },
    [[swatch("", id), "committed"],
     [swatch("open", id), "hatched: this broker does not yet know that it is committed"],
     [triangle("HW"), "HW, high watermark: below it this broker knows all to be committed"],
     [triangle("LEO"), "LEO, log end offset: where the next record goes"],
     [h("b", {}, "✓ ISR"), "in sync: a record is committed when the whole ISR has it"],
     [h("b", {}, "epoch"), "counts the leaders; colour and digit say under which a record was written"],
     ...more].map(([sign, words], at) => h("span", { key: at }, sign, " ", words)));

const inSync = (row) =>
  h("span", { key: "sync", title: MEANINGS.ISR }, row.in_isr ? chip("in", "✓", "ISR") : chip("out", "–", row.eligible ? "ELR" : "not in ISR"));

/* ---- a broker's card and its buttons ------------------------------------------------------- */

/* `refused`: why nothing can be pressed now, if so. */
function card(row, scene, view, refused) {
  const leads = row.id === scene.leader;
  const down = !["running", "paused"].includes(row.state);
  const role = leads ? [crown(), " leader"] : down ? ["replica"] : ["follower"];
  const partition = scene.facts.length > 0;
  return h("div", { class: `card ${leads ? "leads" : ""} ${row.state} ${row.fenced ? "fenced" : ""}` },
    h("div", { class: "name" },
      h("b", {}, row.id),
      partition && h("span", { key: "role", class: "role" }, role),
      partition && inSync(row)),
    h("div", { class: "state" },
      chip(row.state, SIGNS[row.state] ?? "?", row.state),
      row.fenced && chip("fence", "⚑", "fenced"),
      row.cut_from.length > 0 && chip("cut", "✂", row.cut_from.join(" "))),
    buttons(row, view, refused));
}

const buttons = (row, view, refused) =>
  h("div", { class: "buttons" }, row.buttons.map((button, at) => {
    const refusal = refused || button.refusal;
    const menu = button.action === "cut";
    const open = menu && view.menu === row.id;
    return h("div", { key: at, class: "slot" },
      h("button", {
        type: "button", "data-do": menu ? "menu" : "press", "data-action": button.action, "data-node": row.id,
        "data-tip": open ? null : refusal || button.means, "aria-disabled": refusal ? "true" : null,
        "aria-label": `${button.action} ${row.id}. ${refusal || button.means}`,
        "aria-haspopup": menu ? "menu" : null, "aria-expanded": menu ? String(open) : null,
      }, button.action),
      open && links(row));
  }));

const links = (row) =>
  h("div", { class: "menu", role: "menu", "aria-label": `links of ${row.id}` }, row.links.map((choice) =>
    h("button", {
      key: choice.label, type: "button", role: "menuitem", tabindex: -1, "data-do": "press", "data-action": choice.action,
      "data-node": row.id, "data-other": choice.other, "aria-disabled": choice.refusal ? "true" : null,
      "aria-label": choice.refusal ? `${choice.label}. ${choice.refusal}` : choice.label, title: choice.refusal || null,
    }, choice.label)));

/* ---- several controllers: the active one, and what each is as a voter ------------------------ */

function controllersOf(scene, view, refused) {
  if (!scene.controllers?.length) return null;
  return h("div", { key: "controllers", class: "controllers", role: "group", "aria-label": "controllers" }, scene.controllers.map((each) =>
    h("div", { key: each.id, class: `card ${each.is_active ? "leads" : ""} ${each.state}`, "data-row": each.id },
      h("div", { class: "name" }, h("b", {}, each.id),
        h("span", { key: "role", class: "role" }, each.is_active ? [crown(), " active controller"] : ["controller", each.role && ` · ${each.role}`])),
      h("div", { class: "state" },
        chip(each.state, SIGNS[each.state] ?? "?", each.state),
        each.cut_from.length > 0 && chip("cut", "✂", each.cut_from.join(" "))),
      buttons(each, view, refused))));
}

const noneActive = (scene) => scene.controllers?.length > 0 && !scene.controllers.some((each) => each.is_active);

/* In the heading: the only controller, or the active one of several. */
function controllerOf(scene) {
  const [id, state] = scene.controller;
  if (noneActive(scene)) return h("span", { class: "controller killed" }, chip("killed", "✕", "no active controller"));
  return id >= 0 && h("span", { class: `controller ${state}` }, "controller ", h("b", {}, id), " ", chip(state, SIGNS[state] ?? "?", state));
}

/* ---- partitions, patterns ---------------------------------------------------------------- */

function strip(scene) {
  if (scene.strip.length < 2) return null;
  const longest = Math.max(1, ...scene.strip.flatMap((small) => small.bars.map((bar) => bar[1])));
  return h("div", { key: "strip", class: "strip", role: "tablist", "aria-label": "partitions" }, scene.strip.map((small) => {
    const chosen = small.partition === scene.partition;
    return h("button", {
      key: small.partition, type: "button", role: "tab", "aria-selected": String(chosen), tabindex: chosen ? 0 : -1,
      "data-do": "partition", "data-partition": small.partition, class: small.trouble ? "trouble" : "",
      "aria-label": `partition ${small.partition}, leader ${small.leader < 0 ? "none" : small.leader}${small.trouble ? ", " + small.trouble : ""}`,
    },
    h("span", { class: "small" }, h("b", {}, small.partition), small.leader < 0 ? " no leader" : [" ", crown(), ` ${small.leader}`], small.trouble ? " ⚠" : ""),
    h("svg", { width: 84, height: 22, "aria-hidden": true }, small.bars.map(([id, end, mark, epoch, up], at) => {
      const scale = (offset) => (offset / longest) * 82;
      return h("g", { key: id, class: `${epochClass(epoch)} ${up ? "" : "down"}` },
        h("rect", { class: "rest", x: 1, y: at * 7 + 1, width: Math.max(scale(end), 2), height: 5, rx: 1.5 }),
        h("rect", { class: "held", x: 1, y: at * 7 + 1, width: Math.max(scale(Math.min(mark, end)), 0), height: 5, rx: 1.5 }));
    })));
  }));
}

const patterns = (id) =>
  h("svg", { class: "patterns", width: 0, height: 0, "aria-hidden": true }, h("defs", {},
    Array.from({ length: EPOCH_COLOURS }, (_, epoch) =>
      h("pattern", { key: epoch, id: `${id}e${epoch}`, class: `e${epoch}`, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        h("rect", { class: "stripe", width: 2, height: 7 })))));
