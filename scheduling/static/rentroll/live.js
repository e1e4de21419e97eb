// Keeps the dashboard's figures fresh: asks for the page again and swaps the part inside #live.
// Without it, or when an answer fails, the page stays what it is and says how old it is.
"use strict";

(() => {
  const live = document.getElementById("live");
  const state = document.getElementById("live-state");
  if (!live) return;

  const pause = Number(live.dataset.every) * 1000;
  let freshAt = Date.now();

  async function refresh() {
    if (document.hidden) return;
    const answer = await fetch(location.href, { redirect: "error", cache: "no-store" });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of ["#live", ".kill-switch-place", ".as-of"]) {
      const [old, fresh] = [document.querySelector(part), page.querySelector(part)];
      if (old && fresh) old.replaceChildren(...fresh.childNodes);
    }
    freshAt = Date.now();
    state.textContent = "";
  }

  function tell() {
    const seconds = Math.round((Date.now() - freshAt) / 1000);
    state.textContent = `Not refreshed for ${seconds} s.`;
    state.classList.add("warn");
  }

  setInterval(() => refresh().then(() => state.classList.remove("warn"), tell), pause);
  document.addEventListener("visibilitychange", () => refresh().catch(tell));
})();
