import { readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect } from "vitest";
import { commitNumber } from "./commit";

// vitest gives up on a file whose event loop does not turn for a minute. Property tests are synchronous, and on a busy machine several in a
// row take longer.
afterEach(async () => {
  await turn();
});

// The properties of one commit are tried with the same values each time: what has passed here passes elsewhere.
const { testPath = "" } = expect.getState();
if (testPath !== "" && readFileSync(testPath, "utf8").includes(`from "fast-check"`)) {
  const { configureGlobal } = await import("fast-check");
  configureGlobal({ seed: commitNumber() });
}
