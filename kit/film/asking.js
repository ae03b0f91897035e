/* Questions of a panel to its kernel, one at a time, and the sentence to show meanwhile.

   The kernel answers each by its number (kit/film/asking.py).  Whether it is at work is known here
   alone: a trait that both sides write is left as the slower one wrote it. */

const AT_WORK = "The engine is at work …";
const NO_ANSWER = "The engine is at work, or its kernel is: no answer yet. If the kernel was restarted, run this panel's cell again.";
const PATIENCE_MS = 5000;

function asking(model, later) {
  let open = "", late = false, says = "", read = "", clock = 0; // `read`: the notice that is done with
  const show = (words) => { says = words; later(); };
  const answered = ({ answers }) => {
    if (answers !== open) return;
    clearTimeout(clock);
    open = read = "";
    show("");
  };
  model.on("msg:custom", answered);
  return {
    /* Sends a question, unless one is open that may still be answered soon. */
    ask: (message) => {
      if (open && !late) return;
      clearTimeout(clock);
      open = Math.random().toString(36).slice(2);
      late = false;
      clock = setTimeout(() => { late = true; show(NO_ANSWER); }, PATIENCE_MS);
      show(AT_WORK);
      model.send({ ...message, asked: open });
    },
    /* A sentence of the panel's own, or none; either ends what the kernel had to say (`notice`). */
    say: (words) => {
      if (open) return;
      read = model.get("notice");
      show(words);
    },
    said: () => says || (model.get("notice") === read ? "" : model.get("notice")),
    stop: () => { clearTimeout(clock); model.off("msg:custom", answered); },
  };
}
