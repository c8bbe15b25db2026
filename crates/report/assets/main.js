// Begins: draws every plot, then says on <html> that the page is ready, or what went wrong.
(() => {
  const root = document.documentElement;
  const failed = (message) => {
    root.dataset.error = message;
  };
  addEventListener("error", (event) => failed(event.message));
  document.addEventListener("securitypolicyviolation", (event) => failed(`refused by policy: ${event.violatedDirective}`));

  const copy = document.getElementById("copy");
  const command = document.getElementById("command");
  const startCopy = () => {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(command.textContent);
        copy.textContent = "Copied";
      } catch {
        // Some browsers refuse the clipboard to local files: select the text, so that a key copies it.
        getSelection().selectAllChildren(command);
        copy.textContent = "Selected";
      }
    });
  };

  try {
    const data = JSON.parse(document.getElementById("data").textContent);
    theme.start(document.getElementById("theme"));
    document.querySelectorAll(".scripted").forEach((element) => { element.hidden = false; });
    startCopy();
    sizes(data);
    traces(data);
    captured(data);
    // uPlot draws in a microtask and sizes in the next frame.
    requestAnimationFrame(() => requestAnimationFrame(() => { root.dataset.ready = String(!root.dataset.error); }));
  } catch (error) {
    failed(`${error.message}\n${error.stack}`);
  }
})();
