import { setTimeout as sleep } from "node:timers/promises";
import { describeCall } from "../calls";
import type { Fault } from "../fault";
import type { WriteFault } from "../fault-proxy";
import { differences } from "../differences";
import type { Scenario } from "../scenario";
import { type Finding, quietMs, type Stage, type Suite } from "../suite";
import { CUTS, playCutOff } from "./cut-off";
import { growth, megabytes, type Memory } from "./memory";
import { CALM, inOrder, isSilent, playWatchFault, WATCH_FAULTS, type WatchFault } from "./watch-faults";
import { World } from "./world";
import { playWriteFaults, WRITE_FAULTS, WRITE_SCENARIOS } from "./write-faults";

/** Selects the faults; all if undefined. */
interface FaultChoice {
  readonly watchFaults?: readonly WatchFault[];
  readonly writeFaults?: readonly WriteFault[];
  /** Scenarios whose writes meet the faults. */
  readonly writeScenarios?: readonly Scenario[];
  /** How the leader of two replicas is cut off. */
  readonly cuts?: readonly Fault[];
}

/** The network, the API server, or a component between them fails in every way, while objects change. */
export function faults(choice: FaultChoice = {}): Suite {
  return {
    name: "faults",
    about: "break the connection between the operator and the API server, while objects change",
    async run(stage) {
      const world = await World.up(stage);
      const findings: Finding[] = [];
      const take = (...found: readonly Finding[]): void => {
        findings.push(...found);
        for (const finding of found) stage.print(tell(finding));
      };
      try {
        await playAll(world, stage, choice, take);
        take(await leaveAlone(world, quietMs(stage)));
      } finally {
        for (const line of world.replicas.flatMap(({ operator }) => operator.complaints())) {
          stage.print(`operator: ${line}`);
        }
      }
      return findings;
    },
  };
}

/** Time for passes over recently deleted objects to end; in milliseconds. */
const IN_FLIGHT_MS = 5_000;

type Take = (...found: readonly Finding[]) => void;

async function playAll(world: World, stage: Stage, choice: FaultChoice, take: Take): Promise<void> {
  const { watchFaults = WATCH_FAULTS, cuts = CUTS } = choice;
  const { writeFaults = WRITE_FAULTS, writeScenarios = WRITE_SCENARIOS } = choice;
  const calm = await playWatchFault(world, CALM, 0);
  take(calm.finding);
  // These run meanwhile, separately from all others: they wait for minutes where the result of an eviction is unknown.
  const writes = playWriteFaults(world, { faults: writeFaults, scenarios: writeScenarios }, stage);
  // The code that waits reports the error.
  writes.catch(() => undefined);
  const memories: Memory[] = [];
  for (const fault of inOrder(watchFaults, stage.seed)) {
    // All namespaces share the connections.
    if (isSilent(fault)) await writes;
    const { finding, memory } = await playWatchFault(world, fault, calm.begun);
    take(finding);
    memories.push(memory);
  }
  take(...(await writes), memoryFinding(memories));
  if (cuts.length > 0) await world.replica();
  for (const cut of cuts) take(await playCutOff(world, cut));
}

async function leaveAlone(world: World, ms: number): Promise<Finding> {
  const written = (): string[] =>
    world.replicas.flatMap(({ proxy }) =>
      proxy.writes.map(write => `${describeCall(write)} in ${write.namespace ?? "none"}`),
    );
  await sleep(IN_FLIGHT_MS);
  const [before, statuses] = [written().length, await world.statuses()];
  await sleep(ms);
  const calls = written().slice(before);
  const changes = calls.length === 0 ? [] : differences(await world.statuses(), statuses);
  return {
    fault: `no fault for ${ms / 1000} s, after all of these`,
    times: 1,
    promised: "no writes except of the Lease",
    seen: `${calls.length} writes`,
    failures: [...calls.map(call => `written: ${call}`), ...changes],
  };
}

function memoryFinding(measured: readonly Memory[]): Finding {
  const told = measured.map(({ rss, heap }) => `${megabytes(rss)}/${megabytes(heap)}`);
  return {
    fault: "memory during all of these",
    times: measured.length,
    promised: "no growth from fault to fault",
    seen: `rss/heap in MB, after garbage collection: ${told.join(", ")}`,
    failures: growth(measured),
  };
}

function tell({ fault, seen, failures }: Finding): string {
  return [`${fault}: ${seen}`, ...failures.map(failure => `FAILED: ${failure}`)].join("\n");
}
