
/* ---- the presenter's pages: feeds the panel above from the stage, and draws the remote --------- */

const EVERY_MS = 300, STILL_HERE_MS = 4000;
const ROLE = document.body.className;
const STAGE = `/${location.pathname.split("/")[1]}`;

async function post(name, content) {
  try {
    const answer = await fetch(`${STAGE}/${name}`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content),
    });
    return answer.ok;
  } catch { return false; }
}

/* What anywidget gives a widget in a notebook: traits, their changes, messages. */
const traits = {}, heard = new Map(), unsaved = {};
const model = {
  get: (name) => traits[name],
  set: (name, value) => { traits[name] = value; unsaved[name] = value; },
  save_changes: () => {
    post("set", { ...unsaved });
    for (const name of Object.keys(unsaved)) delete unsaved[name];
  },
  send: (content) => post("press", content),
  on: (event, act) => heard.set(event, [...(heard.get(event) ?? []), act]),
  off: (event, act) => heard.set(event, (heard.get(event) ?? []).filter((each) => each !== act)),
};

function take(fresh) {
  const changed = Object.keys(fresh).filter((name) => JSON.stringify(fresh[name]) !== JSON.stringify(traits[name]));
  for (const name of changed) traits[name] = fresh[name];
  for (const name of changed) (heard.get(`change:${name}`) ?? []).forEach((act) => act());
  return changed.length > 0;
}

const piece = (tag, className, text) => {
  const found = document.createElement(tag);
  if (className) found.className = className;
  if (text != null) found.textContent = text;
  return found;
};

function key(label, className, refusal, press) {
  const button = piece("button", className, label);
  button.type = "button";
  button.disabled = Boolean(refusal);
  if (refusal) button.title = refusal;
  button.onclick = press;
  return button;
}

/* ---- the scene's words, and the way to the next one -------------------------------------------- */

let stage = {};
const go = (number) => { if (number >= 0 && number < stage.of) post("go", { scene: number }); };

function words() {
  document.querySelector("h1").textContent = stage.title;
  document.querySelector(".question").textContent = stage.question;
  document.querySelector(".to-press").textContent = stage.to_press;
  const nav = document.querySelector("nav");
  const dots = Array.from({ length: stage.of }, (_, n) => {
    const dot = key(String(n + 1), n === stage.at ? "on" : "", "", () => go(n));
    dot.setAttribute("aria-label", `scene ${n + 1}`);
    if (n === stage.at) dot.setAttribute("aria-current", "step");
    return dot;
  });
  nav.replaceChildren(key("‹", "", stage.at === 0 && "This is the first scene.", () => go(stage.at - 1)), ...dots,
    key("›", "", stage.at === stage.of - 1 && "This is the last scene.", () => go(stage.at + 1)));
}

addEventListener("keydown", (event) => { // the keys of a clicker
  const step = { PageDown: 1, PageUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  go(stage.at + step);
});

/* ---- the remote ---------------------------------------------------------------------------------- */

let drawn = "";
const said = () => traits.notice || (traits.scene.caption ?? "").replaceAll("**", "");

function remote() {
  const rows = traits.scene.rows ?? [];
  const shown = rows.map(({ id, role, state, in_isr, buttons, links }) => ({ id, role, state, in_isr, buttons, links }));
  document.querySelector("main .notice")?.replaceChildren(said());
  if (JSON.stringify(shown) === drawn) return; // a button must not be replaced under a finger
  drawn = JSON.stringify(shown);
  const main = document.querySelector("main");
  const send = (action, node, other) => post("press", { type: "press", action, node, other });
  const cards = shown.map((row) => {
    const card = piece("section", `card ${row.state}`);
    const head = piece("h2", "", String(row.id));
    head.append(piece("span", "", [row.role, row.state, row.in_isr ? "in the ISR" : "out of the ISR"].filter(Boolean).join(" · ")));
    const keys = piece("div", "keys");
    for (const button of row.buttons) {
      if (button.action === "cut") continue;
      keys.append(key(button.action, button.action, button.refusal, () => send(button.action, row.id)));
    }
    const links = piece("div", "links");
    links.append(piece("span", "", "cut from"));
    for (const link of row.links) {
      if (link.action === "heal") continue;
      const from = link.label.replace("from ", "").replace(/^the controller \d+$/, "controller");
      const button = key(from, "cut", link.refusal, () => send(link.action, row.id, link.other));
      button.setAttribute("aria-label", `cut ${row.id} ${link.label}`);
      links.append(button);
    }
    card.append(head, keys, links);
    return card;
  });
  const heal = shown[0]?.links.find((link) => link.action === "heal");
  const notice = piece("p", "notice", said());
  notice.setAttribute("role", "status");
  main.replaceChildren(notice, ...cards,
    key("heal all links", "heal", heal?.refusal, () => send("heal", shown[0].id)));
}

/* ---- the projector -------------------------------------------------------------------------------- */

function fit() { // large type: the panel is laid out for a smaller page, and enlarged
  const least = { width: 1060, height: 552 };
  const head = document.querySelector("header").offsetHeight + document.querySelector("nav").offsetHeight;
  const zoom = Math.min(innerWidth / least.width, (innerHeight - head - 24) / least.height);
  document.querySelector("main").style.zoom = String(Math.max(1, zoom));
}

let begun = false;
async function ask() {
  try {
    const answer = await fetch(`${STAGE}/state?${stage.version ?? ""}`, { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.status);
    const fresh = await answer.json();
    document.body.dataset.gone = "";
    if (fresh.traits) {
      stage = fresh;
      take(fresh.traits);
      words();
      if (ROLE === "remote") remote();
      else if (!begun) { fit(); render({ model, el: document.querySelector("main") }); begun = true; }
    }
  } catch { document.body.dataset.gone = "The stage does not answer: it has ended."; }
  setTimeout(ask, EVERY_MS);
}

if (ROLE === "show") addEventListener("resize", fit);
else setInterval(() => post("press", { type: "watch" }), STILL_HERE_MS);
ask();
