import Table from "cli-table3";
import type { Lab } from "../lab";
import { flowLab, FlowScene, type Phase } from "./flow-scene";
import { SHARED, QUARANTINE } from "./levels";

const ALONE_SECONDS = 8;
/** The maximum wait of a request, so that every place in the queue is used once. */
const SECONDS = 15;
/** Time to open some thousand connections. */
const OPENING_MS = 8_000;
const SHARED_NAME = "bench-shared";
const QUARANTINE_NAME = "bench-quarantine";

/** Number of connections, and of places in the queue. */
const CASES = [
  { connections: 64, places: 2000 },
  { connections: 64, places: 50 },
  { connections: 500, places: 2000 },
  { connections: 2000, places: 2000 },
  { connections: 2200, places: 2000 },
  { connections: 2200, places: 10_000 },
] as const;

/** Memory use of the API server. */
interface Memory {
  readonly goroutines: number;
  /** Memory of the heap and the stacks. */
  readonly bytes: number;
}

/** Measures how the queue length of the quarantine affects the flood, other clients and the API server's memory. */
export async function benchQuarantine(print: (line: string) => void): Promise<void> {
  const lab = await flowLab(print);
  const table = new Table({
    head: ["connections", "places", "flood's requests/s", "of these at once", "p99 to alone", "goroutines", "MB"],
    style: { head: [], border: [], compact: true },
  });
  const scene = await FlowScene.start(lab);
  try {
    for (const { connections, places } of CASES) {
      const before = await memoryOf(lab);
      const alone = await scene.measure(ALONE_SECONDS);
      await holdStill(scene, places);
      await scene.breakOut({ connections });
      const held = await scene.measure(SECONDS, OPENING_MS);
      const memory = await memoryOf(lab);
      await scene.calm();
      await scene.mix();
      table.push([connections, places, ...columns(alone, held), ...growth(before, memory)]);
      print(`${connections} connections, ${places} places: ${held.flood.perSecond.toFixed(0)} requests/s`);
    }
  } finally {
    await scene.stop();
    await lab.down();
  }
  for (const line of table.toString().split("\n")) print(line);
}

async function holdStill(scene: FlowScene, places: number): Promise<void> {
  const quarantine = { ...QUARANTINE, queuing: { queues: 1, handSize: 1, queueLengthLimit: places } };
  await scene.isolate({ [SHARED_NAME]: SHARED, [QUARANTINE_NAME]: quarantine }, QUARANTINE_NAME, SHARED_NAME);
}

/** Requests that took less than half of the wait were refused because the queue was full. */
function columns(alone: Phase, { other, flood }: Phase): string[] {
  return [
    flood.perSecond.toFixed(0),
    flood.p50Ms < (SECONDS * 1000) / 2 ? "most" : "few",
    (other.p99Ms / alone.other.p99Ms).toFixed(2),
  ];
}

function growth(before: Memory, after: Memory): string[] {
  return [`+${after.goroutines - before.goroutines}`, `+${((after.bytes - before.bytes) / 1e6).toFixed(0)}`];
}

async function memoryOf(lab: Lab): Promise<Memory> {
  const { stdout } = await lab.kubectl(["get", "--raw", "/metrics"]);
  const read = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(stdout)?.[1]);
  const bytes = read("go_memstats_heap_inuse_bytes") + read("go_memstats_stack_inuse_bytes");
  return { goroutines: read("go_goroutines"), bytes };
}
