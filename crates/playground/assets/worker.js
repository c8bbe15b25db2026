// One engine in a worker. The page ends the worker to end what it computes.
let engine;
let job = 0;
let told = 0;

onmessage = async ({ data }) => {
  if (data.module) {
    engine = instantiate(data.module, (done, total) => {
      const now = performance.now();
      if (now - told < 50 && done < total) return;
      told = now;
      postMessage({ job, done, total });
    });
    return;
  }
  try {
    const answers = await engine;
    ({ job } = data);
    const begun = performance.now();
    const answer = answers(data.order, data.attached);
    postMessage({ job, answer, took: performance.now() - begun }, [answer.buffer]);
  } catch (error) {
    postMessage({ job: data.job, error: error.message });
  }
};
