/* The folder: a bar for each segment, batches in it by their bytes, marks where the log starts,
   is committed and ends.  Behind kit/film/tree.js and deck.js; scene.py says what is drawn. */

const WIDE = 900, MID = 620;
const BAR = { left: 150, high: 24, above: 21, below: 12 };
const MEANINGS = {
  replica: "Whether this broker leads the partition or follows", segments: "A log is a row of files; only the last is written to",
  bytes: "Of all batches of this replica", "log start": "Nothing below may be read", "high watermark": "Committed: on every replica in sync. A consumer reads up to here",
  "log end": "The next record gets this offset",
};
const SHORT = { "log start": "start", "high watermark": "HW", "log end": "LEO" };
const number = (value) => value.toLocaleString("en-US");
const range = (first, last) => (last > first ? `${first}–${last}` : `${first}`);

const patternsOf = (id) =>
  h("svg", { key: "patterns", class: "patterns", width: 0, height: 0, "aria-hidden": true }, h("defs", {},
    ["e0", "e1", "e2", "e3", "e4", "e5", "unknown"].map((hue) =>
      h("pattern", { key: hue, id: `${id}${hue}`, class: hue, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        h("rect", { class: "ground", width: 6, height: 6 }), h("rect", { class: "stripe", width: 2.2, height: 6 })))));

const epochHue = (epoch) => (epoch < 0 ? "unknown" : `e${epoch % 6}`);

/* A batch, or several that are too narrow; `control` wears dots, what is compressed stripes. */
function piece([position, size, first, last, batches, epoch, codec, control], segment, scene, x, id) {
  const left = x(position), width = Math.max(0.7, x(position + size) - left - (x(size) > 4 ? 1 : 0));
  const chosen = scene.segment === segment.base && scene.opened.position >= position && scene.opened.position < position + size;
  const says = batches > 1 ? `${batches} batches, offsets ${first}–${last}` : `batch ${range(first, last)}: ${number(size)} bytes, epoch ${epoch}${codec !== "none" ? `, ${codec}` : ""}${control ? ", a control batch" : ""}`;
  const label = range(first, last), striped = codec !== "none";
  return h("g", { key: position, class: `piece ${epochHue(epoch)} ${chosen ? "chosen" : ""} ${control ? "control" : ""} ${batches > 1 ? "many" : ""}`,
    "data-do": "open", "data-segment": segment.base, "data-position": position },
  h("title", {}, says),
  h("rect", { class: "face", x: left, y: BAR.above, width, height: BAR.high, rx: width > 6 ? 3 : 0, style: striped ? `fill: url(#${id}${epochHue(epoch)})` : null }),
  width > label.length * 6.4 + 6 && h("text", { key: "label", class: striped ? "halo" : "", x: left + width / 2, y: BAR.above + 16 }, label),
  chosen && h("path", { key: "tip", class: "tip", d: `M${left + width / 2 - 6},${BAR.above + BAR.high + 9} h12 l-6,-7z` }));
}

/* Marks that would overlap are one label. */
function segmentMarks(scene, segment, x, width) {
  const here = scene.marks.filter(([, , base]) => base === segment.base).sort((a, b) => a[3] - b[3]);
  const groups = [];
  for (const mark of here) {
    const last = groups.at(-1);
    if (last && Math.abs(x(last[0][3]) - x(mark[3])) < 90) last.push(mark);
    else groups.push([mark]);
  }
  return groups.map((group) => {
    const words = group.map(([name, offset]) => `${SHORT[name]} ${offset}`).join(" · ");
    const at = x(group.at(-1)[3]), half = words.length * 3.2;
    const anchor = at < half ? "start" : at > width - half ? "end" : "middle";
    return h("g", { key: words, class: "mark" },
      h("title", {}, group.map(([name, offset, , , says]) => `${name} ${offset}: ${says}`).join("; ")),
      group.map(([name, , , position], place) => h("path", { key: place, class: SHORT[name], d: `M${x(position)},${BAR.above + BAR.high + 2} v${-BAR.high - 5} m-4,-4 h8 l-4,5z` })),
      h("text", { key: "words", x: at, y: BAR.above - 11, "text-anchor": anchor }, words));
  });
}

/* What a look-up's step touches in this segment, and what it touched before. */
function touched(steps, at, segment, x) {
  const mine = steps.slice(0, at + 1).filter((step) => step.segment === segment.base && step.position >= 0 && step.size);
  const y = BAR.above + BAR.high + 4;
  return mine.map((step) => {
    const now = step === steps[at], left = x(step.position), width = Math.max(2, x(step.size));
    if (step.kind === "read") return h("path", { key: `read ${step.position}`, class: `read ${now ? "now" : ""}`, d: `M${left},${y} v6 h${width} v-6` });
    if (step.kind === "batch") return h("rect", { key: `batch ${step.position}`, class: `passed ${now ? "now" : ""}`, x: left, y: BAR.above - 1.5, width: Math.max(2, width - 1), height: BAR.high + 3, rx: 3 });
    return null;
  });
}

function segmentRow(segment, scene, view, width, most, lookup) {
  const x = (position) => (position / most) * width;
  const step = lookup.steps?.[lookup.at];
  const says = segment.batches ? `offsets ${range(segment.base, segment.next - 1)}` : "empty";
  return h("div", { key: segment.base, class: `row ${segment.base === scene.segment ? "chosen" : ""} ${step && step.segment === segment.base ? "looked" : ""}`, "data-segment": segment.base },
    h("button", { type: "button", class: "label", "data-do": "open", "data-segment": segment.base, "data-position": segment.pieces[0]?.[0] ?? 0,
      "aria-label": `segment ${segment.base}, ${says}, ${segment.says}${segment.active ? ", active" : ""}` },
      h("b", {}, segment.base), segment.active && h("span", { key: "active", class: "chip active" }, "active"), h("small", {}, segment.says)),
    h("svg", { class: "bar", width, height: BAR.above + BAR.high + BAR.below, role: "img", "aria-label": `segment ${segment.base}: ${segment.batches} batches, ${says}` },
      h("rect", { class: "rail", x: 0, y: BAR.above, width: Math.max(3, x(segment.size)), height: BAR.high, rx: 3 }),
      segment.pieces.map((each) => piece(each, segment, scene, x, view.id)),
      segment.tail > 0 && h("g", { key: "tail", class: "torn" }, h("title", {}, segment.trouble),
        h("rect", { x: x(segment.size - segment.tail), y: BAR.above, width: Math.max(3, x(segment.tail)), height: BAR.high })),
      lookup.steps && touched(lookup.steps, lookup.at, segment, x),
      segmentMarks(scene, segment, x, width)));
}

/* The files of the segment in view, and those of the whole log. */
function filesOf(scene) {
  const segment = scene.segments.find((each) => each.base === scene.segment);
  const short = (name) => name.replace(/^0+(?=\d)/, "");
  const file = ([name, size, says]) => h("span", { key: name, class: "file", tabindex: 0, "data-tip": `${name}: ${says || "a file of the log"}` }, h("code", {}, short(name)), ` ${size}`);
  return h("div", { key: "files", class: "files", role: "group", "aria-label": "files" },
    segment && h("span", { key: "own", class: "some" }, segment.files.map(file)),
    h("span", { key: "others", class: "some" }, scene.others.map(([name, size, says]) =>
      file([name, size, name === "leader-epoch-checkpoint" ? `epoch → first offset: ${scene.epochs.map((each) => each.join(" → ")).join(", ") || "none yet"}` : name === "partition.metadata" ? `${says}, ${scene.topic_id}` : says]))));
}

function folder(scene, view, lookup) {
  const width = Math.max(160, view.width - (view.mode === "narrow" ? 26 : BAR.left + 34));
  const most = Math.max(1, ...scene.segments.map((each) => each.size));
  return h("section", { key: "folder", class: "folder", "aria-label": "segments" },
    h("div", { key: "rows", class: "rows" }, scene.segments.map((segment) => segmentRow(segment, scene, view, width, most, lookup))),
    filesOf(scene),
    scene.notes.map((note) => h("p", { key: note, class: "trouble" }, "⚠ ", note)));
}
