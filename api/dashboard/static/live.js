// Keeps the part of a page with data-live up to date: it is loaded again when its stream says that
// something has changed, and only what differs is replaced, so that focus, selection and scroll
// position stay. data-live: the address of the stream, or empty. data-poll: also every 2 seconds.
(() => {
  const TICK = 2000;
  const PATIENCE = 15_000;
  const LEAST_PAUSE = 1000;
  // Of the time between two loads, so that an open page is a small load for a busy service.
  const SHARE = 0.1;
  let source = null;
  let isPaused = false;
  let isLoading = false;
  let isDue = false;

  const region = () => document.querySelector("[data-live]");
  const isOpen = () => source?.readyState === EventSource.OPEN;

  // Browsers have few connections to a host, so a hidden page has none.
  function connect() {
    const address = region()?.dataset.live;
    if (!address || isPaused || document.hidden) {
      source?.close();
      source = null;
    } else if (!source || source.readyState === EventSource.CLOSED) {
      source = new EventSource(address);
      source.addEventListener("open", load);
      source.addEventListener("changed", load);
    }
  }

  function tick() {
    connect();
    if (isDue || !isOpen() || region()?.hasAttribute("data-poll")) load();
  }

  async function load() {
    if (!region() || isPaused || document.hidden) return;
    isDue = isLoading;
    if (isLoading) return;
    isLoading = true;
    const address = location.href;
    const began = performance.now();
    try {
      const response = await fetch(address, {
        headers: { "X-Refresh": "true" },
        redirect: "manual",
        cache: "no-store",
        signal: AbortSignal.timeout(PATIENCE),
      });
      const { ok, status, type } = response;
      if (!ok && (status >= 500 || status === 429)) throw new Error(String(status));
      const found = new DOMParser().parseFromString(await response.text(), "text/html");
      // The session has ended or is of another workspace, or the page is another one now.
      const isOther = found.body.dataset.workspace !== document.body.dataset.workspace;
      if (type === "opaqueredirect" || !ok || isOther) location.reload();
      else if (address === location.href && !isPaused) update(found);
    } catch {
      markStale();
    }
    const took = performance.now() - began;
    setTimeout(() => {
      isLoading = false;
      if (isDue) load();
    }, Math.max(LEAST_PAUSE, took / SHARE));
  }

  function update(found) {
    const shown = region();
    const wanted = shown && found.getElementById(shown.id);
    if (!wanted) return;
    if (wanted.dataset.announce !== shown.dataset.announce) announce(wanted.dataset.announce);
    morph(shown, wanted);
    window.htmx?.process(shown);
  }

  function markStale() {
    const stale = region()?.querySelector("[data-stale]");
    if (!stale?.hidden) return;
    stale.hidden = false;
    announce(stale.textContent.trim());
  }

  function announce(text) {
    document.getElementById("announcer").textContent = text ?? "";
  }

  function morph(shown, wanted) {
    if (shown.nodeType !== Node.ELEMENT_NODE) {
      if (shown.nodeValue !== wanted.nodeValue) shown.nodeValue = wanted.nodeValue;
      return;
    }
    if (shown.isEqualNode(wanted)) return;
    for (const { name } of [...shown.attributes]) {
      // What the user has opened stays open.
      if (name !== "open" && !wanted.hasAttribute(name)) shown.removeAttribute(name);
    }
    for (const { name, value } of wanted.attributes) {
      if (shown.getAttribute(name) !== value) shown.setAttribute(name, value);
    }
    morphChildren(shown, wanted);
  }

  // Elements with an id are matched by it, others by their place.
  function morphChildren(shown, wanted) {
    const ids = new Set([...wanted.children].map((child) => child.id));
    for (const child of [...shown.children]) if (child.id && !ids.has(child.id)) child.remove();
    const known = new Map([...shown.children].filter((child) => child.id).map((child) => [child.id, child]));
    let place = shown.firstChild;
    for (const next of [...wanted.childNodes]) {
      const same = next.id ? known.get(next.id) : place && !place.id && place.nodeName === next.nodeName ? place : null;
      if (!same) {
        shown.insertBefore(next, place);
        continue;
      }
      while (place !== same && place && !place.id) {
        const passed = place;
        place = place.nextSibling;
        passed.remove();
      }
      if (place === same) place = place.nextSibling;
      else shown.insertBefore(same, place);
      morph(same, next);
    }
    while (place) {
      const passed = place;
      place = place.nextSibling;
      passed.remove();
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-pause]");
    if (!button) return;
    isPaused = !isPaused;
    button.textContent = isPaused ? "Resume updates" : "Pause updates";
    connect();
    load();
  });
  document.addEventListener("visibilitychange", () => {
    connect();
    load();
  });
  window.addEventListener("pagehide", () => source?.close());
  connect();
  setInterval(tick, TICK);
})();
