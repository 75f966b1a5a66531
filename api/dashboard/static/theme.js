// Runs before the page is painted: applies the chosen theme and marks that scripts run.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("contentlog-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // Without storage, the system's theme applies.
  }
})();
