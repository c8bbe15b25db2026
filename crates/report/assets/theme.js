// Colours: light or dark by the system's setting, until the button chooses. Plots get the style sheet's colours here.
const theme = (() => {
  const root = document.documentElement;
  const words = ["automatic", "light", "dark"];
  const listeners = [];

  // The style sheet's colours depend on the setting. A hidden element resolves them for the canvas.
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const colour = (name) => {
    probe.className = "";
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };

  const changed = () => listeners.forEach((redraw) => redraw());

  const start = (button) => {
    const show = (word) => {
      if (word === "automatic") delete root.dataset.theme;
      else root.dataset.theme = word;
      button.textContent = `Colours: ${word}`;
      button.dataset.word = word;
    };
    show("automatic");
    button.hidden = false;
    button.addEventListener("click", () => {
      show(words[(words.indexOf(button.dataset.word) + 1) % words.length]);
      changed();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
    matchMedia("print").addEventListener("change", changed);
  };

  return { colour, start, onChange: (redraw) => listeners.push(redraw) };
})();
