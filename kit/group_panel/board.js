/* The board of a group: a card and a lane for each member, and partitions as pieces that move.

   A piece keeps its element while it moves from lane to lane, so the style's transition draws the
   way; with less motion it is simply there.  Put behind kit/film/tree.js. */

const HUES = 6;
const WIDE = 900, MID = 560;
const PIECES_MOST = 60;
const SIZES = { tall: { card: 66, w: 48, h: 38, gap: 6, pad: 9 }, low: { card: 34, w: 40, h: 26, gap: 5, pad: 5 }, tiny: { card: 24, w: 30, h: 18, gap: 3, pad: 3 } };
const FILLED = ["own", "reported", "revoking", "free"];
const SIGNS_OF = { remove: "↪", kill: "✕", freeze: "❚❚", thaw: "▶" };
const PROCESS = { running: "●", frozen: "❚❚", killed: "✕", left: "■", "": "?" };

const MEANINGS = {
  protocol: "classic: the members agree among themselves, in generations. consumer: the coordinator decides, in epochs (KIP-848).",
  state: "The coordinator’s word for the group.",
  generation: "Counts the completed joins. A request with an older one is refused.",
  epoch: "Counts the coordinator’s targets. Each member catches up with it on its own.",
  assignor: "The rule that says who gets which partition.",
  coordinator: "The broker that leads the group’s partition of __consumer_offsets.",
  lag: "Log end less committed offset, over all partitions.",
};
const STATES = {
  Empty: "no member, only offsets", PreparingRebalance: "waits until every member has joined again",
  CompletingRebalance: "waits for the leader’s assignment", Stable: "every member has its partitions",
  Dead: "deleted, or another broker is its coordinator", Assigning: "computes a new target", Reconciling: "members give back and take over",
};

const hue = (partition) => `e${partition % HUES}`;

/* ---- geometry ---------------------------------------------------------------------------- */

function layout(scene, panelWidth) {
  const mode = panelWidth >= WIDE ? "wide" : panelWidth >= MID ? "mid" : "narrow";
  const density = scene.members.length <= 6 ? "tall" : scene.members.length <= 14 ? "low" : "tiny";
  const size = { ...SIZES[density] };
  const left = mode === "narrow" ? 0 : density === "tall" ? 212 : 244;
  const width = Math.max(150, panelWidth - (mode === "wide" ? 264 : 0) - left - 34);
  const many = scene.lags.length > PIECES_MOST;
  const across = Math.max(1, Math.floor((width + size.gap) / (size.w + size.gap)));
  const rows = [], places = new Map();
  let top = 0;
  for (const seat of ["", ...scene.members.map((member) => member.name)]) {
    const here = scene.pieces.filter((piece) => piece.seat === seat);
    const lines = many ? 1 : Math.max(1, Math.ceil(here.length / across));
    const head = mode !== "narrow" ? 0 : seat ? size.card + 4 : 18;
    const lane = lines * (size.h + size.gap) - size.gap;
    const height = Math.max(mode === "narrow" || !seat ? 0 : size.card, head + lane) + 2 * size.pad;
    const first = mode === "narrow" ? top + size.pad + head : top + (height - lane) / 2;
    rows.push({ seat, top, height });
    here.forEach((piece, at) => places.set(piece, {
      x: (at % across) * (size.w + size.gap), y: first + Math.floor(at / across) * (size.h + size.gap),
    }));
    top += height;
  }
  return { mode, density, size, left, width, many, rows, places, height: top, panelWidth };
}

/* ---- pieces -------------------------------------------------------------------------------- */

