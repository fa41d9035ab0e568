import { setImmediate as turn } from "node:timers/promises";
import { afterEach } from "vitest";

// vitest gives up on a file whose event loop does not turn for a minute. Property tests are synchronous, and on a busy machine several in a
// row take longer.
afterEach(async () => {
  await turn();
});
