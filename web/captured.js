// One captured connection and its re-run, in delivered bytes and packets in flight.
const captured = (data) => {
  const select = document.getElementById("connection");
  if (!select) return;
  const readout = document.getElementById("captured-readout");
  const panels = [["captured-delivered", "delivered", "delivered"], ["captured-in-flight", "in_flight", "in flight"]];
  let plots = [];

  const build = (column, pair) => {
    const sides = [["observed", "ink"], ["rerun", "c2"]].filter(([side]) => pair[side][column].length > 0);
    const ends = sides.map(([side]) => pair[side].t[pair[side].t.length - 1]);
    const end = Math.max(...ends, 1e-3);
    return {
      data: sides.length > 0 ? uPlot.join(sides.map(([side]) => [pair[side].t, pair[side][column]])) : [[0, end]],
      options: {
        cursor: { sync: { key: "captured" }, y: false, points: { show: false }, drag: { x: true, y: false } },
        scales: {
          x: { time: false, range: (u, min, max) => (min === null || min === max ? [0, end] : [min, max]) },
          y: { range: (u, min, max) => [0, Math.max(max ?? 1, 1e-9) * 1.06] },
        },
        axes: [plot.axis({ values: plot.times, space: 70 }), plot.axis({ size: 56, values: (u, s) => s.map(plot.short) })],
        series: [{}, ...sides.map(([side, colour]) => ({
          stroke: () => theme.colour(colour),
          width: side === "observed" ? 2.5 : 1.75,
          dash: side === "rerun" ? [6, 4] : undefined,
          spanGaps: true,
          points: { show: false },
        }))],
        hooks: {
          init: [(u) => { u.wholeX = { min: 0, max: end }; }],
          draw: [(u) => {
            plot.ticks(u, pair.observed_retransmits, theme.colour("ink"), 0);
            plot.ticks(u, pair.rerun_retransmits, theme.colour("c2"), 1);
          }],
          setCursor: [(u) => tell(u, pair)],
        },
      },
    };
  };

  const tell = (u, pair) => {
    if (u !== plots[0] || u.cursor.left < 0) return;
    const now = u.posToVal(u.cursor.left, "x");
    const words = panels.map(([, column, name]) => {
      const side = (s) => (pair[s][column].length > 0 ? plot.short(at(pair[s].t, pair[s][column], now)) : "not known");
      return `${name} ${side("observed")} captured, ${side("rerun")} re-run`;
    });
    readout.textContent = `At ${plot.seconds(now)}: ${words.join("; ")}`;
  };

  const redraw = () => {
    const pair = data.captured[Number(select.value)];
    readout.textContent = "";
    plots = pair ? panels.map(([id, column]) => plot.draw(`plot-${id}`, () => build(column, pair))) : [];
  };
  select.addEventListener("change", redraw);
  redraw();
};
