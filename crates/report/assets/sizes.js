// Completion time by size: at each size, one mark with its interval for each scheme, side by side.
const sizes = (data) => {
  if (data.results.length === 0 || !document.getElementById("plot-sizes")) return;
  const redraw = () => plot.draw("plot-sizes", build);
  const measure = choice("measure", redraw);
  const shown = legend("sizes", redraw);

  const build = () => {
    const relative = measure() === "relative";
    const base = data.reference === null ? "" : data.schemes[data.reference].name;
    document.getElementById("sizes-caption").textContent = relative
      ? `Difference of the medians from ${base}, with the same random numbers; negative is sooner`
      : "Median completion time";
    const visible = shown();
    const schemes = data.schemes.map((s, i) => ({ ...s, i }))
      .filter((s) => visible.has(s.i) && !(relative && s.i === data.reference));
    const points = [];
    for (const result of data.results) {
      const slot = schemes.findIndex((s) => s.i === result.scheme);
      const values = relative ? result.relative : [result.median, ...result.ci];
      if (slot < 0 || !values) continue;
      const offset = schemes.length > 1 ? (slot / (schemes.length - 1) - 0.5) * 0.6 : 0;
      points.push({ at: result.size + offset, value: values[0], low: values[1], high: values[2], scheme: schemes[slot] });
    }
    points.sort((a, b) => a.at - b.at);

    const all = points.flatMap((p) => [p.value, p.low, p.high]);
    const [least, most] = [Math.min(...all), Math.max(...all)];
    const range = () => {
      if (points.length === 0) return relative ? [-1, 1] : [1, 10];
      if (!relative) return [least / 1.3, most * 1.3];
      const [low, high] = [Math.min(least, 0), Math.max(most, 0)];
      const room = (high - low || 0.1) * 0.08;
      return [low - room, high + room];
    };

    return {
      data: [points.map((p) => p.at), points.map((p) => p.value)],
      options: {
        cursor: { show: false },
        scales: {
          x: { time: false, range: () => [-0.5, data.sizes.length - 0.5] },
          y: { distr: relative ? 1 : 3, range },
        },
        axes: [
          plot.axis({
            splits: () => data.sizes.map((_, i) => i),
            values: () => data.sizes.map((s) => s.label),
            grid: { show: false },
          }),
          plot.axis({
            size: 64,
            values: relative
              ? (u, splits) => splits.map((v) => `${v > 0 ? "+" : v < 0 ? "−" : ""}${+Math.abs(v * 100).toPrecision(3)} %`)
              : (u, splits) => splits.map((v) => (v === null ? "" : plot.seconds(v))),
          }),
        ],
        series: [{}, { paths: () => null, points: { show: false } }],
        hooks: {
          draw: [(u) => {
            if (relative) plot.level(u, 0, base);
            plot.inside(u, (ctx, bbox, scale) => {
              ctx.lineWidth = scale;
              ctx.strokeStyle = theme.colour("grid");
              for (let i = 1; i < data.sizes.length; i++) {
                const at = plot.x(u, i - 0.5);
                plot.line(ctx, at, bbox.top, at, bbox.top + bbox.height);
              }
              for (const p of points) mark(u, ctx, scale, p);
            });
          }],
        },
      },
    };
  };

  const mark = (u, ctx, scale, p) => {
    const [at, value, low, high] = [plot.x(u, p.at), plot.y(u, p.value), plot.y(u, p.low), plot.y(u, p.high)];
    ctx.strokeStyle = ctx.fillStyle = theme.colour(`c${p.scheme.colour}`);
    ctx.lineWidth = 2 * scale;
    plot.line(ctx, at, low, at, high);
    plot.line(ctx, at - 5 * scale, low, at + 5 * scale, low);
    plot.line(ctx, at - 5 * scale, high, at + 5 * scale, high);
    plot.form(ctx, p.scheme, at, value, scale, 1.1);
  };

  redraw();
};
