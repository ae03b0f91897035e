/* A streaming query's progress: shows the picture that panel.py draws, and says that it is in view. */

const WATCH_MS = 4000;

function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "spark-progress";
  const picture = document.createElement("div");
  const notice = document.createElement("p");
  notice.className = "notice";
  notice.setAttribute("role", "status");
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = "the same in words";
  const words = document.createElement("pre");
  words.tabIndex = 0;
  details.append(summary, words);
  root.append(picture, notice, details);
  // JupyterLab's command mode would take single letters as shortcuts.
  root.addEventListener("keydown", (event) => event.stopPropagation());

  const show = () => {
    picture.innerHTML = model.get("picture");
    notice.textContent = model.get("notice");
    words.textContent = model.get("words");
  };
  model.on("change:picture change:notice change:words", show);
  show();
  el.append(root);

  let inView = true;
  const watch = () => {
    if (inView && document.visibilityState === "visible") model.send({ type: "watch" });
  };
  const seen = new IntersectionObserver(([entry]) => { inView = entry.isIntersecting; watch(); });
  seen.observe(root);
  watch();
  const ticking = setInterval(watch, WATCH_MS);
  return () => {
    clearInterval(ticking);
    seen.disconnect();
    model.off("change:picture change:notice change:words", show);
  };
}

export default { render };
