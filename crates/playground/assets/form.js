// The form: sliders with texts of quantities, choices, the address that holds them, and the order that asks for them.
const form = (() => {
  const element = document.getElementById("form");
  const field = (name) => element.elements[name];

  // Logarithmic scales of the sliders, with the units that texts may have.
  const units = {
    rate: { "Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3, "bit/s": 1 },
    rtt: { s: 1, ms: 1e-3, us: 1e-6, "µs": 1e-6 },
    buffer: { BDP: 1 },
  };
  const scales = { rate: [1e5, 1e10, "Mbit/s"], rtt: [1e-4, 1, "ms"], buffer: [0.05, 10, "BDP"] };
  const three = (value) => String(+value.toPrecision(3));

  // The value of a text in the base unit; NaN if the slider has no such unit.
  const read = (name, text) => {
    const found = /^\s*([\d.]+)\s*([a-zµ/]+)\s*$/i.exec(text);
    return found ? Number(found[1]) * (units[name][found[2]] ?? NaN) : NaN;
  };
  const write = (name, value) => `${three(value / units[name][scales[name][2]])} ${scales[name][2]}`;

  // Loss: none at the left end, then from 0.001 % to 10 %.
  const loss = {
    read: (text) => (/%\s*$/.test(text) ? parseFloat(text) / 100 : Number(text)),
    write: (share) => (share === 0 ? "0" : `${three(share * 100)}%`),
    share: (x) => (x === 0 ? 0 : 1e-5 * 1e4 ** x),
    place: (share) => (share > 0 ? Math.log(share / 1e-5) / Math.log(1e4) : 0),
  };
  const share = (name, x) => {
    if (name === "loss") return loss.write(loss.share(x));
    const [low, high] = scales[name];
    return write(name, low * (high / low) ** x);
  };
  const place = (name, text) => {
    if (name === "loss") return loss.place(loss.read(text));
    const [low, high] = scales[name];
    return Math.log(read(name, text) / low) / Math.log(high / low);
  };
  const sliders = ["rate", "rtt", "buffer", "loss"];

  // Puts each slider where its text says; a text without such a place leaves the slider.
  const settle = () => {
    for (const name of sliders) {
      const slider = document.getElementById(`${name}-slider`);
      const at = place(name, field(name).value);
      if (Number.isFinite(at)) slider.value = Math.min(Math.max(at, 0), 1);
      slider.setAttribute("aria-valuetext", field(name).value);
    }
  };

  const presets = new Map();
  let file = null;

  const chosen = (name) => [...element.querySelectorAll(`[name="${name}"]:checked`)].map((box) => box.value);
  const own = () => field("preset").value === "";

  // A path of one's own replaces a preset and a file.
  const path = () => {
    file = null;
    document.getElementById("file").value = "";
    field("preset").value = "";
  };

  const showPreset = () => {
    const preset = presets.get(field("preset").value);
    if (!preset) return;
    for (const name of ["rate", "rtt", "buffer"]) field(name).value = preset[name];
    field("loss").value = loss.write(preset.loss);
    // Sliders give buffers in BDP; a preset may have another unit.
    const bytes = /^([\d.]+) (B|KB|MB|GB)$/.exec(preset.buffer);
    if (bytes) {
      const size = Number(bytes[1]) * { B: 1, KB: 1e3, MB: 1e6, GB: 1e9 }[bytes[2]];
      field("buffer").value = write("buffer", (size * 8) / (read("rate", preset.rate) * read("rtt", preset.rtt)));
    }
    settle();
  };

  const order = (preview) => ({
    do: "compare",
    ask: {
      preset: file || own() ? null : field("preset").value,
      file: file ? file.name : null,
      path: file || !own() ? null
        : { rate: field("rate").value, rtt: field("rtt").value, buffer: field("buffer").value, loss: field("loss").value },
      startups: chosen("startup"),
      avoidance: field("avoidance").value,
      windows: chosen("window").map(Number),
      paced: field("paced").checked,
      others: field("others").value,
      sizes: field("sizes").value,
      profile: field("profile").value,
      runs: Math.trunc(Number(field("runs").value)) || 0,
      seed: Math.trunc(Number(field("seed").value)) || 0,
      preview,
    },
  });

  // The address holds every field. A file is not in it: it stays on this machine.
  const address = () => {
    const fields = new URLSearchParams();
    const texts = own() ? sliders : ["preset"];
    for (const name of [...texts, "avoidance", "others", "sizes", "profile", "runs", "seed"]) {
      if (field(name).value !== "") fields.set(name, field(name).value);
    }
    fields.set("startup", chosen("startup").join(","));
    fields.set("window", chosen("window").join(","));
    if (field("paced").checked) fields.set("paced", "1");
    return fields.toString();
  };

  const restore = (text) => {
    const fields = new URLSearchParams(text);
    if (fields.has("rate") || fields.has("preset")) path();
    for (const name of ["preset", ...sliders, "avoidance", "others", "sizes", "profile", "runs", "seed"]) {
      if (fields.has(name)) field(name).value = fields.get(name);
    }
    if (field("preset").selectedIndex < 0) field("preset").value = "";
    for (const name of ["avoidance", "profile"]) if (field(name).selectedIndex < 0) field(name).selectedIndex = 0;
    for (const name of ["startup", "window"]) {
      if (!fields.has(name)) continue;
      const wanted = new Set(fields.get(name).split(","));
      for (const box of element.querySelectorAll(`[name="${name}"]`)) box.checked = wanted.has(box.value);
    }
    if (fields.has("startup")) field("paced").checked = fields.get("paced") === "1";
    showPreset();
    settle();
  };

  const CHECKED = new Set(["slow-start", "hystart++", "hystart-linux", "jump-start", "bbr"]);
  const box = (name, value, text, title, checked) => {
    const label = document.createElement("label");
    label.title = title;
    label.append(Object.assign(document.createElement("input"), { type: "checkbox", name, value, checked }), ` ${text}`);
    return label;
  };

  // Fills the choices from the engine's offer, then reports changes, `changed(moving)`, and files that cannot be read.
  const start = (offer, changed, problem) => {
    for (const preset of offer.presets) {
      presets.set(preset.name, preset);
      field("preset").append(new Option(`${preset.title} (${preset.name})`, preset.name));
    }
    for (const { label, summary, usual } of offer.startups) {
      const place = document.getElementById(usual ? "startups" : "more-startups");
      place.append(box("startup", label, label, summary, CHECKED.has(label)));
    }
    for (const { label } of offer.avoidances) field("avoidance").append(new Option(label, label, label === "cubic", label === "cubic"));
    for (const word of offer.profiles) field("profile").append(new Option(word, word, word === "linux", word === "linux"));
    for (const name of sliders) {
      const slider = document.getElementById(`${name}-slider`);
      slider.addEventListener("input", () => {
        path();
        field(name).value = share(name, Number(slider.value));
        slider.setAttribute("aria-valuetext", field(name).value);
        changed(true);
      });
      slider.addEventListener("change", () => changed(false));
      field(name).addEventListener("change", () => { path(); settle(); changed(false); });
    }
    field("preset").addEventListener("change", () => {
      file = null;
      document.getElementById("file").value = "";
      showPreset();
      changed(false);
    });
    const rest = ["startup", "window", "paced", "avoidance", "others", "sizes", "profile", "runs", "seed"];
    element.addEventListener("change", (event) => { if (rest.includes(event.target.name)) changed(false); });
    element.addEventListener("submit", (event) => { event.preventDefault(); changed(false); });
    field("preset").value = "cable";
    showPreset();

    const open = async (taken) => {
      try {
        file = { name: taken.name, bytes: new Uint8Array(await taken.arrayBuffer()) };
        changed(false);
      } catch (error) {
        problem(`${taken.name}: cannot be read: ${error.message}`);
      }
    };
    const chooser = document.getElementById("file");
    chooser.addEventListener("change", () => { if (chooser.files[0]) open(chooser.files[0]); });
    const root = document.documentElement;
    addEventListener("dragover", (event) => { event.preventDefault(); root.dataset.over = ""; });
    addEventListener("dragleave", (event) => { if (!event.relatedTarget) delete root.dataset.over; });
    addEventListener("drop", (event) => {
      event.preventDefault();
      delete root.dataset.over;
      if (event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
    });
  };

  return { start, order, address, restore, file: () => file };
})();
