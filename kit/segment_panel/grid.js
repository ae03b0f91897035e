/* One batch, byte by byte: a grid of hex numbers coloured by field, and the fields as a list. */

const CELL = { least: 21, most: 30, high: 21, row: 39, left: 44 };
const HUES = { offset: "e0", epoch: "e1", producer: "e2", time: "e3", check: "e4", key: "e5", header: "e5", value: "payload", length: "plain", packed: "payload", unopened: "plain", damage: "damage" };
const STRIPED = new Set(["header", "packed"]);
const KINDS = [["offset", "offsets"], ["length", "lengths, counts"], ["epoch", "leader epoch"], ["check", "format, checksum, attributes"], ["time", "timestamps"], ["producer", "producer"], ["key", "key"], ["value", "value"], ["header", "headers"], ["packed", "compressed"]];
const TEXTS = new Set(["key", "value", "header"]);

const asField = ([name, tag, kind, start, end, value, says, hex, characters, record], place) =>
  ({ name, tag, kind, start, end, value, says, bytes: hex.match(/../g) ?? [], characters, record, place });
const place = (field) => (field.end - field.start === 1 ? `byte ${field.start}` : `bytes ${field.start}–${field.end - 1}`);

/* Where each byte goes: fields follow each other, a cut one ends with a wide cell. */
function laid(fields, across, w) {
  const rows = [{ start: fields[0]?.start ?? 0 }], runs = [];
  let column = 0, row = 0;
  const next = (start) => { rows.push({ start }); row += 1; column = 0; };
  for (const field of fields) {
    let at = 0;
    if (runs.length && field.start !== runs.at(-1).field.end && column) next(field.start);
    while (at < field.bytes.length) {
      if (column === across) next(field.start + at);
      const count = Math.min(field.bytes.length - at, across - column);
      runs.push({ field, row, column, from: at, count });
      at += count;
      column += count;
    }
    const more = field.end - field.start - field.bytes.length;
    if (more > 0) {
      const words = `+${number(more)}`, wide = Math.ceil((words.length * 7 + 8) / w);
      if (column + wide > across) next(field.start + field.bytes.length);
      runs.push({ field, row, column, from: at, count: wide, words });
      column += wide;
    }
  }
  return { rows, runs };
}

function run({ field, row, column, from, count, words }, w, longest, id) {
  const x = CELL.left + column * w, y = row * CELL.row, width = count * w - 2;
  const texts = TEXTS.has(field.kind), hue = HUES[field.kind];
  return h("g", { key: `${from} ${words ?? ""}`, class: "run" },
    h("rect", { class: "face", x, y: y + 1, width, height: CELL.high, rx: 3, style: STRIPED.has(field.kind) ? `fill: url(#${id}${hue === "payload" ? "unknown" : hue})` : null }),
    words ? h("text", { key: "more", class: "more", x: x + width / 2, y: y + 15.5 }, words)
      : Array.from({ length: count }, (_, at) => h("text", { key: at, class: "hex", x: x + at * w + w / 2 - 1, y: y + 15.5 }, field.bytes[from + at])),
    texts && !words ? Array.from({ length: count }, (_, at) => h("text", { key: `c${at}`, class: "character", x: x + at * w + w / 2 - 1, y: y + 33 }, field.characters[from + at]))
      : longest && field.tag.length * 5.3 <= width + 3 && h("text", { key: "tag", class: "tag", x: x + width / 2, y: y + 32 }, field.tag));
}

function grid(fields, across, w, id, name, from) {
  const { rows, runs } = laid(fields, across, w);
  const height = rows.length * CELL.row + 2;
  return h("svg", { key: `grid ${name}`, class: "grid", width: CELL.left + across * w + 4, height, role: "listbox", "aria-label": `bytes of ${name}` },
    rows.map(({ start }, at) => h("text", { key: `row ${at}`, class: "place", x: CELL.left - 8, y: at * CELL.row + 15.5 }, start)),
    fields.map((field) => {
      const own = runs.filter((each) => each.field === field);
      const longest = own.reduce((most, each) => (!each.words && each.count > (most?.count ?? 0) ? each : most), null);
      return h("g", { key: field.place, id: `${id}field-${field.place}`, class: `field ${HUES[field.kind]} ${field.kind}`, "data-field": field.place, role: "option", tabindex: field.place === from ? 0 : -1,
        "aria-label": `${place(field)}: ${field.name} = ${field.value}. ${field.says}` },
      own.map((each) => run(each, w, each === longest, id)));
    }));
}

/* The fields as a list: the header's, then each record's. */
function list(fields) {
  const items = [];
  let record = null;
  for (const field of fields.filter((each) => each.kind !== "unopened")) {
    if (field.record !== record) {
      record = field.record;
      items.push(h("h5", { key: `of ${record} ${field.place}` }, record < 0 ? "header" : `record ${record}`));
    }
    items.push(h("div", { key: field.place, class: `item ${HUES[field.kind]}`, "data-field": field.place }, h("i", { class: field.kind }), h("span", {}, field.name), h("b", {}, field.value)));
  }
  return h("div", { key: "list", class: "list", tabindex: 0, role: "group", "aria-label": "fields" }, items);
}

