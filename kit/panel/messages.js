/* Messages between nodes, drawn where they are at the clock's virtual time. */

const FLIGHTS_MOST = 5, HELD_AT = 0.24;

/* Where the messages' column begins, and where each node is in it. */
function stations(scene, g, pair, active) {
  const height = g.height * (pair ? 2 : 1);
  const middle = (at) => LANE.ruler + at * height + (pair && active ? g.height : 0) + g.top + g.cell / 2;
  const left = Math.min(g.x(g.end) + 40, g.width - g.right + 30);
  const client = left + 34, controller = Math.min(left + 132, g.width - 50);
  return { left, client, controller, height: LANE.ruler + scene.rows.length * height,
    y: (id) => { const at = scene.rows.findIndex((row) => row.id === id); return at < 0 ? null : middle(at); } };
}

/* A message's way: four points of a curve. */
function way([, , from, to], s, slot) {
  const a = s.y(from), b = s.y(to), x = s.left;
  const top = (node) => (node === "client" ? s.client : s.controller) - slot * 9;
  if (a != null && b != null) {
    const down = Math.sign(b - a), bend = 34 + Math.abs(b - a) / 9 + slot * 24;
    return [[x, a + 7 * down], [x + bend, a + 7 * down], [x + bend, b - 7 * down], [x + 4, b - 7 * down]];
  }
  if (a == null && b != null) return [[top(from), 26], [top(from), b - 4], [top(from), b - 4], [x + 4, b - 4]];
  if (a != null) return [[x, a + 5], [top(to), a + 5], [top(to), a + 5], [top(to), 30]];
  return null;
}

const curve = ([a, b, c, d]) => `M${a} C${b} ${c} ${d}`;

/* A place on a curve; asking the document for it would make it lay everything out. */
function along([a, b, c, d], part) {
  const rest = 1 - part;
  const on = (i) => rest ** 3 * a[i] + 3 * rest ** 2 * part * b[i] + 3 * rest * part ** 2 * c[i] + part ** 3 * d[i];
  return [on(0), on(1)];
}

function tip(points) {
  const [x, y] = points[3], [nearX, nearY] = along(points, 0.94);
  return `translate(${x},${y}) rotate(${(Math.atan2(y - nearY, x - nearX) * 180) / Math.PI})`;
}

const ANSWERS = new Set(["fetched", "idle", "diverging", "ended", "produced", "refused", "news", "granted", "denied", "ok"]);

const said = (flight) => (flight[6] ? `held: ${flight[5]}` : flight[5]);

/* `named` draws the nodes that have no row. */
function messages(shown, scene, g, pair, active, named) {
  if (g.mode === "narrow") return null;
  const s = stations(scene, g, pair, active);
  const drawn = shown.map((flight, at) => ({ flight, points: way(flight, s, at) })).filter(({ points }) => points);
  const pills = drawn.map(({ flight }) => {
    const a = s.y(flight[2]) ?? 30, b = s.y(flight[3]) ?? 30;
    const width = said(flight).length * 6.25 + 20;
    return { width, y: (a + b) / 2, x: Math.min(s.left + 74, g.width - width / 2 - 4) };
  });
  [...pills].sort((a, b) => a.y - b.y).forEach((pill, at, all) => {
    if (at && pill.y < all[at - 1].y + 27) pill.y = all[at - 1].y + 27;
  });
  return h("svg", { key: "talk", class: "talk", width: g.width, height: s.height, "aria-hidden": true },
    named(scene, s),
    drawn.map(({ flight, points }) => h("g", {
      key: flight.slice(0, 5).join(" "), class: `flight ${flight[4]} ${ANSWERS.has(flight[4]) ? "answer" : "request"}${flight[6] ? " held" : ""}`,
      "data-flight": JSON.stringify([flight[0], flight[1], points, flight[6]]),
    },
    h("path", { class: "way", d: curve(points) }),
    h("path", { class: "tip", d: "M-7,-4.5 3,0 -7,4.5z", transform: tip(points) }),
    h("circle", { class: "dot", r: 5.5 }))),
    drawn.map(({ flight }, at) => h("g", { key: `pill ${flight.slice(0, 5).join(" ")}`, class: `says ${flight[4]}${flight[6] ? " held" : ""}` },
      h("rect", { class: "pill", x: pills[at].x - pills[at].width / 2, y: pills[at].y - 12, width: pills[at].width, height: 24, rx: 12 }),
      h("text", { x: pills[at].x, y: pills[at].y + 4 }, said(flight)))));
}

/* Puts every message where it is at a virtual time. */
function fly(root, clock) {
  for (const flight of root.querySelectorAll(".flight")) {
    const [sent, arrives, points, held] = JSON.parse(flight.dataset.flight);
    const done = held ? HELD_AT : Math.min(1, Math.max(0, (clock - sent) / (arrives - sent)));
    flight.lastChild.setAttribute("transform", `translate(${along(points, done)})`);
    flight.classList.toggle("waiting", clock < sent);
    flight.classList.toggle("there", done === 1);
  }
}
