import { setTimeout as sleep } from "node:timers/promises";
import type { ControllerResilience } from "../../../src/api/controller-resilience";
import type { OperatorProcess } from "../../operator/process";
import { waitUntil } from "./waiting";
import type { World } from "./world";

const LEAD_LIMIT_MS = 120_000;
const STEADY_LIMIT_MS = 900_000;

/** Seconds from the start of the process. */
interface Launch {
  readonly operator: OperatorProcess;
  readonly leads: number;
  /** Every object has its conditions. */
  readonly reported: number;
  /** Every object has the last state that the scene waits for. */
  readonly settled: number;
}

/** Whether an object has been reported about since its last change. */
export function isReported({ metadata, status }: ControllerResilience): boolean {
  return status?.observedGeneration === metadata.generation && (status.conditions?.length ?? 0) > 0;
}

/** The reason of TokensAccepted; "" without it. */
function tokensReason({ status }: ControllerResilience): string {
  return status?.conditions?.find(({ type }) => type === "TokensAccepted")?.reason ?? "";
}

/** Starts an operator, and waits until it has reported every object with one of these reasons. */
export async function launch(world: World, reasons: readonly string[]): Promise<Launch> {
  const { print } = world;
  const startMs = performance.now();
  const seconds = (): number => (performance.now() - startMs) / 1000;
  const operator = world.startOperator();
  const mustRun = (): void => {
    if (operator.exitCode !== undefined) throw new Error(`the operator ended: ${operator.complaints().join("\n")}`);
  };
  while (!(await operator.leads())) {
    mustRun();
    if (performance.now() - startMs > LEAD_LIMIT_MS) throw new Error("the operator does not lead");
    await sleep(20);
  }
  const leads = seconds();
  print(`the operator leads after ${leads.toFixed(1)} s`);
  let reported = NaN;
  // A list of many objects costs the machine more than the operator does.
  const everyMs = (await world.objects()).length > 200 ? 1_000 : 250;
  const look = async (): Promise<true | string> => {
    const objects = await world.objects();
    const known = objects.filter(isReported);
    if (known.length === objects.length && Number.isNaN(reported)) reported = seconds();
    const settled = known.filter(object => reasons.includes(tokensReason(object))).length;
    return settled === objects.length || `${known.length} of ${objects.length} reported, ${settled} settled`;
  };
  const wait = { what: `every object to be ${reasons.join(" or ")}`, limitMs: STEADY_LIMIT_MS, everyMs };
  await waitUntil({ ...wait, look }, print);
  mustRun();
  const settled = seconds();
  print(`every object is ${reasons.join(" or ")} after ${settled.toFixed(1)} s`);
  return { operator, leads, reported, settled };
}

/** Stops the operator. */
export async function terminate(operator: OperatorProcess): Promise<void> {
  const code = await operator.stop();
  if (code !== 0) throw new Error(`the operator ended with ${code}, expected 0`);
}