/* How many bytes the records had, and have. */
function squeeze(opened, width) {
  const most = Math.max(opened.before, opened.after, 1), room = Math.min(width, 360);
  const bar = (name, value, kind) => h("div", { key: kind },
    h("span", {}, name), h("svg", { width: room, height: 12, "aria-hidden": true }, h("rect", { class: kind, x: 0, y: 1, width: Math.max(2, (value / most) * room), height: 10, rx: 2 })), h("b", {}, number(value)), " bytes");
  return h("div", { key: "squeeze", class: "squeeze", role: "note", "aria-label": `compression: ${opened.before} bytes became ${opened.after}` },
    bar("records", opened.before, "before"), bar(`as ${opened.codec}`, opened.after, "after"));
}

const readout = (field, opened) => {
  if (!field) return h("p", { key: "readout", class: "readout", "aria-live": "polite" }, "Point at a byte, or press ↓.");
  const within = opened.clear.length && field.place >= opened.stored.length ? " of the decompressed records" : "";
  return h("p", { key: "readout", class: "readout", "aria-live": "polite" },
    h("i", { class: `swatch ${HUES[field.kind]} ${field.kind}` }), h("small", {}, `${place(field)}${within}`), " ", h("b", {}, field.name), " = ", h("code", {}, field.value), h("span", { class: "says" }, ` ${field.says}`));
};

function batch(scene, view) {
  const opened = scene.opened, stored = opened.stored;
  const beside = view.mode === "wide" ? 296 : 0;
  const room = view.width - 34 - beside - CELL.left;
  const across = [32, 24, 16, 12, 8].find((count) => count * CELL.least <= room) ?? 8;
  const w = Math.min(CELL.most, Math.floor((room / across) * 2) / 2);
  if (view.gridOf !== opened || view.cell !== w || view.gridFrom !== view.field) {
    const first = stored.map(asField), behind = opened.clear.map((each, at) => asField(each, first.length + at));
    view.fields = [...first, ...behind];
    view.field = Math.min(view.field, view.fields.length - 1);
    view.grids = [grid(first, across, w, view.id, "the batch", view.field),
      behind.length > 0 && h("h5", { key: "between" }, "the records, decompressed"), behind.length > 0 && grid(behind, across, w, view.id, "the decompressed records", view.field)];
    view.listed = list(view.fields);
    Object.assign(view, { gridOf: opened, cell: w, gridFrom: view.field });
  }
  const kinds = new Set(view.fields.map((field) => field.kind));
  const shown = Math.min(opened.to, opened.count), partial = opened.count > shown - opened.from;
  return h("section", { key: "batch", class: "batch", "aria-label": `batch ${range(opened.first_offset, opened.last_offset)}` },
    h("div", { key: "top", class: "top" },
      h("span", { class: "group" }, go("walk", -1, "back", "The batch before (←)"), go("walk", 1, "play", "The next batch (→)")),
      h("h4", {}, `Batch ${range(opened.first_offset, opened.last_offset)}`),
      h("span", { class: "where" }, `${number(opened.size)} bytes at ${number(opened.position)}, ${opened.count} record${opened.count === 1 ? "" : "s"}, epoch ${opened.epoch}`),
      partial && h("span", { key: "pages", class: "group pages" }, go("turn", -1, "back", "The records before (Page Up)", opened.from === 0), h("span", {}, `records ${range(opened.from, shown - 1)} of ${opened.count}`), go("turn", 1, "play", "The next records (Page Down)", shown >= opened.count)),
      opened.trouble && h("span", { key: "bad", class: "chip bad" }, `⚠ ${opened.trouble}`)),
    opened.codec !== "none" && squeeze(opened, room - 170),
    readout(view.fields[view.hover ?? view.field], opened),
    h("div", { key: "bytes", class: "bytes" }, h("div", { key: "grids", class: "grids" }, view.grids), view.listed),
    h("div", { key: "kinds", class: "legend", role: "note", "aria-label": "colours" }, KINDS.filter(([kind]) => kinds.has(kind)).map(([kind, words]) =>
      h("span", { key: kind }, h("i", { class: `swatch ${HUES[kind]} ${kind}` }), " ", words))));
}

const go = (what, by, sign, tip, off = false) =>
  h("button", { type: "button", "data-do": what, "data-by": by, "aria-label": tip, "data-tip": tip, "aria-disabled": off ? "true" : null }, icon(sign));

/* The field in view, in the grid and in the list. */
function markField(root, view) {
  const at = view.hover ?? view.field;
  for (const part of root.querySelectorAll("[data-field]")) part.classList.toggle("hit", Number(part.dataset.field) === at);
}
