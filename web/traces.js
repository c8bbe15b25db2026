// The start over time: four plots with one time axis and one cursor.
const traces = (data) => {
  if (data.traces.length === 0) return;
  const panels = [
    { id: "cwnd", column: "cwnd", name: "window" },
    { id: "in-flight", column: "in_flight", name: "in flight" },
    { id: "queue", column: "queue", name: "queue" },
    { id: "delivered", column: "delivered", name: "delivered" },
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
    const end = Math.max(...traces.map((t) => t.series.t[t.series.t.length - 1]), 1e-3);
    const whole = { min: 0, max: end };
    const table = known.length > 0 ? uPlot.join(known.map((t) => [t.series.t, t.series[panel.column]])) : [[0, end]];
    const levels = {
      cwnd: [[data.bdp, "BDP"]],
      in_flight: [[data.bdp, "BDP"]],
      queue: [[data.buffer, "buffer"]],
      delivered: [],
    }[panel.column].filter(([value]) => value);
    return {
      data: table,
      options: {
        cursor: { sync: { key: "traces" }, y: false, points: { show: false }, drag: { x: true, y: false } },
        scales: {
          x: { time: false, range: (u, min, max) => (min === null || min === max ? [0, end] : [min, max]) },
          y: { range: (u, min, max) => [0, (Math.max(max ?? 1, 1e-9)) * 1.06] },
        },
        axes: [plot.axis({ values: plot.times, space: 70 }), plot.axis({ size: 56, values: (u, s) => s.map(plot.short) })],
        series: [{}, ...known.map((t) => ({
          stroke: () => theme.colour(`c${data.schemes[t.scheme].colour}`),
          width: t.scheme === data.baseline ? 2.5 : 1.75,
          dash: data.schemes[t.scheme].dashed ? [6, 4] : undefined,
          spanGaps: true,
          points: { show: false },
        }))],
        hooks: {
          init: [(u) => { u.wholeX = whole; }],
          draw: [(u) => {
            levels.forEach(([value, name]) => plot.level(u, value, name));
            known.forEach((t, row) => marks(u, panel.column, t, row));
          }],
          setCursor: [(u) => tell(u)],
        },
      },
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
        const values = trace.series.delivered;
        ctx.beginPath();
        ctx.arc(plot.x(u, trace.end), plot.y(u, values[values.length - 1]), 4 * scale, 0, 2 * Math.PI);
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

  // What every shown scheme had reached at the cursor.
  const tell = (u) => {
    if (u !== plots[0] || u.cursor.left < 0) return;
    const now = u.posToVal(u.cursor.left, "x");
    const parts = chosen().map((trace) => {
      const words = panels
        .filter((panel) => trace.series[panel.column].length > 0)
        .map((panel) => `${panel.name} ${plot.short(at(trace.series.t, trace.series[panel.column], now))}`);
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

// The value in force at a time: that of the last sample not after it.
const at = (t, values, now) => {
  let [low, high] = [0, t.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[middle] <= now) low = middle + 1; else high = middle;
  }
  return values[Math.max(low - 1, 0)];
};
