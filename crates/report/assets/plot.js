// Shared by all plots: a uPlot that follows the width of its element, the colours and the keyboard.
const plot = (() => {
  const places = new Map();
  const dpr = () => devicePixelRatio || 1;

  const font = (pixels) => `${pixels}px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif`;

  const axis = (more) => ({
    stroke: () => theme.colour("dim"),
    grid: { stroke: () => theme.colour("grid"), width: 1 },
    ticks: { stroke: () => theme.colour("grid"), width: 1, size: 4 },
    font: font(12),
    ...more,
  });

  // A place is an element with a height, a description and a function that returns uPlot's options and data. It is
  // redrawn when its content, its width or the colours change.
  const draw = (id, build) => {
    const element = document.getElementById(id);
    let place = places.get(element);
    if (!place) {
      place = { element, u: null, width: 0 };
      places.set(element, place);
      element.setAttribute("role", "img");
      element.setAttribute("aria-label", element.dataset.label);
      element.tabIndex = 0;
      element.addEventListener("keydown", (event) => key(place, event));
      new ResizeObserver(() => {
        if (place.u && element.clientWidth !== place.width) fit(place);
      }).observe(element);
      theme.onChange(() => place.u?.redraw(false));
    }
    place.u?.destroy();
    const built = build();
    place.width = element.clientWidth;
    const options = {
      width: place.width,
      height: Number(element.dataset.height),
      legend: { show: false },
      ...built.options,
    };
    place.u = new uPlot(options, built.data, element);
    return place.u;
  };

  const fit = (place) => {
    place.width = place.element.clientWidth;
    place.u.setSize({ width: place.width, height: Number(place.element.dataset.height) });
  };

  // Arrow keys move the cursor by a hundredth of the plot, with Shift by a tenth. Home and End move it to the ends.
  // Escape resets the zoom.
  const key = (place, event) => {
    const { u } = place;
    if (!u?.cursor.sync) return;
    const width = u.over.clientWidth;
    const step = event.shiftKey ? width / 10 : width / 100;
    const now = u.cursor.left >= 0 ? u.cursor.left : 0;
    const left = { ArrowLeft: now - step, ArrowRight: now + step, Home: 0, End: width }[event.key];
    if (left !== undefined) {
      u.setCursor({ left: Math.min(Math.max(left, 0), width), top: u.over.clientHeight / 2 });
    } else if (event.key === "Escape") {
      for (const other of uPlot.sync(u.cursor.sync.key).plots) {
        other.setScale("x", { min: other.data[0][0], max: other.data[0].at(-1) });
      }
    } else {
      return;
    }
    event.preventDefault();
  };

  // Draws on the canvas inside the plot's box, in device pixels; `scale` device pixels are one CSS pixel.
  const inside = (u, paint) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    paint(ctx, bbox, dpr());
    ctx.restore();
  };

  const line = (ctx, x1, y1, x2, y2) => {
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x2, y2);
    ctx.stroke();
  };

  const x = (u, value) => u.valToPos(value, "x", true);
  const y = (u, value) => u.valToPos(value, "y", true);

  // A dashed horizontal line with its name at the right end.
  const level = (u, value, name) => inside(u, (ctx, bbox, scale) => {
    const at = y(u, value);
    if (!(at > bbox.top && at < bbox.top + bbox.height)) return;
    ctx.strokeStyle = ctx.fillStyle = theme.colour("dim");
    ctx.lineWidth = scale;
    ctx.setLineDash([2 * scale, 3 * scale]);
    line(ctx, bbox.left, at, bbox.left + bbox.width, at);
    ctx.font = font(11 * scale);
    ctx.textAlign = "right";
    ctx.textBaseline = at - bbox.top < 16 * scale ? "top" : "bottom";
    ctx.fillText(name, bbox.left + bbox.width - 4 * scale, at + (ctx.textBaseline === "top" ? 2 : -2) * scale);
  });

  // Ticks at the given times, hanging from the top of the box in the given row.
  const ticks = (u, instants, colour, row) => inside(u, (ctx, bbox, scale) => {
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1.5 * scale;
    const top = bbox.top + (1 + row * 7) * scale;
    for (const instant of instants) {
      const at = x(u, instant);
      line(ctx, at, top, at, top + 6 * scale);
    }
  });

  const packets = (value) => `${+value.toPrecision(4)}`;

  const bytes = (value) => {
    if (value >= 1e6) return `${+(value / 1e6).toPrecision(4)} MB`;
    return value >= 1e3 ? `${+(value / 1e3).toPrecision(4)} KB` : `${Math.round(value)} B`;
  };

  const seconds = (value) => (value < 1 ? `${+(value * 1000).toPrecision(4)} ms` : `${+value.toPrecision(5)} s`);

  // Labels of a time axis, all in the unit of the largest time.
  const times = (u, splits) => {
    const largest = splits[splits.length - 1];
    return splits.map((v) => (largest < 1 ? `${+(v * 1000).toPrecision(6)} ms` : `${+v.toPrecision(6)} s`));
  };

  // Options of a plot over time. It starts at zero and shares its cursor with the other plots of its group.
  const overTime = (group, end, write, series, hooks) => {
    // uPlot passes the ends of the data to show everything; 2 % more leave space for a mark at the end.
    const all = (u, min, max) => min === null || (min === u.data[0][0] && max === u.data[0].at(-1));
    return {
      cursor: { sync: { key: group }, y: false, points: { show: false }, drag: { x: true, y: false } },
      scales: {
        x: { time: false, range: (u, min, max) => (all(u, min, max) ? [0, end * 1.02] : [min, max]) },
        y: { range: (u, min, max) => [0, Math.max(max ?? 1, 1e-9) * 1.06] },
      },
      axes: [
        axis({ values: times, space: 70, size: 30 }),
        axis({ size: 62, values: (u, splits) => splits.map(write) }),
      ],
      series: [{}, ...series.map((line) => ({ spanGaps: true, points: { show: false }, ...line }))],
      hooks,
    };
  };

  return { draw, axis, overTime, inside, line, level, ticks, x, y, packets, bytes, seconds };
})();

// A group of buttons, of which one is pressed; returns a function that gives the pressed one's value.
const choice = (name, changed) => {
  const group = document.querySelector(`[data-choice="${name}"]`);
  if (!group) return () => undefined;
  const buttons = [...group.querySelectorAll("button")];
  for (const button of buttons) {
    button.addEventListener("click", () => {
      buttons.forEach((b) => b.setAttribute("aria-pressed", b === button));
      changed();
    });
  }
  return () => group.querySelector('[aria-pressed="true"]').dataset.value;
};

// The check boxes of a legend; returns a function that gives the set of schemes to show.
const legend = (name, changed) => {
  const boxes = [...document.querySelectorAll(`[data-legend="${name}"] input`)];
  boxes.forEach((box) => box.addEventListener("change", changed));
  return () => new Set(boxes.filter((b) => b.checked).map((b) => Number(b.value)));
};
