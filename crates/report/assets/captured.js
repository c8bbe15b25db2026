// Delivered bytes and packets in flight of one captured connection and its re-run.
const captured = (data) => {
  const select = document.getElementById("connection");
  if (!select) return;
  const panels = [
    { id: "captured-delivered", column: "delivered", name: "delivered", write: plot.bytes },
    { id: "captured-in-flight", column: "in_flight", name: "in flight", write: plot.packets },
  ];
  const values = readout("captured-readout");
  let plots = [];

  const known = (pair, column) => ["observed", "rerun"].filter((side) => pair[side][column].length > 0);
  const value = (pair, side, { column, write }, now) => write(at(pair[side].t, pair[side][column], now), 3);

  const build = (panel, pair) => {
    const sides = known(pair, panel.column);
    const end = Math.max(...sides.map((side) => pair[side].t.at(-1)), 1e-3);
    const lines = sides.map((side) => (side === "observed"
      ? { stroke: () => theme.colour("ink"), width: 2.5 }
      : { stroke: () => theme.colour("c2"), width: 1.75, dash: [6, 4] }));
    const paint = (u) => {
      plot.ticks(u, pair.observed_retransmits, theme.colour("ink"), 0);
      plot.ticks(u, pair.rerun_retransmits, theme.colour("c2"), 1);
    };
    const moved = (u, now) => {
      if (u === plots[0]) show(pair, now);
    };
    const words = { observed: "captured", rerun: "re-run" };
    return {
      data: sides.length > 0 ? uPlot.join(sides.map((side) => [pair[side].t, pair[side][panel.column]])) : [[0, end]],
      options: plot.overTime("captured", end, panel.write, lines, paint, moved),
      say: (now) => sides.map((side) => `${words[side]} ${panel.name} ${value(pair, side, panel, now)}`).join(", "),
    };
  };

  // Writes the values of both sides at the cursor.
  const show = (pair, now) => {
    values.clear(`At ${plot.seconds(now)}`);
    for (const panel of panels) {
      for (const side of known(pair, panel.column)) values.set(side, panel.column, value(pair, side, panel, now));
    }
  };

  const redraw = () => {
    const pair = data.captured[Number(select.value)];
    values.clear();
    plots = pair ? panels.map((panel) => plot.draw(`plot-${panel.id}`, () => build(panel, pair))) : [];
  };
  select.addEventListener("change", redraw);
  redraw();
};
