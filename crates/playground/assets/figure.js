// The figure of a scheme's page in the documentation: sliders below the picture run the scheme on another path. Without this script
// the picture stays as it is.
const source = document.currentScript.src;
const pictures = [...document.querySelectorAll("main img")].filter((img) => /\/images\/[^/]+\.svg$/.test(img.src));

const live = (picture, scheme) => {
  const still = picture.src;
  const make = (name, fields = {}, ...children) => {
    const element = Object.assign(document.createElement(name), fields);
    element.append(...children);
    return element;
  };

  // Sliders of factors are in powers of two; in the middle, the value of the page.
  const factor = { min: -2, max: 2, step: 0.125, value: 0 };
  const sliders = { rate: factor, rtt: factor, buffer: factor, loss: { min: 0, max: 2, step: 0.05, value: 0 } };
  const titles = { rate: "Rate", rtt: "Round trip", buffer: "Buffer", loss: "Random loss" };
  const inputs = {};
  const texts = {};
  const rows = Object.entries(sliders).map(([name, range]) => {
    inputs[name] = make("input", { type: "range", name });
    for (const [key, value] of Object.entries(range)) inputs[name].setAttribute(key, value);
    texts[name] = make("output");
    return make("label", {}, make("span", { textContent: titles[name] }), inputs[name], texts[name]);
  });
  const back = make("button", { type: "button", textContent: "The page's own path" });
  const status = make("p", { className: "live-status", role: "status" });
  const form = make("form", { className: "live-figure" }, ...rows, back, status);
  form.setAttribute("aria-label", `Path of the figure of ${scheme}`);
  form.append(make("style", {
    textContent: ".live-figure { display: grid; gap: 0.3em; max-width: 46em; margin: 0 0 1.5em; }"
      + " .live-figure label { display: grid; grid-template-columns: 7em 1fr 8em; gap: 1em; align-items: center; }"
      + " .live-figure button { justify-self: start; } .live-figure .live-status { margin: 0; min-height: 1.5em; }",
  }));
  picture.after(form);

  // The module comes with the first movement.
  let room;
  const ready = () => room ??= new Promise((resolve, reject) => {
    const script = make("script", { src: new URL("figure-module.js", source).href });
    script.onload = () => {
      const entered = enter(firstflightModule.worker, firstflightModule.module);
      entered.start().then(() => resolve(entered), reject);
    };
    script.onerror = () => reject(new Error("figure-module.js cannot be loaded"));
    document.head.append(script);
  });

  const path = () => {
    const changes = {};
    for (const name of ["rate", "rtt", "buffer"]) {
      const power = Number(inputs[name].value);
      if (power !== 0) changes[name] = 2 ** power;
    }
    const loss = Number(inputs.loss.value);
    if (loss !== 0) changes.loss = loss / 100;
    return changes;
  };

  // One run at a time; of movements during a run, the last counts.
  let running = false;
  let again = false;
  let address;
  const run = async () => {
    if (running) { again = true; return; }
    running = true;
    try {
      if (!room) status.textContent = "The simulator is being loaded …";
      const { ask } = await ready();
      do {
        again = false;
        const { answer, took } = await ask({ do: "exhibit", scheme, path: path() });
        const shown = JSON.parse(new TextDecoder().decode(answer));
        for (const [name, text] of Object.entries(texts)) text.textContent = shown[name];
        URL.revokeObjectURL(address);
        address = URL.createObjectURL(new Blob([shown.svg], { type: "image/svg+xml" }));
        picture.src = address;
        await picture.decode();
        status.textContent = `Simulated here in ${took.toFixed(0)} ms.`;
      } while (again);
    } catch (error) {
      status.textContent = `${error.message}. The picture is that of the page.`;
      picture.src = still;
    }
    running = false;
    form.dataset.runs = Number(form.dataset.runs ?? 0) + 1;
  };
  form.addEventListener("input", run);
  form.addEventListener("submit", (event) => event.preventDefault());
  back.addEventListener("click", () => { form.reset(); run(); });
};

// A page of all pages has many pictures, which stay as they are.
if (new Set(pictures.map((picture) => picture.src)).size === 1 && /\/algorithms\//.test(location.pathname)) {
  const [picture] = pictures;
  // mdBook 0.5.4 has every picture twice, in a label that enlarges it.
  picture.closest(".checkbox-label")?.replaceWith(picture);
  live(picture, decodeURIComponent(picture.src.match(/([^/]+)\.svg$/)[1]));
}
