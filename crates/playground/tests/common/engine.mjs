// The module in node: ENGINE.js MODULE.wasm; a line of JSON for each order in, a line for each answer out.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [engine, module] = process.argv.slice(2);
const instantiate = new Function(`${readFileSync(engine, "utf8")}; return instantiate;`)();
const answers = await instantiate(await WebAssembly.compile(readFileSync(module)));
for await (const line of createInterface({ input: process.stdin })) {
  const { order, file } = JSON.parse(line);
  const begun = performance.now();
  let reply;
  try {
    const answer = answers(order, file ? new Uint8Array(readFileSync(file)) : undefined);
    reply = { answer: Buffer.from(answer).toString("base64") };
  } catch (error) {
    reply = { error: error.message };
  }
  console.log(JSON.stringify({ ...reply, ms: performance.now() - begun }));
}
