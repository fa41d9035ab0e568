import { setTimeout as sleep } from "node:timers/promises";
import type { OperatorProcess } from "../../operator/process";
import { actionsOf } from "../crash/compare";
import { LEASE, type Rig } from "../rig";
import { removeObject, type Scene } from "../scenario";
import { untilSettled } from "../settle";
import type { StopMoment } from "./moments";

/** The promised time limit; in milliseconds. */
const ENDS_WITHIN_MS = 5_000;
/** The process is killed after this time. */
const PATIENCE_MS = 20_000;

/** The result of one SIGTERM. */
export interface Stopped {
  readonly moment: string;
  readonly ms: number;
  readonly failures: readonly string[];
}

/** Stops the operator with SIGTERM at that moment; another process takes over and finishes its work. */
export async function stopAt(rig: Rig, moment: StopMoment): Promise<Stopped> {
  const { scenario, action } = moment;
  const scene = await rig.scene("shutdown");
  await scenario.prepare(scene);
  void rig.proxy.watch({ namespace: scene.namespace, kill: rig.kill });
  const reached = moment.reach(rig, scene);
  await scenario.trigger(scene);
  await reached;
  const { ms, exitCode } = await terminate(rig.operator);
  rig.proxy.interceptor = {};
  await rig.proxy.settled();
  const holder = await holderOf(scene);
  const state = await scenario.describe(scene);
  await rig.succeed();
  const { trouble } = await untilSettled(scenario, scene, () => ({ writes: rig.proxy.writes.length }));
  const times = actionsOf(rig.proxy.writes)[action] ?? 0;
  if (scenario.isShared) await removeObject(scene);
  const checks: readonly (readonly [boolean, string])[] = [
    ...endingChecks(ms, exitCode, moment.isLeaseOut === true ? 1 : 0),
    [moment.isLeaseOut !== true && holder !== "", `the Lease is still held by ${holder}`],
    [moment.isAccountedFor?.(state) === false, `status does not record the action: ${JSON.stringify(state)}`],
    [trouble !== undefined, trouble ?? ""],
    [times !== 1, `${action} was carried out ${times} times`],
  ];
  return { moment: moment.name, ms, failures: checks.flatMap(([isSo, text]) => (isSo ? [text] : [])) };
}

/** Stops a replica that waits for the Lease while another holds it. */
export async function stopWaiting(rig: Rig): Promise<Stopped> {
  const scene = await rig.scene("shutdown");
  const { operator } = await rig.replica();
  const before = await holderOf(scene);
  const { ms, exitCode } = await terminate(operator);
  const after = await holderOf(scene);
  const checks: readonly (readonly [boolean, string])[] = [
    ...endingChecks(ms, exitCode),
    [before === "" || after !== before, `the Lease of ${before} is held by ${after}`],
  ];
  return { moment: "waiting for the Lease", ms, failures: checks.flatMap(([isSo, text]) => (isSo ? [text] : [])) };
}

function endingChecks(ms: number, exitCode: number | undefined, promised = 0): readonly (readonly [boolean, string])[] {
  return [
    [exitCode !== promised, `exit code ${exitCode ?? "none (killed after the time limit)"}, expected ${promised}`],
    [ms >= ENDS_WITHIN_MS, `the exit took ${ms.toFixed(0)} ms`],
  ];
}

async function terminate(operator: OperatorProcess): Promise<{ ms: number; exitCode: number | undefined }> {
  const startedMs = performance.now();
  operator.signal("SIGTERM");
  while (operator.exitCode === undefined && performance.now() - startedMs < PATIENCE_MS) await sleep(5);
  const [ms, { exitCode }] = [performance.now() - startedMs, operator];
  if (exitCode === undefined) operator.signal("SIGKILL");
  return { ms, exitCode };
}

async function holderOf({ admin }: Scene): Promise<string> {
  const { spec } = await admin.get<{ spec: { holderIdentity?: string } }>(LEASE);
  return spec.holderIdentity ?? "";
}
