// Shows the live part of the page anew every two seconds while somebody looks.
// Keys were escaped by the server; nothing here interprets them.
"use strict";

const live = document.getElementById("live");
const stale = document.getElementById("stale");
const every = 2000; // ms
let seen = new Date();

async function refresh() {
  if (document.hidden || !getSelection().isCollapsed || live.querySelector(":focus-visible")) {
    return; // nobody looks, or somebody copies a key or reads with the keyboard
  }
  try {
    const answer = await fetch("/live", { cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (!answer.ok) throw new Error("it answered " + answer.status);
    live.innerHTML = await answer.text();
    seen = new Date();
    stale.hidden = true;
  } catch (err) {
    stale.textContent = "Not up to date since " + seen.toLocaleTimeString() + ": " + err.message;
    stale.hidden = false;
  }
}

async function loop() {
  await refresh();
  setTimeout(loop, every);
}

setTimeout(loop, every);
document.addEventListener("visibilitychange", refresh);
