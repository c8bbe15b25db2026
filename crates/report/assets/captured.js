// Delivered bytes and packets in flight of one captured connection and its re-run.
const captured = (data) => {
  const select = document.getElementById("connection");
  if (!select) return;
  const readout = document.getElementById("captured-readout");
  const panels = [
    { id: "captured-delivered", column: "delivered", name: "delivered", write: plot.bytes },
    { id: "captured-in-flight", column: "in_flight", name: "in flight", write: plot.packets },
  ];
  let plots = [];

  const build = (panel, pair) => {
    const sides = ["observed", "rerun"].filter((side) => pair[side][panel.column].length > 0);
    const end = Math.max(...sides.map((side) => pair[side].t.at(-1)), 1e-3);
    const lines = sides.map((side) => (side === "observed"
      ? { stroke: () => theme.colour("ink"), width: 2.5 }
      : { stroke: () => theme.colour("c2"), width: 1.75, dash: [6, 4] }));
    const hooks = {
      draw: [(u) => {
        plot.ticks(u, pair.observed_retransmits, theme.colour("ink"), 0);
        plot.ticks(u, pair.rerun_retransmits, theme.colour("c2"), 1);
      }],
      setCursor: [(u) => showReadout(u, pair)],
    };
    return {
      data: sides.length > 0 ? uPlot.join(sides.map((side) => [pair[side].t, pair[side][panel.column]])) : [[0, end]],
      options: plot.overTime("captured", end, panel.write, lines, hooks),
    };
  };

  // Writes the values of both sides at the cursor.
  const showReadout = (u, pair) => {
    if (u !== plots[0] || u.cursor.left < 0) return;
    const now = u.posToVal(u.cursor.left, "x");
    const words = panels.map(({ column, name, write }) => {
      const side = (s) => (pair[s][column].length > 0 ? write(at(pair[s].t, pair[s][column], now)) : "unknown");
      return `${name} ${side("observed")} captured, ${side("rerun")} re-run`;
    });
    readout.textContent = `At ${plot.seconds(now)}: ${words.join("; ")}`;
  };

  const redraw = () => {
    const pair = data.captured[Number(select.value)];
    readout.textContent = "";
    plots = pair ? panels.map((panel) => plot.draw(`plot-${panel.id}`, () => build(panel, pair))) : [];
  };
  select.addEventListener("change", redraw);
  redraw();
};
