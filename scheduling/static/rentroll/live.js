// What htmx keeps fresh by itself (hx-trigger="every …") it does only while somebody looks, and when an answer
// fails to come the page says how old it is. Without this file, or without htmx, a page stays what it was.
"use strict";

// On a narrow screen the page one is on may be far to the right in the navigation.
document.querySelector(".pages [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

(() => {
  const state = document.getElementById("live-state");
  if (!state) return;
  const freshAt = { time: Date.now() };

  function tell() {
    const seconds = Math.round((Date.now() - freshAt.time) / 1000);
    state.textContent = `Not refreshed for ${seconds} s.`;
    state.classList.add("warn");
  }

  // Nobody looks, or somebody is in the middle of it: of a click, with the keyboard, or in an opened table.
  const isUntimely = (part) => document.hidden || part.querySelector(":active, :focus-visible, details[open]");

  for (const moment of ["htmx:beforeRequest", "htmx:beforeSwap"])
    document.addEventListener(moment, (event) => {
      if (event.detail.elt.matches("[hx-trigger^='every']") && isUntimely(event.detail.elt))
        event.preventDefault();
    });
  document.addEventListener("htmx:afterOnLoad", () => {
    freshAt.time = Date.now();
    state.textContent = "";
    state.classList.remove("warn");
  });
  for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"])
    document.addEventListener(failure, tell);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    for (const part of document.querySelectorAll("[hx-trigger^='every']")) htmx.trigger(part, "seen");
  });
})();
