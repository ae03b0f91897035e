// A slider per argument, the call that they make, and the picture that the kernel draws for it.

function render({ model, el }) {
  el.classList.add("kio-slider");
  el.dataset.lmSuppressShortcuts = "true"; // the arrow keys are the sliders'
  const call = document.createElement("code");
  const picture = document.createElement("img");
  const notice = document.createElement("p");
  notice.className = "kio-slider-notice";
  notice.setAttribute("role", "status");
  const rows = document.createElement("div");
  rows.className = "kio-slider-rows";
  const sliders = model.get("names").map((name, number) => row(model, name, number, rows));
  el.append(rows, call, notice, picture);

  function show() {
    call.textContent = model.get("call");
    notice.textContent = model.get("notice");
    notice.hidden = !model.get("notice");
    picture.alt = model.get("words");
    picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(model.get("drawn"));
    el.classList.remove("kio-slider-waits");
  }
  function follow() {
    sliders.forEach((each) => each.show());
    el.classList.add("kio-slider-waits");
  }
  model.on("change:places", follow);
  model.on("change:call change:notice", show);
  sliders.forEach((each) => each.show());
  show();
}

function row(model, name, number, rows) {
  const labels = model.get("labels")[number];
  const label = document.createElement("label");
  const words = document.createElement("span");
  const slider = document.createElement("input");
  words.textContent = name;
  slider.type = "range";
  slider.min = 0;
  slider.max = labels.length - 1;
  slider.setAttribute("aria-label", name);
  const value = document.createElement("output");
  label.append(words, slider, value);
  rows.append(label);

  function move(place) {
    const places = [...model.get("places")];
    places[number] = Math.min(Math.max(place, 0), labels.length - 1);
    if (places[number] === model.get("places")[number]) return;
    model.set("places", places);
    model.save_changes();
  }
  slider.addEventListener("input", () => move(Number(slider.value)));
  slider.addEventListener("keydown", (event) => { // JupyterLab takes the arrow keys of a slider
    const here = model.get("places")[number];
    const place = {
      ArrowRight: here + 1, ArrowUp: here + 1, ArrowLeft: here - 1, ArrowDown: here - 1,
      Home: 0, End: labels.length - 1,
    }[event.key];
    if (place === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    move(place);
  });
  return {
    show() {
      const place = model.get("places")[number];
      slider.value = place;
      slider.setAttribute("aria-valuetext", labels[place]);
      value.textContent = labels[place];
    },
  };
}

export default { render };
