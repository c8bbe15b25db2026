// The worker seen from the page: one order at a time, answers as promises, an end at any time.
// `source` is the text of the worker, `packed` the module, compressed, in base64.
const enter = (source, packed) => {
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  let module;
  let worker;
  let jobs = 0;
  const waiting = new Map();

  const unpack = async () => {
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compile(await new Response(stream).arrayBuffer());
  };

  const begin = () => {
    worker = new Worker(address);
    worker.postMessage({ module });
    worker.onmessage = ({ data }) => {
      const job = waiting.get(data.job);
      if (!job) return;
      if (data.total !== undefined) { job.told(data.done, data.total); return; }
      waiting.delete(data.job);
      if (data.error !== undefined) job.reject(new Error(data.error)); else job.resolve(data);
    };
    worker.onerror = (event) => stop(event.message || "the worker ended");
  };

  // Resolves to the bytes of the answer and the time that the engine took, milliseconds.
  const ask = (order, attached, told = () => {}) => new Promise((resolve, reject) => {
    const job = ++jobs;
    waiting.set(job, { resolve, reject, told });
    worker.postMessage({ job, order, attached });
  });

  // Ends what the worker computes; what was asked is rejected with the reason.
  const stop = (why) => {
    worker.terminate();
    const all = [...waiting.values()];
    waiting.clear();
    begin();
    for (const job of all) job.reject(new Error(why));
  };

  const start = async () => {
    module = await unpack();
    begin();
  };

  return { start, ask, stop };
};
