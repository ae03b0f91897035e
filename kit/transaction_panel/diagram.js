/* A transactional id: its state in the diagram of the engine's own table, its producers, its buttons.

   Put behind kit/film/tree.js. */

const WIDE = 900, MID = 560, HUES = 6, DIAGRAMS_MOST = 2;
const MEANINGS = {
  "transactional ids": "The names that producers have given: one coordinator state each.",
  open: "Transactions that are running, or whose markers are not all written.",
};
/* Where a state is: column, line. */
const STANDS = {
  Empty: [0, 0], Ongoing: [1, 0], PrepareCommit: [2, 0], CompleteCommit: [3, 0],
  Dead: [0, 1], PrepareEpochFence: [1, 1], PrepareAbort: [2, 1], CompleteAbort: [3, 1],
};
const STATES = {
  Empty: "a producer id is given, no transaction is open", Ongoing: "partitions are in it; the time-out runs",
  PrepareCommit: "decided: it will commit; the markers are under way", PrepareAbort: "decided: it will abort; the markers are under way",
  CompleteCommit: "every partition has its COMMIT marker", CompleteAbort: "every partition has its ABORT marker",
  PrepareEpochFence: "the producer took too long or was replaced: a higher epoch fences it", Dead: "no producer used the id for a week",
};
/* The way of a transaction is always drawn, another edge when it has just been taken. */
const MAIN = ["Empty Ongoing", "Ongoing PrepareCommit", "Ongoing PrepareAbort", "Ongoing PrepareEpochFence", "PrepareEpochFence PrepareAbort", "PrepareCommit CompleteCommit", "PrepareAbort CompleteAbort"];

const hue = (producer) => (producer < 0 ? "unknown" : `e${producer % HUES}`);

function stateDiagram(each, edges, width) {
  const column = width / 4, narrow = column < 126, line = narrow ? 62 : 54;
  const box = { w: Math.min(122, column - 14), h: narrow ? 32 : 24 };
  const at = (state) => { const [x, y] = STANDS[state]; return { x: x * column + column / 2, y: 26 + y * line }; };
  const taken = each.took.map(([from, , to]) => `${from} ${to}`);
  const known = new Map(edges.filter(([from, , to]) => from !== to && STANDS[from] && STANDS[to]).map(([from, event, to]) => [`${from} ${to}`, event]));
  for (const [from, event, to] of each.took) if (from !== to && !known.has(`${from} ${to}`)) known.set(`${from} ${to}`, event);
  const shown = [...known].filter(([edge]) => MAIN.includes(edge) || taken.includes(edge));
  return h("svg", { key: "diagram", class: "diagram", width, height: 26 + line + box.h / 2 + 8, role: "img", "aria-label": `${each.id} is ${each.state}` },
    shown.map(([edge, event]) => {
      const [from, to] = edge.split(" "), a = at(from), b = at(to);
      const straight = a.y === b.y && Math.abs(a.x - b.x) <= column + 1;
      const side = Math.sign(b.x - a.x) * (box.w / 2), up = Math.sign(b.y - a.y) * (box.h / 2);
      const back = b.x < a.x;
      const ends = a.x === b.x || (!straight && !back && a.y !== b.y && Math.abs(side) === 0) ? [a.x, a.y + up, b.x, b.y - up] : [a.x + side, a.y, b.x - side, b.y];
      const path = back && a.y === b.y ? `M${a.x} ${a.y - box.h / 2}C${a.x} ${a.y - 26} ${b.x} ${b.y - 26} ${b.x} ${b.y - box.h / 2}`
        : `M${ends[0]} ${ends[1]}L${ends[2]} ${ends[3]}`;
      return h("g", { key: edge, class: `edge ${taken.includes(edge) ? "taken" : ""}` }, h("title", {}, `${from} → ${to}: ${event}`),
        h("path", { d: path, "marker-end": null }),
        h("path", { class: "tip", d: tip(path, back && a.y === b.y ? Math.PI / 2 : Math.atan2(ends[3] - ends[1], ends[2] - ends[0]), back && a.y === b.y ? [b.x, b.y - box.h / 2] : [ends[2], ends[3]]) }));
    }),
    Object.keys(STANDS).map((state) => {
      const { x, y } = at(state), now = state === each.state, next = state === each.pending && !now;
      return h("g", { key: state, class: `state ${now ? "now" : ""} ${next ? "next" : ""} ${state}` },
        h("title", {}, `${state}: ${STATES[state]}${next ? " (on its way: its record is not replicated yet)" : ""}`),
        h("rect", { x: x - box.w / 2, y: y - box.h / 2, width: box.w, height: box.h, rx: 12 }),
        lines(state, narrow).map((words, row, all) => h("text", { key: row, x, y: y + 4 + (row - (all.length - 1) / 2) * 12, "text-anchor": "middle", style: `font-size: ${Math.min(11.5, (box.w - 6) / (words.length * 0.62)).toFixed(1)}px` }, words)));
    }));
}

