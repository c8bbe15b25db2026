// Packets, queue and ACKs of the first round trips, at a speed of choice.
const packets = (() => {
  const canvas = document.getElementById("packets-canvas");
  const select = document.getElementById("packets-trace");
  const speed = document.getElementById("packets-speed");
  const play = document.getElementById("packets-play");
  const slider = document.getElementById("packets-time");
  const words = document.getElementById("packets-words");
  const DATA = 0;
  const AGAIN = 1;
  const ACK = 2;

  let run = null;
  let now = 0;
  let last = null;

  // Adds the ends, the round trip and the longest queue to the engine's record. Times are microseconds.
  const prepared = (record, look, buffer) => {
    const all = record.packets.map(([kind, number, sent, [queued, served, arrived, lost]]) =>
      ({ kind, number, sent, queued, served, arrived, lost }));
    const end = all.reduce((most, p) => Math.max(most, p.arrived ?? p.lost ?? p.served ?? p.sent), 1);
    // The handshake shows the round trip without a queue; a connection without one shows it by its first ACK.
    const first = all.find((p) => p.kind === ACK && p.arrived !== null);
    const rtt = Math.max(first ? first.arrived : end / 10, 1);
    const queue = all.filter((p) => p.kind !== ACK && p.queued !== null && p.served !== null)
      .map((p) => ({ from: p.queued, to: p.served, packet: p }))
      .concat(record.others.map(([from, to]) => ({ from, to, packet: null })))
      .sort((a, b) => a.from - b.from || a.to - b.to);
    const steps = queue.flatMap(({ from, to }) => [[from, 1], [to, -1]]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let [length, longest] = [0, 1];
    for (const [, step] of steps) longest = Math.max(longest, length += step);
    const data = all.find((p) => p.kind === DATA && p.number !== null && p.arrived !== null) ?? all[0];
    const near = data.queued !== null && data.arrived > data.sent ? (data.queued - data.sent) / (data.arrived - data.sent) : 0;
    const rounds = Math.ceil(end / rtt);
    const top = record.windows.reduce((most, [, window]) => Math.max(most, window), 1);
    return { ...record, all, end, rtt, queue, look, near, rounds, top, room: Math.max(longest, Math.min(buffer ?? 0, 3 * longest)) };
  };

  const window = (at) => {
    let value = null;
    for (const [from, packets] of run.windows) if (from <= at) value = packets; else break;
    return value;
  };

  const time = (micros) => plot.seconds(micros * 1e-6);

  const fit = () => {
    const scale = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const ctx = canvas.getContext("2d");
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, width, height);
    return { ctx, width, height };
  };

  const label = (ctx, text, x, y, align = "center", colour = "dim") => {
    ctx.fillStyle = theme.colour(colour);
    ctx.textAlign = align;
    ctx.fillText(text, x, y);
  };

  const draw = () => {
    if (!run || canvas.clientWidth === 0) return;
    const { ctx, width, height } = fit();
    ctx.font = '12px system-ui, "Segoe UI", Roboto, Arial, sans-serif';
    ctx.textBaseline = "middle";
    const colour = theme.colour(`c${run.look.colour}`);
    const bad = theme.colour("bad");
    const ink = theme.colour("ink");
    const dim = theme.colour("dim");

    // Sender, queue of the bottleneck, receiver.
    const [left, right] = [34, width - 34];
    const [up, down] = [66, 128];
    const at = left + 22 + (right - left) * Math.min(Math.max(run.near, 0.1), 0.5);
    const box = { x: at - 16, y: 20, w: 32, h: 66 };
    ctx.strokeStyle = theme.colour("rule");
    ctx.lineWidth = 1;
    plot.line(ctx, left, up, right, up);
    plot.line(ctx, left, down, right, down);
    for (const x of [left, right]) {
      ctx.fillStyle = theme.colour("panel");
      ctx.strokeStyle = dim;
      ctx.fillRect(x - 9, up - 16, 18, down - up + 32);
      ctx.strokeRect(x - 9, up - 16, 18, down - up + 32);
    }
    ctx.fillStyle = theme.colour("panel");
    ctx.fillRect(box.x, box.y, box.w, box.h);
    ctx.strokeRect(box.x, box.y, box.w, box.h);
    label(ctx, "sender", 8, down + 30, "left");
    label(ctx, "receiver", width - 8, down + 30, "right");

    // A packet is as wide as its time on the wire, if that can be seen.
    const [from, to] = [at + 16, right - 9];
    const flight = run.rtt / 2;
    const wide = Math.min(Math.max((to - from) * (12e9 / run.rate / flight), 2), 12);
    let [ways, waiting, acks, lost] = [0, 0, 0, 0];
    const bar = (x, again) => {
      if (again) {
        ctx.strokeStyle = bad;
        ctx.lineWidth = 1.5;
        ctx.strokeRect(x - wide / 2, up - 8, wide, 16);
      } else {
        ctx.fillStyle = colour;
        ctx.fillRect(x - wide / 2, up - 8, wide, 16);
      }
    };
    for (const p of run.all) {
      if (p.sent > now) continue;
      if (p.lost !== null && now >= p.lost) {
        lost += p.kind === ACK ? 0 : 1;
        // A lost packet falls from its place for a third of a round trip.
        const fall = (now - p.lost) / (run.rtt / 3);
        if (fall > 1) continue;
        const [x, y] = p.kind === ACK ? [(left + right) / 2, down + 24 * fall] : [at, box.y + box.h + 34 * fall];
        ctx.strokeStyle = bad;
        ctx.lineWidth = 2;
        plot.line(ctx, x - 4, y - 4, x + 4, y + 4);
        plot.line(ctx, x - 4, y + 4, x + 4, y - 4);
        continue;
      }
      if (p.arrived !== null && now >= p.arrived) continue;
      if (p.kind === ACK) {
        const end = p.arrived ?? p.lost;
        if (end === null) continue;
        acks += 1;
        const x = right - 9 - ((right - left - 18) * (now - p.sent)) / (end - p.sent || 1);
        ctx.fillStyle = dim;
        ctx.beginPath();
        ctx.arc(x, down, 3.5, 0, 2 * Math.PI);
        ctx.fill();
      } else if (p.queued === null || now < p.queued) {
        ways += 1;
        const end = p.queued ?? p.lost ?? p.sent + 1;
        bar(left + 9 + ((box.x - left - 9) * (now - p.sent)) / (end - p.sent || 1), p.kind === AGAIN);
      } else if (p.served !== null && now >= p.served) {
        ways += 1;
        const end = p.arrived ?? p.served + flight;
        bar(Math.min(from + ((to - from) * (now - p.served)) / (end - p.served || 1), to), p.kind === AGAIN);
      } else {
        ways += 1;
      }
    }

    // The queue fills from below.
    const each = Math.min(box.h / run.room, 10);
    for (const { from: joined, to: served, packet } of run.queue) {
      if (joined > now) break;
      if (served <= now) continue;
      const y = box.y + box.h - (waiting + 1) * each;
      ctx.fillStyle = packet ? colour : dim;
      ctx.globalAlpha = packet ? 1 : 0.45;
      ctx.fillRect(box.x + 2, y, box.w - 4, Math.max(each - (each > 3 ? 1 : 0), 0.5));
      ctx.globalAlpha = 1;
      waiting += 1;
    }
    label(ctx, `queue ${waiting}`, at, 9);
    label(ctx, "data →", (from + to) / 2, up - 20);
    label(ctx, "← ACKs", (from + to) / 2, down + 18);

    chart(ctx, { x: 44, y: down + 56, w: width - 56, h: height - down - 92 }, colour, ink);
    const value = window(now);
    const round = Math.floor(now / run.rtt) + 1;
    words.textContent = `Round trip ${round}, at ${time(now)}: ${value === null ? "the handshake" : `window ${plot.packets(value)} packets`}; `
      + `${ways} data packets and ${acks} ACKs are on the way, ${waiting} packets are at the bottleneck, ${lost} are lost so far.`;
    slider.value = now / run.end;
    slider.setAttribute("aria-valuetext", `${time(now)}, round trip ${round}`);
  };

  // The window over time, with a line for each round trip and one for now.
  const chart = (ctx, { x, y, w, h }, colour, ink) => {
    const px = (at) => x + (w * at) / run.end;
    const py = (value) => y + h - (h * value) / (run.top * 1.05);
    ctx.strokeStyle = theme.colour("grid");
    ctx.lineWidth = 1;
    const every = Math.max(Math.ceil(run.rounds / 12), 1);
    for (let round = 0; round * run.rtt <= run.end; round += every) {
      plot.line(ctx, px(round * run.rtt), y, px(round * run.rtt), y + h);
      if (px(round * run.rtt) < x + w - 20) label(ctx, String(round + 1), px(round * run.rtt) + 3, y + h + 10, "left");
    }
    label(ctx, "round trips", x + w, y + h + 22, "right");
    plot.line(ctx, x, y + h, x + w, y + h);
    label(ctx, plot.packets(run.top), x - 6, py(run.top), "right");
    label(ctx, "0", x - 6, y + h, "right");
    label(ctx, "window, packets", x, y - 12, "left");
    if (run.startup_end !== null) {
      ctx.setLineDash([4, 3]);
      ctx.strokeStyle = colour;
      plot.line(ctx, px(run.startup_end), y, px(run.startup_end), y + h);
      ctx.setLineDash([]);
      const flip = px(run.startup_end) > x + w - 110;
      label(ctx, "start-up ends", px(run.startup_end) + (flip ? -4 : 4), y + 6, flip ? "right" : "left");
    }
    ctx.strokeStyle = colour;
    ctx.lineWidth = 2;
    ctx.beginPath();
    let height = null;
    for (const [from, value] of run.windows) {
      if (height === null) ctx.moveTo(px(from), py(value)); else { ctx.lineTo(px(from), height); ctx.lineTo(px(from), py(value)); }
      height = py(value);
    }
    if (height !== null) ctx.lineTo(x + w, height);
    ctx.stroke();
    ctx.strokeStyle = ink;
    ctx.lineWidth = 1;
    plot.line(ctx, px(now), y - 4, px(now), y + h + 4);
  };

  // Microseconds of the connection for each millisecond of the reader.
  const rate = () => (speed.value === "real" ? 1000 : run.rtt / (Number(speed.value) * 1000));

  const frame = (clock) => {
    if (last === null || !run) return;
    now = Math.min(now + (clock - last) * rate(), run.end);
    last = clock;
    draw();
    if (now >= run.end) pause(); else requestAnimationFrame(frame);
  };
  const pause = () => {
    last = null;
    play.textContent = "Play";
  };
  const go = () => {
    if (now >= run.end) now = 0;
    last = performance.now();
    play.textContent = "Pause";
    requestAnimationFrame(frame);
  };

  // `load(index)` resolves to the engine's record of a replication, or to null if it was overtaken.
  const start = (load) => {
    play.addEventListener("click", async () => {
      if (last !== null) return pause();
      if (!run) await load(Number(select.value));
      if (run) go();
    });
    slider.addEventListener("input", () => { if (run) { now = slider.value * run.end; draw(); } });
    select.addEventListener("change", () => { pause(); load(Number(select.value)); });
    new ResizeObserver(draw).observe(canvas);
    theme.onChange(draw);
  };

  // Offers the replications of a comparison, each with its place and a text; the choice stays where it is still offered.
  // Returns the chosen place, or null without any.
  const offer = (traces, usual) => {
    const before = select.selectedOptions[0]?.textContent;
    select.replaceChildren(...traces.map(({ place, text }) => new Option(text, place)));
    const same = traces.findIndex(({ text }) => text === before);
    select.selectedIndex = same >= 0 ? same : usual;
    const going = last !== null;
    if (!going || same < 0) pause();
    return traces.length > 0 ? Number(select.value) : null;
  };

  // Clears the picture: the record is not of the present comparison.
  const forget = () => {
    pause();
    run = null;
    fit();
    words.textContent = "Press Play to follow the packets.";
  };

  const wait = () => { words.textContent = "Searching the path for the packets …"; };

  // Shows a record: at first the moment at which the first packets are on their way.
  const show = (record, look, buffer) => {
    const part = run ? now / run.rtt : null;
    run = prepared(record, look, buffer);
    now = Math.min((part ?? 2.4) * run.rtt, run.end);
    draw();
  };

  return { start, offer, show, forget, wait };
})();
