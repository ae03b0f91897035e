/* The accumulator as a film: draws the moments that kit/drawings/accumulator/film.py made.

   Every batch is a group of its own that keeps its identity, so that the browser moves it from its
   place in one moment to its place in the next.  Time is the producer's: a step has a time in
   milliseconds, and playing only goes from step to step. */

const NS = "http://www.w3.org/2000/svg";
const WIDE = 940, TOP = 62, ROW = 50, BOX = { w: 118, h: 38 };
const QUEUE = { from: 118, to: 506 }, FLIGHT = { from: 540, to: 772 }, LOG = { from: 800, to: 922 };
const DWELL_MS = 900;

function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function html(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const bytes = (n) => (n >= 1 << 20 ? `${(n / (1 << 20)).toFixed(n % (1 << 20) ? 1 : 0)} MiB` : n >= 1024 ? `${(n / 1024).toFixed(n >= 10240 ? 0 : 1)} KiB` : `${n} B`);
const spaced = (count, from, to, w) => (count < 2 ? 0 : Math.min(w + 8, (to - from - w) / (count - 1)));

/* Where each batch of a moment is: waiting ones end at the sender, the oldest next to it. */
function places(film, moment) {
  const found = new Map();
  film.partitions.forEach(({ index }, row) => {
    const here = moment.lots.filter((lot) => lot.partition === index);
    const y = TOP + ROW * row + (ROW - BOX.h) / 2;
    const waits = here.filter((lot) => !lot.request), flies = here.filter((lot) => lot.request);
    const gap = spaced(waits.length, QUEUE.from, QUEUE.to, BOX.w);
    waits.forEach((lot, at) => found.set(lot.number, { x: QUEUE.to - BOX.w - gap * at, y, lot }));
    const step = spaced(flies.length, FLIGHT.from, FLIGHT.to, BOX.w);
    flies.forEach((lot, at) => found.set(lot.number, { x: FLIGHT.to - BOX.w - step * at, y, lot }));
  });
  return found;
}

function box() {
  const parts = {
    frame: svg("rect", { class: "frame", width: BOX.w, height: BOX.h, rx: 6 }),
    fill: svg("rect", { class: "fill", height: BOX.h, rx: 6 }),
    linger: svg("rect", { class: "linger", y: BOX.h - 4, height: 4, rx: 2 }),
    name: svg("text", { class: "name", x: 8, y: 16 }),
    size: svg("text", { class: "size", x: 8, y: 30 }),
  };
  const group = svg("g", { class: "lot" }, ...Object.values(parts));
  return { group, parts };
}

function dress({ group, parts }, lot, film, moment) {
  const share = Math.min(1, lot.size / Math.max(lot.size, film.batch_size || 1));
  parts.fill.setAttribute("width", Math.max(4, BOX.w * share));
  const age = film.linger_ms ? Math.min(1, Math.max(0, (moment.ms - lot.since) / film.linger_ms)) : 1;
  parts.linger.setAttribute("width", lot.request ? 0 : BOX.w * age);
  parts.name.textContent = lot.request ? `b${lot.number}` : `batch ${lot.number}`;
  parts.size.textContent = `${lot.records} rec · ${bytes(lot.size)}`;
  const state = lot.request ? "flying" : lot.attempt ? "again" : "waits";
  group.setAttribute("class", `lot ${state}${lot.error ? " error" : ""}`);
  parts.name.textContent += lot.request ? ` · request ${lot.request}` : lot.attempt ? ` · attempt ${lot.attempt + 1}` : "";
}

function stage(film) {
  const height = TOP + ROW * film.partitions.length + 10;
  const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${height}`, role: "img", class: "stage" });
  const column = (from, to, title, note) => picture.append(
    svg("rect", { class: "zone", x: from - 8, y: TOP - 6, width: to - from + 16, height: height - TOP, rx: 8 }),
    svg("text", { class: "zone-name", x: from, y: TOP - 30 }, title),
    svg("text", { class: "note", x: from, y: TOP - 13 }, note));
  column(QUEUE.from, QUEUE.to, "accumulator", `batch.size ${bytes(film.batch_size)}, linger.ms ${film.linger_ms}`);
  column(FLIGHT.from, FLIGHT.to, "in flight", `at most ${film.in_flight_most} requests per broker`);
  column(LOG.from, LOG.to, "stored", "records in the log");
  const stored = new Map();
  film.partitions.forEach(({ index, leader }, row) => {
    const y = TOP + ROW * row;
    if (row) picture.append(svg("path", { class: "rule", d: `M8 ${y}H${WIDE - 12}` }));
    picture.append(svg("text", { class: "partition", x: 10, y: y + 23 }, `partition ${index}`),
      svg("text", { class: "note", x: 10, y: y + 39 }, leader > 0 ? `leader ${leader}` : "no leader"));
    const count = svg("text", { class: "count", x: (LOG.from + LOG.to) / 2, y: y + 31 }, "0");
    stored.set(index, count);
    picture.append(count);
  });
  const lots = svg("g");
  picture.append(lots);
  return { picture, lots, stored };
}

/* The model may be there before its film is. */
function render({ model, el }) {
  let end = null;
  const begin = () => {
    if (end || !model.get("film")?.moments) return;
    end = show(model, el);
  };
  model.on("change:film", begin);
  begin();
  return () => { model.off("change:film", begin); end?.(); };
}

function show(model, el) {
  const film = model.get("film"), last = film.moments.length - 1;
  const root = html("div", { class: "accumulator-film", tabindex: 0, role: "group", "aria-label": film.title });
  const { picture, lots, stored } = stage(film);
  const boxes = new Map();
  let playing = 0;

  const when = html("span", { class: "when" });
  const gauge = html("span", { class: "gauge", "aria-hidden": "true" }, html("i"));
  const memory = html("span", { class: "memory" });
  const blocked = html("span", { class: "blocked" });
  const head = html("header", {}, html("b", {}, film.title), blocked,
    html("span", { class: "pool" }, "buffer.memory ", gauge, memory), when);
  const caption = html("p", { class: "caption", "aria-live": "polite" });
  const slider = html("input", { type: "range", min: 0, max: last, step: 1, "aria-label": "moment" });
  const button = (words, label, act) => {
    const made = html("button", { type: "button", "aria-label": label, title: label }, words);
    made.addEventListener("click", act);
    return made;
  };
  const go = (place) => {
    model.set("position", Math.max(0, Math.min(last, place)));
    model.save_changes();
  };
  const at = () => model.get("position");
  const stop = () => { clearInterval(playing); playing = 0; play.textContent = "▶ play"; };
  const start = () => {
    if (at() === last) go(0);
    play.textContent = "❚❚ pause";
    playing = setInterval(() => (at() < last ? go(at() + 1) : stop()), DWELL_MS);
  };
  const play = button("▶ play", "play or pause", () => (playing ? stop() : start()));
  const controls = html("div", { class: "controls" },
    button("|◀", "first moment", () => { stop(); go(0); }),
    button("◀", "one step back", () => { stop(); go(at() - 1); }), play,
    button("▶", "one step on", () => { stop(); go(at() + 1); }),
    button("▶|", "last moment", () => { stop(); go(last); }), slider);
  const legend = html("p", { class: "legend" },
    html("i", { class: "k fill" }), "bytes in the batch ", html("i", { class: "k linger" }), "part of linger.ms that is over ",
    html("kbd", {}, "← →"), " step ", html("kbd", {}, "Home End"), " ends ", html("kbd", {}, "space"), " play",
    film.cut ? " · only the first moments are shown" : "");
  root.append(head, picture, caption, controls, legend);
  el.append(root);

  function draw() {
    const place = at(), moment = film.moments[place], now = places(film, moment);
    for (const [number, { x, y, lot }] of now) {
      let made = boxes.get(number);
      if (!made) {
        made = box();
        boxes.set(number, made);
        made.group.style.transform = `translate(${QUEUE.from - 20}px, ${y}px)`;
        made.group.style.opacity = 0;
        lots.append(made.group);
        made.group.getBoundingClientRect(); // so that it moves in from here
      }
      dress(made, lot, film, moment);
      made.group.style.opacity = 1;
      made.group.style.transform = `translate(${x}px, ${y}px)`;
    }
    for (const [number, made] of boxes) {
      if (now.has(number)) continue;
      boxes.delete(number);
      const y = made.group.style.transform.split(",")[1] ?? " 0px)";
      made.group.style.transform = `translate(${LOG.from}px,${y}`;
      made.group.style.opacity = 0;
      setTimeout(() => made.group.remove(), 500);
    }
    for (const [index, count] of stored) count.textContent = String(moment.stored[index] ?? 0);
    const share = Math.min(1, moment.memory / film.buffer_memory);
    gauge.firstChild.style.width = `${100 * share}%`;
    gauge.classList.toggle("full", share > 0.999);
    memory.textContent = `${bytes(moment.memory)} of ${bytes(film.buffer_memory)}`;
    blocked.textContent = moment.blocked ? `✋ send() blocks: ${moment.blocked} waiting` : moment.refused ? `✗ ${moment.refused} refused` : "";
    when.textContent = `${moment.ms.toFixed(1)} ms`;
    caption.textContent = moment.sentence;
    slider.value = String(place);
    picture.setAttribute("aria-label", `${moment.ms.toFixed(1)} ms: ${moment.sentence}`);
  }

  slider.addEventListener("input", () => { stop(); go(Number(slider.value)); });
  root.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: () => go(at() + 1), ArrowLeft: () => go(at() - 1), Home: () => go(0), End: () => go(last), " ": () => (playing ? stop() : start()) };
    if (!(event.key in steps) || event.target.tagName === "BUTTON" && event.key === " ") return;
    if (event.key !== " ") stop();
    steps[event.key]();
    event.preventDefault();
    event.stopPropagation();
  });
  model.on("change:position", draw);
  draw();
  return () => { clearInterval(playing); model.off("change:position", draw); };
}

export default { render };
