/* The logs: a cell for each offset, the two readers below, the high watermark and the LSO as lines.

   Put behind diagram.js. */

const CELL = { w: 76, h: 40, gap: 5, lane: 11 };
const LEFT = 158, LINES = 15, RECORD = 112;
const GLYPHS = { commit: "✓", abort: "✕", control: "·" };
const LANES = [["uncommitted", "read_uncommitted"], ["committed", "read_committed"]];

const cut = (words, room) => (words.length * 6.6 > room ? `${words.slice(0, Math.max(1, Math.floor(room / 6.6) - 1))}…` : words);

const ledgerPatterns = (id) =>
  h("svg", { key: "patterns", class: "patterns", width: 0, height: 0, "aria-hidden": true }, h("defs", {},
    [...Array.from({ length: HUES }, (_, at) => `e${at}`), "unknown"].map((name) =>
      h("pattern", { key: name, id: `${id}${name}`, class: name, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        h("rect", { class: "stripe", width: 2, height: 7 }))),
    h("pattern", { key: "held", id: `${id}held`, class: "held", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      h("rect", { width: 2.2, height: 5 }))));

/* Which cells fit, and where each begins. */
function places(cells, room, wide) {
  const step = wide + CELL.gap, most = Math.max(1, Math.floor((room - 10) / step));
  const shown = cells.slice(-most);
  return { shown, older: cells.length - shown.length, x: (at) => 4 + at * step };
}

/* Before the first cell whose offset is not below it. */
function line(offset, shown, x) {
  const at = shown.findIndex((cell) => cell.offset >= offset);
  return x(at < 0 ? shown.length : at) - CELL.gap / 2;
}

function cell(each, x, y, wide, id) {
  const marker = each.kind !== "data";
  const open = each.fate === "open";
  return h("g", { key: `cell ${each.offset}`, class: `entry ${each.kind} ${each.fate || "plain"} ${hue(each.producer_id)}`, style: `transform: translate(${x}px, ${y}px)`, "data-offset": each.offset },
    h("title", {}, each.says),
    h("rect", { class: "back", width: wide, height: CELL.h, rx: 6 }),
    h("rect", { class: "face", width: wide, height: CELL.h, rx: 6, style: open ? `fill: url(#${id}${hue(each.producer_id)})` : null }),
    each.joined && h("rect", { key: "joint", class: "joint", x: -CELL.gap - 1, y: 6, width: CELL.gap + 2, height: CELL.h - 12 }),
    h("text", { class: "value", x: wide / 2, y: 18 }, marker ? `${GLYPHS[each.kind]} ${each.kind.toUpperCase()}` : cut(each.value, wide - 8)),
    each.fate === "aborted" && h("line", { key: "out", class: "out", x1: 6, x2: wide - 6, y1: 14, y2: 14 }),
    h("text", { class: "small", x: 5, y: CELL.h - 5 }, each.offset),
    each.producer_id >= 0 && h("text", { key: "epoch", class: "small end", x: wide - 5, y: CELL.h - 5 }, `p${each.producer_id} e${each.epoch}`));
}

function lane(shown, x, y, level, id) {
  return shown.map((each, at) => {
    const had = each[level];
    const style = had === "held" ? `fill: url(#${id}held)` : null;
    return h("g", { key: `${level} ${each.offset}`, class: `lane ${had} ${hue(each.producer_id)}` },
      h("title", {}, `offset ${each.offset}: ${level === "committed" ? "read_committed" : "read_uncommitted"}: ${HAD[had]}`),
      had === "marker" ? h("line", { x1: x(at), x2: x(at) + CELL.w, y1: y + 4, y2: y + 4 }) : h("rect", { x: x(at), y, width: CELL.w, height: 8, rx: 2, style }),
      had === "skipped" && h("text", { key: "sign", class: "sign", x: x(at) + CELL.w / 2, y: y + 7.5 }, "skipped"));
  });
}
const HAD = { given: "it has it", skipped: "it skips it, because it was aborted", held: "it must wait: this is behind the LSO", ahead: "not yet: above the high watermark", marker: "a marker is never given to an application" };

function logRow(row, width, narrow, id) {
  const left = narrow ? 0 : LEFT, top = LINES, room = width - left;
  const wide = row.internal ? RECORD : CELL.w, { shown, older, x: from } = places(row.cells, room, wide), x = (at) => left + from(at);
  const lanes = row.internal ? 0 : 2, low = top + CELL.h + 6 + lanes * CELL.lane;
  const high = line(row.high_watermark, shown, x), stable = line(row.last_stable_offset, shown, x);
  const left0 = row.hidden + older;
  return h("div", { key: row.name, class: `log ${row.internal ? "internal" : ""}`, role: "group", "aria-label": row.text, "data-log": row.name },
    h("div", { class: "label", style: narrow ? null : `width: ${LEFT - 10}px` },
      h("b", { title: row.name }, row.name), h("span", { class: row.led === "no leader" ? "bad" : "" }, [row.led, left0 && `${left0} older`].filter(Boolean).join(", "))),
    h("svg", { class: "cells", width, height: lanes ? low + 15 : low + 4 },
      !narrow && lanes > 0 && LANES.map(([level, words], at) => h("text", { key: level, class: "lane-name", x: left - 10, y: top + CELL.h + 14 + at * CELL.lane, "text-anchor": "end" }, words)),
      shown.map((each, at) => cell(each, x(at), top, wide, id)),
      lanes > 0 && LANES.map(([level], at) => lane(shown, x, top + CELL.h + 6 + at * CELL.lane, level, id)),
      h("g", { key: "hw", class: "mark-line hw" }, h("title", {}, `high watermark ${row.high_watermark}: what is below it is replicated`),
        h("line", { x1: high, x2: high, y1: 2, y2: lanes ? top + CELL.h + 6 + CELL.lane : top + CELL.h + 4 }), h("text", { x: high - 4, y: 10, "text-anchor": "end" }, `HW ${row.high_watermark}`)),
      !row.internal && h("g", { key: "lso", class: `mark-line lso ${row.last_stable_offset < row.high_watermark ? "holds" : ""}` }, h("title", {}, `last stable offset ${row.last_stable_offset}: read_committed stops here`),
        h("line", { x1: stable, x2: stable, y1: top - 2, y2: low + 3 }), h("text", { x: Math.max(left + 2, stable - 4), y: low + 12, "text-anchor": stable - left > 40 ? "end" : "start" }, `LSO ${row.last_stable_offset}`))));
}

/* `__transaction_state`: a cell for each record of the coordinator. */
function stateRow(records, width, narrow, id) {
  const left = narrow ? 0 : LEFT, wide = RECORD, step = wide + CELL.gap;
  const most = Math.max(1, Math.floor((width - left - 8) / step)), shown = records.slice(-most);
  return h("div", { key: "state", class: "log internal", role: "group", "aria-label": "records of __transaction_state", "data-log": "__transaction_state" },
    h("div", { class: "label", style: narrow ? null : `width: ${LEFT - 10}px` }, h("b", {}, "__transaction_state"), h("span", {}, records.length > shown.length ? `${records.length - shown.length} older` : "")),
    h("svg", { class: "cells", width, height: 48 }, shown.map((each, at) => h("g", {
      key: `${each.partition} ${each.offset}`, class: `entry record ${each.is_replicated ? "" : "loose"} ${hue(each.producer_id ?? -1)}`, style: `transform: translate(${left + 4 + at * step}px, 4px)`, "data-offset": each.offset },
    h("title", {}, `__transaction_state-${each.partition}, offset ${each.offset}: ${each.id} is ${each.state}; producer ${each.producer_id}, epoch ${each.epoch}; ${(each.partitions ?? []).join(", ") || "no partition"}${each.is_replicated ? "" : "; not replicated yet"}`),
    h("rect", { class: "back", width: wide, height: 36, rx: 6 }), h("rect", { class: "face", width: wide, height: 36, rx: 6 }),
    h("text", { class: "value", x: wide / 2, y: 15 }, cut(each.state, wide - 6)),
    h("text", { class: "small", x: 5, y: 31 }, `${each.offset} ${cut(each.id, 60)}`), h("text", { class: "small end", x: wide - 5, y: 31 }, `e${each.epoch ?? "?"}`)))));
}

function ledger(scene, width, narrow, id) {
  return h("section", { key: "ledger", class: "ledger", "aria-label": "logs" },
    stateRow(scene.records, width, narrow, id),
    scene.rows.map((row) => logRow(row, width, narrow, id)),
    scene.more.length > 0 && h("p", { key: "more", class: "empty", title: scene.more.join(", ") }, `and ${scene.more.length} more partitions with records`),
    scene.empty.length > 0 && h("p", { key: "empty", class: "empty" }, `empty: ${scene.empty.length > 4 ? `${scene.empty.length} partitions` : scene.empty.join(", ")}`));
}

const readersOf = (scene) =>
  h("section", { key: "readers", class: "readers", "aria-label": "readers" }, scene.readers.map((reader) =>
    h("div", { key: reader.level, class: `reader ${reader.level}`, role: "group", "aria-label": reader.text },
      h("b", {}, reader.level), h("span", {}, " has ", h("b", { key: "given" }, reader.given)),
      reader.held > 0 && h("span", { key: "held", class: "bad" }, ` · ${reader.held} held back at the LSO`),
      reader.skipped > 0 && h("span", { key: "skipped" }, ` · ${reader.skipped} skipped`),
      h("span", { key: "values", class: "values" }, reader.values.filter(([, given]) => given.length).map(([name, given]) => h("span", { key: name, title: `${name}: ${given.join(", ")}` }, h("em", {}, `${name} `), cut(given.join(", "), 260)))))));

const sampleOf = (kind, id, more = "") =>
  h("svg", { width: 22, height: 16, "aria-hidden": true }, h("g", { class: `entry ${kind} ${kind.includes("unknown") ? "" : "e0"}` },
    h("rect", { class: "face", x: 1, y: 1, width: 20, height: 14, rx: 4, style: kind === "data open" ? `fill: url(#${id}e0)` : null }), more && h("text", { class: "value", x: 11, y: 12 }, more), kind === "data aborted" && h("line", { class: "out", x1: 3, x2: 19, y1: 8, y2: 8 })));
const laneSample = (kind, id) =>
  h("svg", { width: 22, height: 10, "aria-hidden": true }, h("g", { class: `lane ${kind} e0` }, h("rect", { x: 0, y: 1, width: 22, height: 8, rx: 2, style: kind === "held" ? `fill: url(#${id}held)` : null })));

const ledgerLegend = (id) =>
  h("div", { key: "legend", class: "legend", role: "note", "aria-label": "legend" },
    [[sampleOf("data open", id), "transaction open"], [sampleOf("data committed", id), "committed"], [sampleOf("data aborted", id), "aborted"], [sampleOf("data plain unknown", id), "in no transaction"],
     [sampleOf("commit", id, "✓"), "COMMIT marker"], [sampleOf("abort", id, "✕"), "ABORT marker"],
     [laneSample("given", id), "the reader has it"], [laneSample("held", id), "held back at the LSO"], [laneSample("skipped", id), "skipped"]].map(([sign, words], at) => h("span", { key: at }, sign, " ", words)));
