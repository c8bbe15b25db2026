// Start-up over time: four plots with a common time axis and cursor.
const traces = (data) => {
  if (data.traces.length === 0) return;
  const panels = [
    { id: "cwnd", column: "cwnd", name: "window", write: plot.packets, level: data.bdp && [data.bdp, "BDP"] },
    { id: "in-flight", column: "in_flight", name: "in flight", write: plot.packets, level: data.bdp && [data.bdp, "BDP"] },
    { id: "queue", column: "queue", name: "queue", write: plot.packets, level: data.buffer && [data.buffer, "buffer"] },
    { id: "delivered", column: "delivered", name: "delivered", write: plot.bytes },
  ];
  const readout = document.getElementById("readout");
  const tables = [...document.querySelectorAll("#over-time [data-size]")];
  let plots = [];

  const chosen = () => {
    const visible = shown();
    return data.traces.filter((t) => t.size === Number(size()) && visible.has(t.scheme));
  };

  const redraw = () => {
    const traces = chosen();
    tables.forEach((table) => { table.hidden = table.dataset.size !== size(); });
    readout.textContent = "";
    plots = panels.map((panel) => plot.draw(`plot-${panel.id}`, () => build(panel, traces)));
  };
  const size = choice("size", redraw);
  const shown = legend("traces", redraw);

  const build = (panel, traces) => {
    const known = traces.filter((t) => t.series[panel.column].length > 0);
    const end = Math.max(...traces.map((t) => t.series.t.at(-1) ?? 0), 1e-3);
    const lines = known.map((t, i) => ({
      stroke: () => theme.colour(`c${data.schemes[t.scheme].colour}`),
      // Schemes with equal values share a line. Later ones are thinner, so that all remain visible.
      width: Math.max(1.25, 3.25 - 0.4 * i),
      dash: data.schemes[t.scheme].dashed ? [6, 4] : undefined,
    }));
    const hooks = {
      draw: [(u) => {
        if (panel.level) plot.level(u, ...panel.level);
        known.forEach((t, row) => marks(u, panel.column, t, row));
      }],
      setCursor: [showReadout],
    };
    return {
      data: known.length > 0 ? uPlot.join(known.map((t) => [t.series.t, t.series[panel.column]])) : [[0, end]],
      options: plot.overTime("traces", end, panel.write, lines, hooks),
    };
  };

  const marks = (u, column, trace, row) => {
    const colour = theme.colour(`c${data.schemes[trace.scheme].colour}`);
    if (column === "queue") plot.ticks(u, trace.losses, colour, row);
    plot.inside(u, (ctx, bbox, scale) => {
      ctx.strokeStyle = ctx.fillStyle = colour;
      ctx.lineWidth = scale;
      if (trace.exit) {
        const at = plot.x(u, trace.exit[0]);
        ctx.setLineDash([4 * scale, 3 * scale]);
        plot.line(ctx, at, bbox.top, at, bbox.top + bbox.height);
        ctx.setLineDash([]);
        if (column === "cwnd") diamond(ctx, at, plot.y(u, trace.exit[1]), 6 * scale);
      }
      if (column === "delivered" && trace.end !== null) {
        ctx.beginPath();
        ctx.arc(plot.x(u, trace.end), plot.y(u, trace.series.delivered.at(-1)), 4 * scale, 0, 2 * Math.PI);
        ctx.fill();
      }
    });
  };

  const diamond = (ctx, x, y, r) => {
    ctx.beginPath();
    ctx.moveTo(x, y - r);
    ctx.lineTo(x + r, y);
    ctx.lineTo(x, y + r);
    ctx.lineTo(x - r, y);
    ctx.closePath();
    ctx.fill();
    ctx.strokeStyle = theme.colour("paper");
    ctx.stroke();
  };

  // Writes the values of every shown scheme at the cursor.
  const showReadout = (u) => {
    if (u !== plots[0] || u.cursor.left < 0) return;
    const now = u.posToVal(u.cursor.left, "x");
    const parts = chosen().map((trace) => {
      const words = panels
        .filter((panel) => trace.series[panel.column].length > 0)
        .map((panel) => `${panel.name} ${panel.write(at(trace.series.t, trace.series[panel.column], now))}`);
      return [data.schemes[trace.scheme].name, ` ${words.join(", ")}; `];
    });
    readout.replaceChildren(`At ${plot.seconds(now)}: `);
    for (const [name, words] of parts) {
      const bold = document.createElement("b");
      bold.textContent = name;
      readout.append(bold, words);
    }
  };

  redraw();
};

// Value at time `now`: that of the last sample at or before it.
const at = (t, values, now) => {
  let [low, high] = [0, t.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[middle] <= now) low = middle + 1; else high = middle;
  }
  return values[Math.max(low - 1, 0)];
};
