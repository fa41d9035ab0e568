// Loaded into the operator's process (node --import). SIGUSR2 collects its garbage, and says so as a log line.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");

process.on("SIGUSR2", () => {
  collect();
  process.stdout.write(`${JSON.stringify({ level: "info", msg: "garbage collected" })}\n`);
});