function piece(piece, scene, g, id) {
  const { x, y } = g.places.get(piece), { w, h: high } = g.size;
  const filled = FILLED.includes(piece.kind);
  const lag = scene.lags.find((each) => each.partition === piece.partition);
  const most = Math.max(20, ...scene.lags.map((each) => each.lag));
  const roomy = g.density !== "tiny", bar = w - 10;
  const asleep = scene.members.some((each) => each.name === piece.seat && each.process === "frozen");
  return h("g", {
    key: filled ? `piece ${piece.partition}` : `${piece.kind} ${piece.partition} ${piece.seat}`,
    class: `piece ${piece.kind} ${hue(piece.partition)} ${asleep ? "asleep" : ""}`, style: `transform: translate(${x}px, ${y}px)`, "data-piece": piece.partition,
  },
  h("title", {}, `partition ${piece.partition}: ${piece.says}${lag && lag.lag >= 0 ? `; committed offset ${lag.committed < 0 ? "none" : lag.committed}, log end ${lag.end}, lag ${lag.lag}` : ""}`),
  h("rect", { class: "back", width: w, height: high, rx: 6 }),
  h("rect", { class: "face", width: w, height: high, rx: 6, style: piece.kind === "stale" ? `fill: url(#${id}${hue(piece.partition)})` : null }),
  h("text", { class: "number", x: w / 2, y: { tall: 20, low: 14.5, tiny: high / 2 + 4.5 }[g.density] }, piece.partition),
  piece.kind === "revoking" && h("text", { key: "sign", class: "sign", x: w - 9, y: 12 }, "↩"),
  piece.kind === "stale" && roomy && h("text", { key: "sign", class: "sign", x: w - 9, y: 12 }, "!"),
  filled && roomy && lag && lag.lag > 0 && h("g", { key: "lag", class: "behind" },
    h("rect", { class: "scale", x: 5, y: high - 8, width: bar, height: 4, rx: 2 }),
    h("rect", { class: "lag", x: 5, y: high - 8, width: Math.max(2, (lag.lag / most) * bar), height: 4, rx: 2 }),
    h("rect", { class: "unread", x: 5, y: high - 8, width: Math.max(0, (lag.unread / most) * bar), height: 4, rx: 2 })));
}

/* More partitions than fit: a lane says how many, and how far they are behind. */
function heap(row, scene, g) {
  const here = scene.pieces.filter((each) => each.seat === row.seat);
  const kinds = ["own", "reported", "revoking", "stale", "given", "target", "free"]
    .map((kind) => [kind, here.filter((each) => each.kind === kind).length]).filter(([, count]) => count);
  const share = g.width / Math.max(1, scene.lags.length), y = row.top + (row.height - g.size.h) / 2;
  let x = 0;
  return kinds.map(([kind, count]) => {
    const at = x, wide = Math.max(26, Math.min(count * share * 2.4, g.width / 2));
    x += wide + 6;
    return h("g", { key: `heap ${row.seat} ${kind}`, class: `piece ${kind} e0`, style: `transform: translate(${at}px, ${y}px)` },
      h("title", {}, `${count} partitions: ${here.find((each) => each.kind === kind).says}`),
      h("rect", { class: "back", width: wide, height: g.size.h, rx: 6 }), h("rect", { class: "face", width: wide, height: g.size.h, rx: 6 }),
      h("text", { class: "number", x: wide / 2, y: g.size.h / 2 + 4.5 }, count));
  });
}

/* ---- cards ---------------------------------------------------------------------------------- */

function memberCard(member, g, refused) {
  const known = member.process !== "", zombie = member.zombie;
  return h("div", { style: g.mode === "narrow" ? `height: ${g.size.card}px` : null, class: `card ${g.density} ${member.process} ${zombie ? "zombie" : ""} ${member.leads ? "leads" : ""} ${member.is_member ? "" : "outside"}` },
    h("div", { class: "name" },
      h("b", { title: member.id || null }, member.name),
      member.leads && h("span", { key: "leads", class: "role", title: "The group’s leader computes the assignment" }, g.density === "tall" ? "leader" : "♛"),
      known && chip(member.process, PROCESS[member.process] ?? "?", member.process === "running" ? (g.density === "tiny" ? "" : member.protocol) : member.process),
      zombie && chip("zombie", "!", "zombie")),
    g.density !== "tiny" && h("div", { key: "standing", class: "standing", title: member.standing }, member.standing),
    member.ours && h("div", { key: "buttons", class: "buttons" }, member.buttons.map((button, at) => {
      const refusal = refused || button.refusal;
      return h("div", { key: at, class: "slot" }, h("button", {
        type: "button", "data-do": "press", "data-action": button.action, "data-name": member.name,
        "data-tip": refusal || button.means, "aria-disabled": refusal ? "true" : null,
        "aria-label": `${button.action} ${member.name}. ${refusal || button.means}`,
      }, g.density === "tall" ? button.action : SIGNS_OF[button.action]));
    })));
}

