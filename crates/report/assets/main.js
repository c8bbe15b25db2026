// Draws every plot, then sets data-ready on <html>, or data-error with the message if something failed.
(() => {
  const root = document.documentElement;
  const failed = (message) => {
    root.dataset.error = message;
  };
  addEventListener("error", (event) => failed(event.message));
  document.addEventListener("securitypolicyviolation", (event) => failed(`blocked by the Content-Security-Policy: ${event.violatedDirective}`));

  try {
    const data = JSON.parse(document.getElementById("data").textContent);
    theme.start(document.getElementById("theme"));
    document.querySelectorAll(".scripted").forEach((element) => { element.hidden = false; });
    copying();
    fold();
    sizes(data);
    traces(data);
    captured(data);
    // uPlot draws in a microtask and sets sizes in the next frame.
    requestAnimationFrame(() => requestAnimationFrame(() => { root.dataset.ready = String(!root.dataset.error); }));
  } catch (error) {
    failed(`${error.message}\n${error.stack}`);
  }
})();
