// A question: choices as buttons (one, or several and then "Answer"), or a field for a free answer.

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.append(...inline(text));
  return made;
}

// Text, with what is between backticks as code.
function inline(text) {
  return text.split(/`([^`]+)`/).map((part, place) => {
    if (place % 2 === 0) return part;
    const code = document.createElement("code");
    code.textContent = part;
    return code;
  });
}

function render({ model, el }) {
  const root = element("div", "kafka-question");
  const title = element("div", "question");
  title.id = `question-${model.get("name")}-${Math.random().toString(36).slice(2)}`;
  title.append(element("span", "number", model.get("name")), " ", ...inline(model.get("question")));
  const note = element("div", "note");
  note.setAttribute("role", "status");
  const verdict = element("div", "verdict");
  const send = (answer) => model.send({ answer });
  const several = model.get("several");
  const buttons = new Map();
  root.append(title);

  if (model.get("choices").length) {
    const group = element("div", "choices");
    group.setAttribute("role", several ? "group" : "radiogroup");
    group.setAttribute("aria-labelledby", title.id);
    const chosen = new Set(model.get("answer"));
    for (const [letter, text] of model.get("choices")) {
      const button = element("button", "choice");
      button.type = "button";
      button.setAttribute("role", several ? "checkbox" : "radio");
      button.append(element("span", "letter", letter), element("span", "text", text));
      button.addEventListener("click", () => {
        if (!several) return send([letter]);
        if (!chosen.delete(letter)) chosen.add(letter);
        mark([...chosen]);
      });
      buttons.set(letter, button);
      group.append(button);
    }
    group.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      const all = [...buttons.values()];
      const at = all.indexOf(document.activeElement);
      all[(at + step + all.length) % all.length].focus();
    });
    root.append(group);
    if (several) {
      const done = element("button", "answer", "Answer");
      done.type = "button";
      done.addEventListener("click", () => send([...chosen].sort()));
      root.append(done);
    }
  } else {
    const line = element("form", "free");
    const field = element("input");
    field.type = "text";
    field.placeholder = model.get("form");
    field.setAttribute("aria-labelledby", title.id);
    field.value = model.get("answer").join(" ");
    const done = element("button", "answer", "Record");
    line.append(field, done);
    line.addEventListener("submit", (event) => {
      event.preventDefault();
      send([field.value]);
    });
    // JupyterLab's command mode would take single letters as shortcuts
    field.addEventListener("keydown", (event) => event.stopPropagation());
    root.append(line);
  }

  function mark(answer) {
    for (const [letter, button] of buttons) {
      button.setAttribute("aria-checked", String(answer.includes(letter)));
    }
  }

  function show() {
    mark(model.get("answer"));
    note.textContent = model.get("note");
    verdict.innerHTML = model.get("verdict");
  }

  root.append(note, verdict);
  model.on("change:answer change:note change:verdict", show);
  show();
  el.append(root);
  return () => model.off("change:answer change:note change:verdict", show);
}

export default { render };
