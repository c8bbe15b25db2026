// The page: asks the engine when the form changes, shows the report's sections, and hands out what they are made of.
const room = enter(document.getElementById("worker").textContent, document.getElementById("module").textContent);

(async () => {
  const root = document.documentElement;
  const by = (id) => document.getElementById(id);
  const decoder = new TextDecoder();
  const failed = (message) => { root.dataset.error = message; };
  addEventListener("error", (event) => failed(event.message));
  addEventListener("unhandledrejection", (event) => failed(String(event.reason)));
  document.addEventListener("securitypolicyviolation", (event) => failed(`blocked by the Content-Security-Policy: ${event.violatedDirective}`));

  const status = (text) => { by("status").textContent = text; };
  const problem = (text) => {
    by("problem").textContent = text;
    by("problem").hidden = text === "";
  };

  // Reasons for which an order ends without an answer and without an error.
  const ENDED = new Set(["overtaken", "stopped"]);

  // --- the choices that the reader made in the sections, which a new answer replaces
  const kept = { choices: new Map(), legends: new Map() };
  const nameOf = (box) => (box.closest("label") ?? box.closest("tr")).textContent.trim();
  const remember = () => {
    for (const group of document.querySelectorAll("#result [data-choice]")) {
      kept.choices.set(group.dataset.choice, group.querySelector('[aria-pressed="true"]')?.dataset.value);
    }
    for (const legend of document.querySelectorAll("#result [data-legend]")) {
      for (const box of legend.querySelectorAll("input")) kept.legends.set(`${legend.dataset.legend} ${nameOf(box)}`, box.checked);
    }
  };
  const recall = () => {
    for (const group of document.querySelectorAll("#result [data-choice]")) {
      const wanted = group.querySelector(`[data-value="${kept.choices.get(group.dataset.choice)}"]`);
      if (!wanted) continue;
      for (const button of group.querySelectorAll("button")) button.setAttribute("aria-pressed", button === wanted);
    }
    for (const legend of document.querySelectorAll("#result [data-legend]")) {
      for (const box of legend.querySelectorAll("input")) {
        box.checked = kept.legends.get(`${legend.dataset.legend} ${nameOf(box)}`) ?? box.checked;
      }
    }
  };

  // --- showing an answer
  let shown = null;
  // Whether the answer on the page belongs to the input before the present one.
  const old = (is) => {
    by("old").hidden = !is;
    by("result").toggleAttribute("data-old", is);
  };
  const show = (answer) => {
    const focused = document.activeElement?.id;
    const [x, y] = [scrollX, scrollY];
    if (shown) remember();
    shown = answer;
    const picture = by("packets");
    const details = [...document.querySelectorAll("#result details")].map((each) => each.open);
    by("result").innerHTML = answer.html;
    old(false);
    by("answer").after(picture);
    picture.hidden = answer.traces.length === 0;
    document.querySelectorAll("#result .scripted").forEach((element) => { element.hidden = false; });
    [...document.querySelectorAll("#result details")].forEach((each, i) => { each.open = details[i] ?? false; });
    recall();
    copying();
    fold();
    sizes(answer.data);
    traces(answer.data);
    captured(answer.data);
    scrollTo(x, y);
    if (focused && document.activeElement?.id !== focused) by(focused)?.focus({ preventScroll: true });
    by("command-line").textContent = answer.command;
  };

  // --- the packets of one replication
  const loadPackets = async (place) => {
    const of = shown;
    // A capture's path is searched once more.
    if (form.file()) packets.wait();
    try {
      const { answer } = await room.ask({ do: "packets", trace: place });
      if (of !== shown) return;
      const [label] = of.traces[place];
      const look = of.data.schemes.find((scheme) => scheme.label === label);
      packets.show(JSON.parse(decoder.decode(answer)), look, of.data.buffer);
    } catch (error) {
      if (of === shown && !ENDED.has(error.message)) problem(error.message);
    }
  };
  // Of schemes that did the same, the plots have one; the others are not offered.
  const offerPackets = ({ traces: all, data }) => {
    const labels = new Map(data.sizes.map(({ bytes, label }) => [bytes, label]));
    const offered = data.traces.map(({ scheme, size }) => ({
      place: all.findIndex(([label, bytes]) => label === data.schemes[scheme].label && bytes === size),
      text: `${data.schemes[scheme].name}, ${labels.get(size)}`,
    }));
    // Slow start, as far as it goes: the picture that shows most.
    const largest = data.sizes.at(-1)?.bytes;
    const usual = data.traces.findIndex(({ scheme, size }) => scheme === data.baseline && size === largest);
    return packets.offer(offered, Math.max(usual, 0));
  };

  // --- asking: a first answer while a slider moves, the whole one when it rests
  let running = null;
  let next = null;
  let rest = 0;
  const bar = by("progress");
  const busy = (on) => {
    by("stop").hidden = !on;
    bar.hidden = !on;
    if (on) bar.removeAttribute("value");
  };
  const told = (done, total) => {
    if (!running || running.preview) return;
    bar.max = total;
    bar.value = done;
    const took = (performance.now() - running.begun) / 1000;
    const left = done > 0 ? (took * (total - done)) / done : 0;
    status(`${done} of ${total} simulations${took > 2 ? `, ${Math.ceil(left)} s to go` : ""}`);
  };

  const changed = (moving, since = performance.now()) => {
    clearTimeout(rest);
    root.dataset.ready = "false";
    history.replaceState(null, "", `#${form.address()}`);
    if (form.file()) moving = false;
    if (moving) rest = setTimeout(() => changed(false), 250);
    next = { preview: moving, since };
    if (!running) return turn();
    // A whole comparison may take long; it ends for a newer one.
    if (!running.preview) room.stop("overtaken");
  };

  const turn = async () => {
    running = { ...next, begun: performance.now() };
    next = null;
    const { preview, since } = running;
    problem("");
    if (!preview) {
      status("simulating");
      busy(true);
    }
    try {
      const { answer, took } = await room.ask(form.order(preview), form.file()?.bytes, told);
      const read = JSON.parse(decoder.decode(answer));
      show(read);
      const place = offerPackets(read);
      paint(since, took, preview, read.replications);
      if (place === null || form.file()) packets.forget(); else await loadPackets(place);
      if (!preview) status("");
    } catch (error) {
      if (error.message !== "overtaken") {
        status(error.message === "stopped" ? "Stopped." : "");
        if (error.message !== "stopped") problem(error.message);
        old(shown !== null);
      }
    }
    if (!preview) busy(false);
    running = null;
    if (next) turn(); else root.dataset.ready = String(!preview);
  };

  // The time from a change to the painted answer, for the reader and for the tests.
  const paint = (since, took, preview, replications) => requestAnimationFrame(() => setTimeout(() => {
    const painted = performance.now() - since;
    const cost = by("cost");
    const count = `${replications} ${replications === 1 ? "replication" : "replications"}`;
    cost.textContent = `${preview ? "First answer" : "Answer"} of ${count} of each scheme and size: simulated in ${took.toFixed(0)} ms, painted ${painted.toFixed(0)} ms after the change.`
      + (preview ? " Harm to others is not measured yet." : "");
    cost.dataset.preview = preview;
    cost.dataset.took = took;
    cost.dataset.painted = painted;
    cost.dataset.count = Number(cost.dataset.count ?? 0) + 1;
  }));

  // --- what can be taken along
  const copied = async (button, text) => {
    const before = button.dataset.words ??= button.textContent;
    button.textContent = (await toClipboard(text)) ? "Copied" : "Not allowed here";
    setTimeout(() => { button.textContent = before; }, 1500);
  };
  // The engine forgets its comparison when it is stopped.
  const view = async (what) => {
    try {
      return (await room.ask({ do: what })).answer;
    } catch {
      const { answer } = await room.ask(form.order(false), form.file()?.bytes, told);
      show(JSON.parse(decoder.decode(answer)));
      return (await room.ask({ do: what })).answer;
    }
  };
  const save = (bytes, name, type) => {
    const address = URL.createObjectURL(new Blob([bytes], { type }));
    Object.assign(document.createElement("a"), { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  };
  const text = async (what) => decoder.decode(await view(what));
  const taken = {
    "copy-link": (button) => copied(button, location.href),
    "copy-command": (button) => copied(button, by("command-line").textContent),
    "copy-json": async (button) => copied(button, await text("json")),
    "copy-toml": async (button) => copied(button, await text("scenario")),
    "save-json": async () => save(await view("json"), "comparison.json", "application/json"),
    "save-toml": async () => save(await view("scenario"), "scenario.toml", "application/toml"),
    "save-report": async () => save(await view("report"), "report.html", "text/html"),
  };
  for (const [id, take] of Object.entries(taken)) {
    by(id).addEventListener("click", async (event) => {
      try {
        await take(event.currentTarget);
      } catch (error) {
        if (!ENDED.has(error.message)) problem(error.message);
      }
    });
  }
  by("stop").addEventListener("click", () => room.stop("stopped"));

  // --- beginning
  try {
    theme.start(by("theme"));
    status("loading");
    await room.start();
    const { answer } = await room.ask({ do: "offer" });
    form.start(JSON.parse(decoder.decode(answer)), changed, problem);
    packets.start(loadPackets);
    if (location.hash.length > 1) form.restore(location.hash.slice(1));
    addEventListener("hashchange", () => { form.restore(location.hash.slice(1)); changed(false); });
    by("form").inert = false;
    changed(false);
  } catch (error) {
    failed(`${error.message}\n${error.stack}`);
    problem(`The page cannot start: ${error.message}`);
  }
})();
