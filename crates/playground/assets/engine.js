// The module, in a worker or in node: an order and a file in, the bytes of the answer out.
const instantiate = async (module, told = () => {}) => {
  const decoder = new TextDecoder();
  let panic = "";
  let wasm;
  const bytes = (at, length) => new Uint8Array(wasm.memory.buffer, at, length);
  const host = {
    progress: told,
    panicked: (at, length) => { panic = decoder.decode(bytes(at, length)); },
  };
  wasm = (await WebAssembly.instantiate(module, { host })).exports;
  wasm.start();

  const put = (room, content) => bytes(room(content.length), content.length).set(content);

  // A copy of the answer: the next order overwrites it.
  return (order, attached = new Uint8Array()) => {
    put(wasm.order, new TextEncoder().encode(JSON.stringify(order)));
    put(wasm.attach, attached);
    let failed;
    try {
      failed = wasm.answer();
    } catch (error) {
      throw new Error(panic || error.message);
    }
    const answer = bytes(wasm.answer_at(), wasm.answer_len()).slice();
    if (failed) throw new Error(decoder.decode(answer));
    return answer;
  };
};
