"use strict";
// Asks the room every two seconds and draws its grid: exercises across, participants down.
const EVERY_MS = 2000;
const RECENT_S = 900;
const where = location.pathname.replace(/\/$/, "") + "/view";
let chosen = null;

function make(tag, className, text) {
  const found = document.createElement(tag);
  if (className) found.className = className;
  if (text !== undefined) found.textContent = text;
  return found;
}

const notebookOf = (id) => id.slice(0, id.lastIndexOf("-"));
const minutes = (seconds) => (seconds < 60 ? "now" : `${Math.floor(seconds / 60)} min`);

function lasting(seconds) {
  const hours = Math.floor(seconds / 3600);
  const rest = Math.floor((seconds % 3600) / 60);
  return hours ? `${hours} h ${rest} min` : `${rest} min`;
}

// Stuck first, then the ones at work, then by what is left to do: the top rows need someone.
function urgency(participant, ids) {
  const cells = ids.map((id) => participant.exercises[id]).filter(Boolean);
  const count = (test) => cells.filter(test).length;
  return [count((c) => c.stuck), count((c) => !c.solved), -count((c) => c.solved)];
}

function compare(a, b) {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return b[i] - a[i];
  return 0;
}

function cellOf(entry) {
  const td = make("td");
  if (!entry) {
    const box = make("span", "cell open", "·");
    box.setAttribute("aria-label", "not begun");
    td.append(box);
    return td;
  }
  const state = entry.solved ? "solved" : entry.stuck ? "stuck" : "trying";
  const box = make("span", `cell ${state}`);
  const attempts = `${entry.attempts} attempt${entry.attempts === 1 ? "" : "s"}`;
  const hints = `${entry.hints} hint${entry.hints === 1 ? "" : "s"}`;
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", `${state}, ${attempts}, ${hints}, ${minutes(entry.since_s)}`);
  box.title = box.getAttribute("aria-label");
  box.append(make("b", "", entry.solved ? "✓" : String(entry.attempts)));
  if (entry.stuck) box.append(make("b", "", "!"));
  if (entry.hints) box.append(make("span", "hints", "•".repeat(Math.min(entry.hints, 4))));
  if (!entry.solved) box.append(make("span", "since", minutes(entry.since_s)));
  td.append(box);
  return td;
}

function heading(id, title, people) {
  const th = make("th");
  th.scope = "col";
  th.append(make("b", "", id), make("span", "title", title));
  const cells = people.map((p) => p.exercises[id]).filter(Boolean);
  const solved = cells.filter((c) => c.solved).length;
  const stuck = cells.filter((c) => c.stuck).length;
  const bar = make("span", "bar");
  for (const [kind, count] of [["solved", solved], ["stuck", stuck],
                               ["trying", cells.length - solved - stuck]]) {
    const part = make("i", kind);
    part.style.flexGrow = count;
    if (count) bar.append(part);
  }
  const open = make("i", "open");
  open.style.flexGrow = people.length - cells.length;
  bar.append(open);
  const said = [`${solved} of ${people.length} solved`];
  if (stuck) said.push(`${stuck} stuck`);
  th.append(bar, make("span", "counts", said.join(", ")));
  return th;
}

function draw(view) {
  const people = view.participants;
  const notebooks = [...new Set(view.exercises.map(([id]) => notebookOf(id)))];
  const news = (n) =>
    people.flatMap((p) => Object.entries(p.exercises))
      .filter(([id, entry]) => notebookOf(id) === n && entry.since_s < RECENT_S).length;
  const busiest = [...notebooks].sort((a, b) => news(b) - news(a))[0];
  const shown = notebooks.includes(chosen) ? chosen : busiest;
  document.getElementById("room").textContent =
    `${people.length} in the room · it ends in ${lasting(view.remaining_s)}`;

  const nav = document.getElementById("notebooks");
  const focused = document.activeElement?.dataset?.notebook;
  nav.replaceChildren(...notebooks.map((n) => {
    const button = make("button", "", n);
    button.dataset.notebook = n;
    button.setAttribute("aria-pressed", String(n === shown));
    button.onclick = () => { chosen = n; draw(view); };
    return button;
  }));
  if (focused) nav.querySelector(`[data-notebook="${CSS.escape(focused)}"]`)?.focus();

  const columns = view.exercises.filter(([id]) => notebookOf(id) === shown);
  const ids = columns.map(([id]) => id);
  const rows = people
    .map((p) => ({ person: p, key: urgency(p, ids) }))
    .sort((a, b) => compare(a.key, b.key) || a.person.alias.localeCompare(b.person.alias));
  const grid = document.getElementById("grid");
  const head = make("tr");
  head.append(make("th", "corner", ""));
  for (const [id, title] of columns) head.append(heading(id, title, people));
  const body = make("tbody");
  for (const { person } of rows) {
    const tr = make("tr");
    const name = make("th", "", person.alias);
    name.scope = "row";
    tr.append(name, ...ids.map((id) => cellOf(person.exercises[id])));
    body.append(tr);
  }
  const thead = make("thead");
  thead.append(head);
  grid.replaceChildren(...(columns.length ? [thead, body] : []));
  document.getElementById("empty").textContent =
    columns.length ? "" : "No participant has checked an exercise yet.";
}

async function ask() {
  try {
    const answer = await fetch(where, { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.status);
    draw(await answer.json());
    document.body.classList.remove("gone");
  } catch {
    document.body.classList.add("gone");
    document.getElementById("room").textContent = "The room does not answer: it has ended.";
  }
}

ask();
setInterval(ask, EVERY_MS);