/* A state's name; in little room its last word has a line of its own. */
const lines = (state, narrow) => (narrow ? [state.replace(/(?<=.)[A-Z][a-z]+$/, ""), state.match(/(?<=.)[A-Z][a-z]+$/)?.[0]].filter(Boolean) : [state]);

function tip(path, angle, [x, y]) {
  const wing = (turn) => `${x - 7 * Math.cos(angle + turn)} ${y - 7 * Math.sin(angle + turn)}`;
  return `M${wing(0.45)}L${x} ${y}L${wing(-0.45)}`;
}

function parts(each) {
  if (!each.parts.length) return h("span", { key: "parts", class: "parts none" }, "no partition in a transaction");
  return h("span", { key: "parts", class: "parts" }, each.parts.some((part) => part.marker) ? "markers: " : "in: ", each.parts.map((part) =>
    h("span", { key: part.name, class: `part ${part.marker}`, title: { "": "in the transaction", missing: "the coordinator has not heard of its marker yet", written: "its marker is written, and the coordinator knows" }[part.marker] },
      h("span", { "aria-hidden": true }, { "": "•", missing: "…", written: "✓" }[part.marker]), ` ${part.name}`)));
}

const press = (button, data, refused, label) => {
  const refusal = refused || button.refusal;
  return h("div", { key: button.action, class: "slot" }, h("button", {
    type: "button", ...data, "data-action": button.action, "data-tip": refusal || button.means,
    "aria-disabled": refusal ? "true" : null, "aria-label": `${label}. ${refusal || button.means}`,
  }, label));
};

function clientCard(client, refused) {
  const gone = client.process !== "running";
  const state = gone ? client.process : client.is_fenced ? "fenced" : client.state;
  return h("div", { key: client.name, class: `client ${gone ? "gone" : ""} ${client.is_fenced ? "fenced" : ""}`, "data-member": client.name, role: "group", "aria-label": client.text },
    h("div", { class: "name" }, h("i", { class: `spot ${hue(client.producer_id)}`, "aria-hidden": true }), h("b", {}, client.name),
      client.epoch >= 0 && h("span", { key: "epoch", class: "epoch" }, `producer ${client.producer_id}, epoch ${client.epoch}`),
      h("span", { class: `word ${gone || client.is_fenced || client.state.endsWith("Error") ? "bad" : ""}`, title: client.error || null }, gone ? "✕ " : client.is_fenced ? "! " : "", state)),
    h("div", { class: "call" }, client.call ? `waits for ${client.call}` : client.error),
    client.ours && h("div", { key: "buttons", class: "buttons" }, client.buttons.map((button) =>
      press(button, { "data-do": "press", "data-name": client.name }, refused, button.action))));
}

function idCard(each, scene, edges, width, refused) {
  const few = scene.ids.length <= DIAGRAMS_MOST;
  const mine = scene.clients.filter((client) => client.id === each.id);
  const [zombie, broker] = each.buttons;
  return h("section", { key: `id ${each.id}`, class: `id ${each.state}`, "aria-label": `transactional id ${each.id}` },
    h("div", { class: "who" },
      h("i", { class: `spot ${hue(each.producer_id)}`, "aria-hidden": true }), h("b", {}, each.id),
      !few && h("span", { key: "state", class: `pill ${each.state}`, title: STATES[each.state] }, each.state),
      h("span", { title: "The producer id and the epoch that hold: an older epoch is refused" }, "producer ", h("b", {}, each.producer_id), " epoch ", h("b", {}, each.epoch)),
      each.coordinator >= 0 && h("span", { key: "coordinator", class: each.coordinator_state === "running" ? "" : "bad", title: "The broker that leads the id’s partition of __transaction_state" }, "coordinator ", h("b", {}, each.coordinator), each.coordinator_state === "running" ? "" : ` ${each.coordinator_state}`),
      h("span", { title: "transaction.timeout.ms" }, each.left_ms == null ? `time-out ${each.timeout_ms / 1000} s` : ["aborts in ", h("b", { key: "left" }, `${(each.left_ms / 1000).toFixed(1)} s`)]),
      h("span", { class: "buttons" },
        zombie && press(zombie, { "data-do": "zombie", "data-id": each.id }, refused, "+ a second producer"),
        broker && press(broker, { "data-do": "broker", "data-broker": each.coordinator }, refused, `${broker.action === "kill" ? "kill" : "start"} ${each.coordinator}`))),
    few && stateDiagram(each, edges, width),
    parts(each),
    h("div", { key: "clients", class: "clients" }, mine.map((client) => clientCard(client, refused))));
}

/* Producers whose id the coordinator does not know yet. */
function loose(scene, refused) {
  const known = new Set(scene.ids.map((each) => each.id)), rest = scene.clients.filter((client) => !known.has(client.id));
  return rest.length > 0 && h("div", { key: "loose", class: "clients" }, rest.map((client) => clientCard(client, refused)));
}
