/* What a panel with a timeline does in a browser: the element it draws into, mouse and keyboard.

   Put behind a script that says from which widths on it is WIDE or MID. */

/* `kind` is the panel's class, such as "group-panel"; `picture(view)` gives the tree and one more
   class, or nothing while there is nothing. */
function stage(el, kind, name, picture) {
  const root = document.createElement("section");
  const view = { id: `${kind}-${Math.random().toString(36).slice(2, 8)}-`, width: 0, source: "", reading: false, playing: false };
  root.className = `film-panel ${kind}`;
  for (const [attribute, value] of [["role", "group"], ["aria-label", name], ["tabindex", "0"], ["data-lm-suppress-shortcuts", "true"]]) {
    root.setAttribute(attribute, value);
  }
  el.append(root);
  const draw = () => {
    const drawn = view.width && picture(view);
    if (!drawn) return;
    const mode = view.width >= WIDE ? "wide" : view.width >= MID ? "mid" : "narrow";
    const resized = view.drawnAt !== view.width ? "resized" : ""; // then pieces jump, they do not travel
    view.drawnAt = view.width;
    const look = `film-panel ${kind} ${mode} ${drawn[1]} ${resized}`;
    if (root.className !== look) root.className = look;
    const inside = root.contains(document.activeElement);
    patch(root, drawn[0]);
    if (inside && !root.contains(document.activeElement)) root.focus({ preventScroll: true }); // what had it is gone
    const list = root.querySelector("aside"), here = [...root.querySelectorAll("aside .now")].at(-1) ?? list.lastElementChild;
    if (view.followed !== here) list.scrollTop = here.offsetTop - list.clientHeight * 0.7;
    view.followed = here;
    const code = root.querySelector(".source pre"), line = root.querySelector(".source .here");
    if (code && line && view.read !== view.source) code.scrollTop = line.offsetTop - code.clientHeight / 2;
    view.read = code ? view.source : "";
  };
  let waiting = false; // several traits change at once: draw once
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
  const sized = new ResizeObserver(([entry]) => { view.width = entry.contentRect.width; later(); });
  sized.observe(root);
  return { root, view, draw, later, stop: () => sized.disconnect() };
}

/* `does` has a function for each thing that can be asked for; what it lacks is not there.
   `onMember` are the keys of a member's own buttons, by their places. */
function controls(root, view, later, say, does, onMember = { r: 0, k: 1, z: 2 }) {
  const own = {
    ...does,
    source: ({ source }) => { view.source = view.source === source ? "" : source; later(); },
    close: () => { view.source = ""; later(); },
  };
  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-do]");
    if (!button || ["SELECT", "INPUT"].includes(button.tagName)) return;
    if (button.getAttribute("aria-disabled") === "true") return say(button.dataset.tip ?? button.title);
    own[button.dataset.do]?.(button.dataset, event);
  });
  root.addEventListener("input", (event) => { if (event.target.type === "range") does.time(Number(event.target.value)); });
  root.addEventListener("change", ({ target }) => {
    if (target.dataset.do === "protocol") view.protocol = target.value;
    if (target.dataset.do === "keep") view.keep = target.checked;
    if (target.dataset.do === "speed") view.speed = Number(target.value);
    if (target.dataset.do === "write") does.write?.(target.value);
    later();
  });
  const PLAIN = { Home: does.first, End: does.last, a: does.add, f: does.fork, n: does.next, v: does.take };
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT" || event.target.type === "text") return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const member = event.target.closest("[data-member]");
    if (key === "Escape" && view.source) own.close();
    else if (key === "ArrowLeft" || key === "ArrowRight") does.step(key === "ArrowLeft" ? -1 : 1);
    else if (PLAIN[key]) PLAIN[key]({}, event);
    else if (key === " " && event.target.tagName !== "BUTTON") does.play();
    else if (key === "t") { view.reading = !view.reading; later(); }
    else if (key === "o") { const line = [...root.querySelectorAll("aside button.now[data-source]:not([aria-disabled])")].at(-1); if (line || view.source) own.source(line?.dataset ?? { source: view.source }); }
    else if (key in onMember && member) member.querySelectorAll(".buttons button")[onMember[key]]?.click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}
