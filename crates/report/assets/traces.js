// Start-up over time: four plots with a common time axis and cursor, and a table of the values at the cursor.
const traces = (data) => {
  if (data.traces.length === 0) return;
  const panels = [
    { id: "cwnd", column: "cwnd", name: "window", write: plot.packets, level: data.bdp && [data.bdp, "BDP"] },
    { id: "in-flight", column: "in_flight", name: "in flight", write: plot.packets, level: data.bdp && [data.bdp, "BDP"] },
    { id: "queue", column: "queue", name: "queue", write: plot.packets, level: data.buffer && [data.buffer, "buffer"] },
    { id: "delivered", column: "delivered", name: "delivered", write: plot.bytes },
  ];
  const tables = [...document.querySelectorAll("#over-time [data-size]")];
  let plots = [];

  const chosen = () => {
    const visible = shown();
    return data.traces.filter((t) => t.size === Number(size()) && visible.has(t.scheme));
  };

  const redraw = () => {
    const traces = chosen();
    tables.forEach((table) => { table.hidden = table.dataset.size !== size(); });
    values.clear();
    plots = panels.map((panel) => plot.draw(`plot-${panel.id}`, () => build(panel, traces)));
  };
  const size = choice("size", redraw);
  const shown = legend("traces", redraw);
  const values = readout("readout");

  const build = (panel, traces) => {
    const known = traces.filter((t) => t.series[panel.column].length > 0);
    const end = Math.max(...traces.map((t) => t.series.t.at(-1) ?? 0), 1e-3);
    const lines = known.map((t, i) => ({
      stroke: () => theme.colour(`c${data.schemes[t.scheme].colour}`),
      // Schemes with equal values share a line. Later ones are thinner, so that all remain visible.
      width: Math.max(1.5, 3 - 0.25 * i),
      dash: data.schemes[t.scheme].dash,
    }));
    const paint = (u) => {
      if (panel.level) plot.level(u, ...panel.level);
      known.forEach((t, row) => marks(u, panel.column, t, row));
      known.forEach((t, row) => forms(u, panel.column, t, row, known.length));
    };
    const moved = (u, now) => {
      if (u === plots[0]) show(now);
    };
    const value = (t, now) => panel.write(at(t.series.t, t.series[panel.column], now), 3);
    return {
      data: known.length > 0 ? uPlot.join(known.map((t) => [t.series.t, t.series[panel.column]])) : [[0, end]],
      options: plot.overTime("traces", end, panel.write, lines, paint, moved),
      say: (now) => known.map((t) => `${data.schemes[t.scheme].name} ${panel.name} ${value(t, now)}`).join(", "),
    };
  };

  // End of start-up, end of the transfer and losses.
  const marks = (u, column, trace, row) => {
    const scheme = data.schemes[trace.scheme];
    const colour = theme.colour(`c${scheme.colour}`);
    if (column === "queue") plot.ticks(u, trace.losses, colour, row);
    plot.inside(u, (ctx, bbox, scale) => {
      ctx.strokeStyle = colour;
      ctx.lineWidth = scale;
      if (column === "queue" && trace.losses.length > 0) {
        plot.form(ctx, scheme, bbox.left + 5 * scale, bbox.top + (4 + row * 7) * scale, scale, 0.6);
      }
      if (trace.exit) {
        const at = plot.x(u, trace.exit[0]);
        ctx.setLineDash([4 * scale, 3 * scale]);
        plot.line(ctx, at, bbox.top, at, bbox.top + bbox.height);
        ctx.setLineDash([]);
        if (column === "cwnd") {
          const height = plot.y(u, trace.exit[1]);
          ctx.lineWidth = 1.5 * scale;
          ctx.beginPath();
          ctx.arc(at, height, 8 * scale, 0, 2 * Math.PI);
          ctx.stroke();
          plot.form(ctx, scheme, at, height, scale);
        } else {
          plot.form(ctx, scheme, at, bbox.top + bbox.height - (6 + row * 10) * scale, scale, 0.7);
        }
      }
      if (column === "delivered" && trace.end !== null) {
        plot.form(ctx, scheme, plot.x(u, trace.end), plot.y(u, trace.series.delivered.at(-1)), scale, 1.5);
      }
    });
  };

  // The form of the scheme along its line, at other places for each scheme: where lines coincide, all forms are seen.
  const forms = (u, column, trace, row, rows) => plot.inside(u, (ctx, bbox, scale) => {
    const { t } = trace.series;
    const apart = Math.max(90, rows * 16) * scale;
    for (let x = apart * ((row + 0.5) / rows); x < bbox.width; x += apart) {
      const now = u.posToVal(x / scale, "x");
      if (now < t[0] || now > t.at(-1)) continue;
      plot.form(ctx, data.schemes[trace.scheme], bbox.left + x, plot.y(u, between(t, trace.series[column], now)), scale, 0.8);
    }
  });

  // Writes the values of every shown scheme at the cursor.
  const show = (now) => {
    values.clear(`At ${plot.seconds(now)}`);
    for (const trace of chosen()) {
      for (const { column, write } of panels) {
        const known = trace.series[column];
        if (known.length > 0) values.set(trace.scheme, column, write(at(trace.series.t, known, now), 3));
      }
    }
  };

  redraw();
};

// The table of the values at the cursor: a row for each line, a cell for each plot.
const readout = (id) => {
  const table = document.getElementById(id);
  const heading = table.querySelector("[data-heading]");
  const hint = heading.textContent;
  const cell = (row, column) => table.querySelector(`[data-row="${row}"] [data-column="${column}"]`);
  return {
    clear: (words = hint) => {
      heading.textContent = words;
      table.querySelectorAll("[data-column]").forEach((each) => { each.textContent = ""; });
    },
    set: (row, column, words) => { cell(row, column).textContent = words; },
  };
};

// Index of the last sample at or before `now`, or of the first.
const index = (t, now) => {
  let [low, high] = [0, t.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[middle] <= now) low = middle + 1; else high = middle;
  }
  return Math.max(low - 1, 0);
};

// Value at time `now`: that of the last sample at or before it.
const at = (t, values, now) => values[index(t, now)];

// Height of the drawn line at time `now`, which is straight between two samples.
const between = (t, values, now) => {
  const i = index(t, now);
  if (i + 1 >= t.length || now <= t[i]) return values[i];
  return values[i] + ((now - t[i]) / (t[i + 1] - t[i])) * (values[i + 1] - values[i]);
};
