/* What all panels draw with.  A panel's own scripts are put behind this file as one module, so
   nothing is imported.

   The page is described as a tree of `h(tag, attributes, ...children)`; `patch` makes the
   document agree with it and keeps elements by their key, and with them focus and motion. */

/* ---- a tree, and the document that follows it ---------------------------------------- */

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set("svg g rect text path line circle defs pattern title".split(" "));

const h = (tag, attributes, ...children) => ({ tag, attributes, children });

function patch(parent, children) {
  const wanted = new Map();
  children.flat(Infinity).forEach((child, index) => {
    if (child == null || child === false || child === "") return;
    wanted.set(`${child.tag ?? "words"} ${child.attributes?.key ?? `#${index}`}`, child);
  });
  const known = new Map();
  for (let node = parent.firstChild; node; ) {
    const next = node.nextSibling;
    if (wanted.has(node.panelKey)) known.set(node.panelKey, node);
    else if (typeof node.panelKey !== "symbol") leave(node);
    node = next;
  }
  let place = parent.firstChild;
  for (const [key, child] of wanted) {
    const node = known.get(key) ?? create(child);
    node.panelKey = key;
    if (!child.tag) {
      if (node.data !== String(child)) node.data = String(child);
    } else if (node.panelTree !== child) { // an unchanged piece of the tree is skipped
      assign(node, child.attributes);
      patch(node, child.children);
      node.panelTree = child;
    }
    while (typeof place?.panelKey === "symbol") place = place.nextSibling; // it is leaving
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
  }
}

function create({ tag }) {
  if (!tag) return document.createTextNode("");
  return SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
}

function assign(node, attributes) {
  const old = node.panelAttributes ?? {};
  for (const name of new Set([...Object.keys(old), ...Object.keys(attributes)])) {
    const value = attributes[name];
    if (name === "key" || value === old[name]) continue;
    if (name === "value") node.value = value;
    else if (value == null || value === false) node.removeAttribute(name);
    else node.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : value);
  }
  node.panelAttributes = attributes;
}

/* A record that is cut falls out in view before its element goes. */
function leave(node) {
  const falls = node.classList?.contains("cell") && !still();
  if (!falls) return node.remove();
  node.panelKey = Symbol("leaving");
  node.classList.add("leaving");
  node.addEventListener("animationend", () => node.remove(), { once: true });
  setTimeout(() => node.remove(), 1000);
}

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/* ---- small pieces -------------------------------------------------------------------- */

const plain = (sentence) => sentence.replaceAll("**", "");

/* Every second piece between `**` is stressed. */
const stressed = (sentence) =>
  sentence.split("**").map((piece, at) => (at % 2 ? h("strong", { key: at }, piece) : piece));

const chip = (kind, sign, words) =>
  h("span", { key: kind + words, class: `chip ${kind}` }, h("span", { "aria-hidden": true }, sign), " " + words);

/* A fact of the heading; a panel's MEANINGS say what the words mean. */
const fact = (name, value) =>
  h("span", { key: name, class: "fact", "data-tip": MEANINGS[name] ?? null, tabindex: MEANINGS[name] ? 0 : null }, `${name} `, h("b", {}, value));
