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
  // redrawn when its content, its width or the colours change. A plot over time also has a function `say` that puts the
  // values at a time in words; the arrow keys move its cursor, and to a screen reader it is a slider of time.
  const draw = (id, build) => {
    for (const [left, gone] of places) {
      if (left.isConnected) continue;
      gone.watch.disconnect();
      gone.u?.destroy();
      places.delete(left);
    }
    const element = document.getElementById(id);
    let place = places.get(element);
    if (!place) {
      place = { element, u: null, width: 0 };
      places.set(element, place);
      element.setAttribute("aria-label", element.dataset.label);
      element.addEventListener("keydown", (event) => key(place, event));
      place.watch = new ResizeObserver(() => {
        if (place.u && element.clientWidth !== place.width) fit(place);
      });
      place.watch.observe(element);
    }
    place.u?.destroy();
    const built = build();
    place.say = built.say;
    element.setAttribute("role", built.say ? "slider" : "img");
    if (built.say) element.tabIndex = 0;
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

  // Time at the cursor of each group of plots, seconds. A group has none until a cursor is first moved.
  const cursors = new Map();

  // Moves the cursor of one plot to the time of its group, if that time is visible.
  const follow = (group, u) => {
    const { min, max } = u.scales.x;
    const now = cursors.get(group);
    if (now >= min && now <= max) u.setCursor({ left: u.valToPos(now, "x"), top: u.over.clientHeight / 2 });
  };

  // The mouse or a key moved the cursor of a plot. uPlot itself passes mouse movements on within a group.
  const moved = (group, end, u, then) => {
    if (u.cursor.left < 0) return;
    const now = Math.min(Math.max(u.posToVal(u.cursor.left, "x"), 0), end);
    cursors.set(group, now);
    const place = places.get(u.root.parentElement);
    if (!place?.say) return;
    place.element.setAttribute("aria-valuemin", 0);
    place.element.setAttribute("aria-valuemax", +end.toPrecision(5));
    place.element.setAttribute("aria-valuenow", +now.toPrecision(5));
    place.element.setAttribute("aria-valuetext", `${seconds(now)}: ${place.say(now)}`);
    then(u, now);
  };

  // Arrow keys move the cursor of the whole group by a hundredth of the visible time; with Shift, and Page Up and Page
  // Down, by a tenth. Home and End move it to the ends. Escape resets the zoom.
  const key = (place, event) => {
    const { u } = place;
    if (!place.say || event.ctrlKey || event.altKey || event.metaKey) return;
    const group = u.cursor.sync.key;
    const { plots } = uPlot.sync(group);
    const { min, max } = u.scales.x;
    const step = (max - min) / (event.shiftKey ? 10 : 100);
    const now = cursors.get(group) ?? min;
    const to = {
      ArrowLeft: now - step, ArrowDown: now - step, ArrowRight: now + step, ArrowUp: now + step,
      PageDown: now - (max - min) / 10, PageUp: now + (max - min) / 10, Home: min, End: max,
    }[event.key];
    if (to !== undefined) {
      cursors.set(group, Math.min(Math.max(to, min), max));
      plots.forEach((other) => follow(group, other));
    } else if (event.key === "Escape") {
      for (const other of plots) other.setScale("x", { min: other.data[0][0], max: other.data[0].at(-1) });
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

  // The form of a scheme at a place on the canvas, `size` times as large as in a legend, with an edge that separates it
  // from lines beneath. A hollow form has the colour of the paper inside.
  const form = (ctx, scheme, x, y, scale, size = 1) => {
    const colour = theme.colour(`c${scheme.colour}`);
    const outline = new Path2D(scheme.form);
    ctx.save();
    ctx.translate(x, y);
    ctx.scale(scale * size, scale * size);
    ctx.setLineDash([]);
    ctx.lineJoin = "round";
    ctx.strokeStyle = scheme.hollow ? colour : theme.colour("paper");
    ctx.lineWidth = scheme.hollow ? 3 : 2;
    ctx.stroke(outline);
    ctx.fillStyle = scheme.hollow ? theme.colour("paper") : colour;
    ctx.fill(outline);
    ctx.restore();
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

  const packets = (value) => `${+(+value.toPrecision(4)).toFixed(2)}`;

  const bytes = (value, digits = 4) => {
    if (value >= 1e6) return `${+(value / 1e6).toPrecision(digits)} MB`;
    return value >= 1e3 ? `${+(value / 1e3).toPrecision(digits)} KB` : `${Math.round(value)} B`;
  };

  const seconds = (value) => (value < 1 ? `${+(value * 1000).toPrecision(4)} ms` : `${+value.toPrecision(5)} s`);

  // Labels of a time axis, all in the unit of the largest time.
  const times = (u, splits) => {
    const largest = splits[splits.length - 1];
    return splits.map((v) => (largest < 1 ? `${+(v * 1000).toPrecision(6)} ms` : `${+v.toPrecision(6)} s`));
  };

  // Options of a plot over time. It starts at zero and shares its cursor with the other plots of its group; `then` is
  // called with the plot and the time when its cursor has moved.
  const overTime = (group, end, write, series, paint, then) => {
    // uPlot passes the ends of the data to show everything; 2 % more leave space for a mark at the end.
    const all = (u, min, max) => min === null || (min === u.data[0][0] && max === u.data[0].at(-1));
    if (cursors.get(group) > end) cursors.set(group, end);
    const again = (u) => follow(group, u);
    return {
      cursor: {
        sync: { key: group },
        // The cursor stays where it was when the mouse leaves, or the finger: the values beside the plots are those at it.
        bind: { mouseleave: () => null },
        y: false,
        points: { show: false },
        drag: { x: true, y: false },
      },
      scales: {
        x: { time: false, range: (u, min, max) => (all(u, min, max) ? [0, end * 1.02] : [min, max]) },
        y: { range: (u, min, max) => [0, Math.max(max ?? 1, 1e-9) * 1.06] },
      },
      axes: [
        axis({ values: times, space: 70, size: 30 }),
        axis({ size: 62, values: (u, splits) => splits.map((v) => write(v)) }),
      ],
      series: [{}, ...series.map((line) => ({ spanGaps: true, points: { show: false }, ...line }))],
      hooks: { draw: [paint], ready: [again], setSize: [again], setCursor: [(u) => moved(group, end * 1.02, u, then)] },
    };
  };

  theme.onChange(() => places.forEach((place) => place.u?.redraw(false)));

  return { draw, axis, overTime, inside, line, level, ticks, form, x, y, packets, bytes, seconds };
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
