// Enhancements for browsers with JavaScript. Listeners are on the document, because htmx replaces
// elements.
(() => {
  const NAMES = { "": "System", light: "Light", dark: "Dark" };
  const root = document.documentElement;

  function nameTheme() {
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      const name = NAMES[root.dataset.theme ?? ""];
      button.querySelector("[data-theme-name]").textContent = name;
      button.setAttribute("aria-label", `Theme: ${name}. Change`);
    }
  }

  function nextTheme() {
    const names = Object.keys(NAMES);
    const next = names[(names.indexOf(root.dataset.theme ?? "") + 1) % names.length];
    if (next) root.dataset.theme = next;
    else delete root.dataset.theme;
    try {
      localStorage.setItem("contentlog-theme", next);
    } catch {
      // Without storage, the theme applies to this page only.
    }
    nameTheme();
  }

  function announce(text) {
    const region = document.getElementById("announcer");
    if (region && text) region.textContent = text;
  }

  function openDialog(id) {
    const dialog = document.getElementById(id);
    if (dialog instanceof HTMLDialogElement && !dialog.open) dialog.showModal();
  }

  function showFile(zone) {
    const input = zone.querySelector("input[type=file]");
    const [file] = input.files;
    const output = zone.querySelector("[data-file-name]");
    if (!file || !output) return;
    const size = file.size < 1e6 ? `${Math.ceil(file.size / 1e3)} kB` : `${(file.size / 1e6).toFixed(1)} MB`;
    // The server checks the size too, but only during the upload.
    const limit = Number(zone.closest("[data-most-bytes]")?.dataset.mostBytes ?? Infinity);
    let problem = file.size > limit ? `is larger than the limit of ${Math.floor(limit / 2 ** 20)} MB` : "";
    if (!input.accept.split(",").some((end) => file.name.toLowerCase().endsWith(end))) {
      problem = `does not end in ${input.accept.replace(",", " or ")}`;
    }
    input.setCustomValidity(problem && `${file.name} ${problem}`);
    output.textContent = `${file.name} (${size})${problem && `: it ${problem}`}`;
    output.classList.toggle("error", problem !== "");
    zone.classList.toggle("has-file", problem === "");
    announce(output.textContent);
  }

  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest("[data-theme-switch]")) nextTheme();
    const opens = target?.closest("[data-opens]");
    if (opens) openDialog(opens.dataset.opens);
    if (target?.closest("[data-closes]")) target.closest("dialog")?.close();
  });

  document.addEventListener("change", (event) => {
    const zone = event.target.closest?.("[data-drop-zone]");
    if (zone) showFile(zone);
  });

  for (const name of ["dragenter", "dragover", "dragleave", "drop"]) {
    document.addEventListener(name, (event) => {
      const zone = event.target.closest?.("[data-drop-zone]");
      // A file dropped outside the zone would make the browser leave the page.
      const isMissed = event.dataTransfer?.types.includes("Files") && document.querySelector("[data-drop-zone]");
      if (zone || isMissed) event.preventDefault();
      if (!zone) return;
      zone.classList.toggle("is-over", name === "dragenter" || name === "dragover");
      if (name === "drop" && event.dataTransfer.files.length) {
        const input = zone.querySelector("input[type=file]");
        input.files = event.dataTransfer.files;
        input.dispatchEvent(new Event("change", { bubbles: true }));
      }
    });
  }

  // Leave empty parameters out of addresses, because people read and share them.
  document.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.verb !== "get") return;
    for (const [name, value] of [...event.detail.formData.entries()]) {
      if (value === "") event.detail.formData.delete(name);
    }
  });

  // If a form or link fails, keep the page with its input, and show a message until the next request.
  function showFailure(title, advice) {
    const failure = document.getElementById("failure");
    if (!failure) return;
    failure.hidden = title === "";
    failure.querySelector("strong").textContent = title;
    if (title === "") return;
    for (const one of failure.querySelectorAll("[data-advice]")) one.hidden = one.dataset.advice !== advice;
    // A dialog would cover the message.
    document.querySelector("dialog[open]")?.close();
    failure.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("htmx:beforeSend", () => showFailure(""));
  const kindOf = ({ requestConfig }) => (requestConfig.verb === "get" ? "link" : "form");
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, ({ detail }) => showFailure("The service cannot be reached", kindOf(detail)));
  }
  // If the session has ended, do not leave a form for the sign-in page.
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    const signIn = event.detail.xhr.getResponseHeader("HX-Redirect");
    if (kindOf(event.detail) === "link" || !signIn) return;
    event.preventDefault();
    showFailure("Your session has ended", "ended");
    document.querySelector("#failure a").href = signIn.split("?")[0];
  });
  // After the user has signed in again in another tab, give the forms of this page the new session's token.
  function renewForms(found) {
    const token = found.querySelector(".bar input[name=csrf]")?.value;
    if (!token || !found.querySelector("[data-stale-form]")) return false;
    for (const input of document.querySelectorAll("input[name=csrf]")) input.value = token;
    document.querySelector(".bar").replaceWith(found.querySelector(".bar"));
    nameTheme();
    return true;
  }
  // The service's other 4xx pages are about this form: show them.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr } = event.detail;
    const [, workspace] = /<body data-workspace="([^"]*)"/.exec(xhr.responseText) ?? [];
    // The user has signed in to another workspace in another tab: the header and the filters differ too.
    if (workspace !== undefined && workspace !== document.body.dataset.workspace) {
      event.detail.shouldSwap = false;
      if (kindOf(event.detail) === "link") return location.assign(xhr.responseURL);
      return showFailure("You have signed in to another workspace", "other");
    }
    if (xhr.status < 400) return;
    const found = new DOMParser().parseFromString(xhr.responseText, "text/html");
    const isRenewed = renewForms(found);
    if (!isRenewed && xhr.status < 500 && xhr.status !== 429 && found.getElementById("main")) return;
    event.detail.shouldSwap = false;
    if (isRenewed) return showFailure("You have signed in again", "renewed");
    // The heading, the message and the ID of the request. Not the advice: reloading would lose the input.
    const texts = [...found.querySelectorAll("h1, h1 + p:not(.soft), h1 ~ p:has(code)")];
    const title = texts.map((one) => one.textContent.trim()).join(". ") || `Error ${xhr.status}`;
    showFailure(title, kindOf(event.detail));
  });

  // The disabled button lost the focus: return it, so that Enter tries again.
  document.addEventListener("htmx:afterRequest", (event) => {
    const { successful, requestConfig, xhr } = event.detail;
    if ((successful && xhr.status !== 204) || document.activeElement !== document.body) return;
    requestConfig.triggeringEvent?.submitter?.focus({ preventScroll: true });
  });

  // Typing in a search replaces the history entry, so that Back returns to the previous search.
  document.addEventListener("htmx:beforeHistoryUpdate", (event) => {
    const { history, requestConfig } = event.detail;
    const isHere = history.path === location.pathname + location.search;
    if (isHere || requestConfig.triggeringEvent?.type === "input") history.type = "replace";
  });

  document.addEventListener("htmx:xhr:progress", (event) => {
    const bar = event.target.querySelector?.("progress[data-upload]");
    const { lengthComputable, loaded, total } = event.detail;
    if (!bar || !lengthComputable) return;
    bar.hidden = false;
    bar.max = total;
    bar.value = loaded;
  });

  // After Back, the browser restores the choices of columns, but the page has the errors of earlier ones.
  window.addEventListener("pageshow", () => {
    const choices = [...document.querySelectorAll("#mapping [name=target]")];
    // An input, if there are too many targets for options, or a select.
    const loaded = (one) => one.defaultValue ?? one.querySelector("[selected]")?.value ?? "";
    const restored = choices.find((one) => one.value !== loaded(one));
    restored?.dispatchEvent(new Event("change", { bubbles: true }));
  });

  // The error of a column's target, updated when another target is chosen.
  document.addEventListener("htmx:oobAfterSwap", (event) => {
    const message = document.getElementById(event.detail.target.id);
    const choice = message?.closest("td")?.querySelector(".input");
    choice?.setAttribute("aria-invalid", String(message.textContent !== ""));
  });

  // Announce the new content to screen readers. If the focused element was replaced, focus the heading
  // of the new content.
  document.addEventListener("htmx:afterSettle", (event) => {
    nameTheme();
    const swapped = document.getElementById(event.detail.target?.id ?? "");
    if (!swapped) return;
    announce(swapped.dataset.announce);
    if (document.activeElement === document.body || document.activeElement === null) {
      (swapped.querySelector("[data-focus]") ?? swapped).focus({ preventScroll: false });
    }
  });

  // If the tabs scroll, show the current one.
  function showCurrentTabs() {
    for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
      const tabs = tab.closest(".tabs");
      tabs.scrollTop = tab.offsetTop - tabs.offsetTop - tab.offsetHeight;
    }
  }

  // This script is deferred: the document is complete.
  nameTheme();
  showCurrentTabs();
})();
