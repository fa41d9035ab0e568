import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { eventually } from "../../cluster/admin";
import { operatorNodeOptions } from "../../controllers/operator-image";
import type { OperatorProcess } from "../../operator/process";

/** The heap limit that Node.js chooses in a container with 256 MiB. */
const HEAP_MIB = 128;

/** Memory limit of the operator's container. */
export const LIMIT_MIB = 256;

const PROBE = pathToFileURL(join(__dirname, "probe.mjs")).href;

/** Pepr's relist interval in seconds: short instead of ten minutes, so that each measurement includes a relist. */
const RELIST_SECONDS = 15;

/** The environment in which the operator is measured: with the heap of its container, and with a probe inside. */
export const MEASURED: Readonly<Record<string, string>> = {
  NODE_OPTIONS: [...operatorNodeOptions(), `--max-old-space-size=${HEAP_MIB}`, `--import ${PROBE}`].join(" "),
  PEPR_RELIST_INTERVAL_SECONDS: String(RELIST_SECONDS),
};

/** The longest turn of the operator's event loop since the last call, in words: without time spent waiting for a processor, and by the clock. */
export async function longestTurn(operator: OperatorProcess): Promise<string> {
  const turns = () => operator.log.filter(({ msg }) => msg === "longest turn");
  const before = turns().length;
  operator.signal("SIGUSR2");
  const told = await eventually(turns, lines => lines.length > before);
  if (told.length === before) throw new Error("the operator does not log its longest turn");
  const ms = (name: string): string => `${Number(told.at(-1)?.[name]).toFixed(0)} ms`;
  const details = `garbage collection ${ms("garbageMs")}; ${ms("longestMs")} including processor wait`;
  return `longest turn ${ms("longestOwnMs")} (${details})`;
}
