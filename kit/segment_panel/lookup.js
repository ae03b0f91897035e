/* A look-up: the question, the entries that the search reads, and its steps to go through. */

const KEY_LABELS = [["offset", "offset"], ["time", "time"]];

const shownKey = (file, key) => (file.endsWith(".timeindex") ? new Date(key).toISOString().slice(11, 23) : number(key));

function ask(scene, view) {
  return h("form", { key: "ask", class: "ask" },
    h("label", {}, "Look up ", h("select", { "data-do": "what", "aria-label": "what to look up", value: view.what },
      KEY_LABELS.map(([what, words]) => h("option", { key: what, value: what, selected: what === view.what }, words)))),
    h("input", { type: "text", "data-do": "query", "aria-label": view.what === "time" ? "a time: milliseconds, or 2026-11-23 08:44:16" : "an offset", placeholder: view.what === "time" ? "2026-11-23 08:44:16" : "an offset", spellcheck: "false", size: 20 }),
    h("button", { type: "submit", class: "go" }, "look up"),
    h("span", { key: "how", class: "how" }, "The engine’s own search reads this broker’s files; each read is shown."));
}

/* The entries around a probe: what is out of question is faint. */
function entries(step, lookup) {
  const [first, last] = [step.entries[0][0], step.entries.at(-1)[0]];
  return h("div", { key: `entries ${step.file}`, class: "entries", role: "img", "aria-label": `${step.file}: entries ${first} to ${last} of ${step.of}` },
    h("span", { class: "of" }, h("code", {}, step.file), ` ${number(step.of)} entr${step.of === 1 ? "y" : "ies"}`),
    first > 0 && h("span", { key: "less", class: "gap" }, "…"),
    step.entries.map(([slot, key, value]) => {
      const probed = slot === step.slot, open = slot >= step.low && slot < step.high;
      const order = lookup.steps.slice(0, lookup.at + 1).filter((each) => each.file === step.file && each.kind === "probe").findLastIndex((each) => each.slot === slot);
      return h("span", { key: slot, class: `entry ${probed ? "probed" : ""} ${open ? "open" : "out"} ${step.kind === "probe" ? "" : "found"}` },
        order >= 0 && h("i", { key: "order" }, order + 1), h("small", {}, `#${slot}`), h("b", {}, shownKey(step.file, key)), h("span", {}, `→ ${number(value)}`));
    }),
    last < step.of - 1 && h("span", { key: "more", class: "gap" }, "…"));
}

function lookUp(scene, view) {
  const { lookup } = scene, at = Math.min(view.step, (lookup.steps?.length ?? 1) - 1);
  if (!lookup.steps) return h("section", { key: "lookup", class: "lookup", "aria-label": "look-up" }, ask(scene, view));
  const step = lookup.steps[at], known = lookup.steps.slice(0, at + 1).findLast((each) => each.entries && each.segment === step.segment);
  return h("section", { key: "lookup", class: "lookup open", "aria-label": "look-up" },
    ask(scene, view),
    h("div", { key: "deck", class: "deck" },
      h("span", { class: "group" }, h("b", { class: "question" }, lookup.question),
        go("step", -1e9, "first", "The first step", at === 0), go("step", -1, "back", "The step before (P)", at === 0), go("step", 1, "play", "The next step (N)", at === lookup.steps.length - 1), go("step", 1e9, "last", "The answer", at === lookup.steps.length - 1),
        h("span", { class: "count" }, `step ${at + 1} of ${lookup.steps.length}`)),
      h("span", { class: "group" }, `${number(lookup.bytes_read)} bytes read in all`, h("button", { type: "button", "data-do": "forget" }, "clear"))),
    known && entries(known, { ...lookup, at }),
    h("ol", { key: "steps", class: "steps", tabindex: 0, "aria-label": "steps" }, lookup.steps.map((each, place) =>
      h("li", { key: place, class: `${place === at ? "now" : place > at ? "later" : ""} is-${each.kind}` },
        h("button", { type: "button", "data-do": "at", "data-at": place, "aria-current": place === at ? "step" : null },
          h("span", { class: "sign" }, SIGNS[each.kind]), each.says, each.read && each.kind !== "read" && h("small", { key: "read" }, ` read ${number(each.read[2])} B at ${number(each.read[1])} of ${each.read[0]}${each.read[3] ? `: ${each.read[3]}` : ""}`))))));
}

const SIGNS = { segment: "▤", probe: "◇", entry: "◆", memory: "◈", read: "▭", batch: "▸", record: "●", answer: "✓" };
