// The page's worker: the same module without a page. It is sent the compiled module first, then orders (bytes) and
// whether anybody looks (booleans); it answers with bytes, first of all with null. web/src/session/crew.rs is the other end.
import { Desk, initSync } from "./mqscope-web.js";

// A message to itself: orders that came meanwhile are taken between two slices, without a timer's delay.
const next = new MessageChannel();
let desk;
let seen = true;
let asked = false;

const goOn = () => {
  if (asked || !seen || !desk?.open) return;
  asked = true;
  next.port2.postMessage(null);
};

next.port1.onmessage = () => {
  asked = false;
  const answer = seen && desk.slice();
  if (answer) postMessage(answer, [answer.buffer]);
  goOn();
};

onmessage = ({ data }) => {
  if (data instanceof WebAssembly.Module) {
    initSync({ module: data });
    desk = new Desk();
    postMessage(null);
  } else if (typeof data === "boolean") {
    seen = data;
  } else {
    desk.take(data);
  }
  goOn();
};
