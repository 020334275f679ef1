// The script puts the parts that the server sends in place of the old ones. Everything works without it, not live.
"use strict";
(() => {
  const live = document.getElementById("live");
  const pause = document.getElementById("pause");
  const announce = document.getElementById("announce");
  const title = document.title;
  let source = null;
  let word = null;

  const clock = () => new Date().toISOString().slice(11, 19) + " UTC";

  const say = (text, tone) => {
    if (live.textContent !== text) live.textContent = text;
    live.className = tone;
  };

  // The word of the verdict is in the title of the window, and is announced when it changes.
  const name = () => {
    const now = document.getElementById("verdict-title").dataset.word;
    document.title = now + " · " + title;
    if (word !== null && word !== now) announce.textContent = now;
    word = now;
  };

  // What is open, scrolled or focused stays so.
  const replace = (part, html) => {
    const old = document.getElementById(part);
    if (!old) return;
    const open = new Map(), scrolled = new Map();
    for (const d of old.querySelectorAll("details[id]")) open.set(d.id, d.open);
    for (const d of old.querySelectorAll(".scroll[id]")) if (d.scrollLeft) scrolled.set(d.id, d.scrollLeft);
    const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
    old.innerHTML = html;
    for (const d of old.querySelectorAll("details[id]")) if (open.has(d.id)) d.open = open.get(d.id);
    for (const [id, left] of scrolled) {
      const d = document.getElementById(id);
      if (d) d.scrollLeft = left;
    }
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  };

  // Text that somebody selects is not replaced below their hands. The server sends a part once, so it is kept until then.
  const kept = new Map();
  const selects = (part) => {
    const s = getSelection();
    return s && !s.isCollapsed && document.getElementById(part)?.contains(s.anchorNode);
  };

  const apply = () => {
    for (const [part, html] of kept) {
      if (selects(part)) continue;
      kept.delete(part);
      replace(part, html);
      if (part === "verdict") name();
    }
  };

  document.addEventListener("selectionchange", apply);

  const start = () => {
    source = new EventSource("events");
    source.onopen = () => say("Live", "good");
    source.onerror = () => {
      if (!live.textContent.startsWith("Not connected")) say("Not connected since " + clock() + ": what is below may be old", "bad");
      if (source.readyState === EventSource.CLOSED) setTimeout(() => { if (source) { source.close(); start(); } }, 5000);
    };
    source.addEventListener("part", (event) => {
      const end = event.data.indexOf("\n");
      const part = end < 0 ? event.data : event.data.slice(0, end);
      kept.set(part, end < 0 ? "" : event.data.slice(end + 1));
      apply();
    });
  };

  const stop = () => {
    source.close();
    source = null;
    kept.clear(); // a new stream sends all parts
    say("Paused at " + clock(), "warn");
  };

  pause.addEventListener("click", () => {
    if (source) stop(); else start();
    pause.textContent = source ? "Pause updates" : "Resume updates";
  });

  pause.hidden = false;
  name();
  say("Connecting", "dim");
  start();
})();