function board(scene, g, id, refused) {
  const free = scene.pieces.some((each) => each.seat === "");
  return h("div", { key: "board", class: `rows ${g.density}` },
    h("div", { key: "tray", class: `row tray ${free ? "some" : ""}`, style: `height: ${g.rows[0].height}px` },
      h("div", { class: "label" }, h("b", {}, free ? "no reader" : ""), free ? "" : scene.lags.length ? "every partition has an owner" : "no partition yet")),
    scene.members.map((member, at) => h("div", {
      key: member.name, class: `row ${member.process} ${member.zombie ? "zombie" : ""}`,
      style: `height: ${g.rows[at + 1].height}px${g.mode === "narrow" ? `; padding-top: ${g.size.pad}px` : ""}`,
      "data-member": member.name, role: "group", "aria-label": member.text,
    }, memberCard(member, g, refused))),
    h("svg", { key: "pieces", class: "pieces", style: `left: ${g.left + 16}px`, width: g.width, height: g.height, "aria-hidden": true },
      g.many ? g.rows.flatMap((row) => heap(row, scene, g)) : scene.pieces.map((each) => piece(each, scene, g, id))));
}

/* ---- heading, legend ------------------------------------------------------------------------- */

const groupHeading = (scene, edge) =>
  h("header", { key: "heading" },
    h("span", { class: "title" }, h("b", {}, scene.group), h("b", {}, ` · ${scene.topic}`)),
    scene.facts.map(([name, value]) => fact(name, name === "state" ? h("span", { class: `state-word ${value}`, title: STATES[value] ?? null }, value) : value)),
    h("span", { key: "edge", class: "edge" }, edge));

const groupPatterns = (id) =>
  h("svg", { key: "patterns", class: "patterns", width: 0, height: 0, "aria-hidden": true }, h("defs", {},
    Array.from({ length: HUES }, (_, at) =>
      h("pattern", { key: at, id: `${id}e${at}`, class: `e${at}`, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        h("rect", { class: "stripe", width: 2, height: 7 }))),
    h("pattern", { key: "wait", id: `${id}wait`, class: "wait", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      h("rect", { width: 2.4, height: 5 }))));

const sample = (kind, id) =>
  h("svg", { width: 22, height: 16, "aria-hidden": true }, h("g", { class: `piece ${kind} e0` },
    h("rect", { class: "face", x: 1, y: 1, width: 20, height: 14, rx: 4, style: kind === "stale" ? `fill: url(#${id}e0)` : null })));

const barSample = (kind, id) =>
  h("svg", { width: 22, height: 12, "aria-hidden": true }, h("rect", { class: `span ${kind}`, x: 0, y: 2, width: 22, height: 8, fill: kind === "waits" ? `url(#${id}wait)` : null }));

const groupLegend = (scene, id) => {
  const consumer = scene.facts.some(([name, value]) => name === "protocol" && value === "consumer");
  return h("div", { key: "legend", class: "legend", role: "note", "aria-label": "legend" },
    [[sample("own", id), "owned: coordinator and member agree"],
     [sample("stale", id), "the member believes it owns it, the coordinator says no"],
     [sample("given", id), "the coordinator says so, the member does not have it"],
     consumer && [sample("target", id), "goes here when it is given back"],
     scene.lags.length > 0 && [h("b", {}, "10/12"), "committed offset and log end"],
     [barSample("stopped", id), "stopped: no awake member has it"],
     [barSample("waits", id), "its owner has not read a record yet"],
     [barSample("twice", id), "two readers"]].filter(Boolean).map(([sign, words], at) => h("span", { key: at }, sign, " ", words)));
};

const groupKeys = (more) =>
  h("div", { key: "keys", class: "keys" }, [["← →", "step"], ["Home End", "ends"], ["space", "play"], ["A", "add"], ...more,
    ["R K Z", "remove, kill, freeze or thaw (on a member)"], ["T", "read as text"]]
    .map(([key, what]) => h("span", { key }, h("kbd", {}, key), ` ${what}`)));

/* What the group's members join with. */
const usual = (scene, otherwise) => scene.members.find((each) => each.is_member && each.protocol)?.protocol ?? otherwise;
