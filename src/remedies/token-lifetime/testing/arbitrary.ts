import fc from "fast-check";
import { Cause } from "../../../api/conditions";
import type { RestartStatus, TokenLifetimeSpec } from "../../../api/controller-resilience";
import type { Intent } from "../../../core/intent";
import { intentsOf, outcomesOf } from "../../../core/testing/remedy-sample";
import { executedRestart } from "../../../restarts/testing/history";
import type { TokenLifetimePlan } from "../plan";
import { reportTokenLifetime } from "../report";
import type { Observed, ObservedDaemonSet } from "../subject";
import type { TemplatePatch } from "../template/parts";
import { applyPatch } from "../template/testing/apply";
import type { MaintenanceWindow } from "../windows";
import { daemonSets, times } from "./arbitrary-set";
import { DEFAULTS } from "./scene";

const restarts = fc
  .record({
    pod: fc.constant("agent-1"),
    podUID: fc.constantFrom("pod-0-0", "gone"),
    workload: fc.constantFrom("DaemonSet/agent-0", "DaemonSet/agent-1", "DaemonSet/other"),
    time: times,
    cause: fc.constant(Cause.TokenTooLong),
    outcome: fc.constantFrom("Requested", "Restarted", "Recovered", "Recovered", "Ineffective"),
  })
  .map(entry => entry as RestartStatus);

/** Any observations; each DaemonSet has another name. */
export const observations = fc
  .record({
    mode: fc.constantFrom("Enforce", "Enforce", "Observe", "OperatorObserves"),
    daemonSets: fc.array(daemonSets, { maxLength: 3 }),
    missingTargets: fc.constantFrom([], ["DaemonSet/other"]),
    restarts: fc.oneof(fc.constant([]), fc.array(restarts, { maxLength: 2 })),
  })
  .map(facts => ({
    ...facts,
    generation: 1,
    isReviewing: false,
    otherOpenRestarts: [],
    formerEntries: [],
    formerTrials: [],
    daemonSets: facts.daemonSets.map((one, i) => {
      const name = `agent-${i}`;
      const own = one.pods.map((pod, j) => ({
        ...pod,
        pod: { ...pod.pod, name: `pod-${i}-${j}`, uid: `pod-${i}-${j}` },
      }));
      return { ...one, pods: own, view: { ...one.view, name, uid: name }, record: { ...one.record, name, uid: name } };
    }),
  })) as fc.Arbitrary<Observed>;

/** A window that never opens. */
export const NEVER: MaintenanceWindow = { schedule: "0 2 31 2 *", duration: "3h", timeZone: "UTC" };

/** Windows that are often closed, some of them for ever. */
const anyWindows: fc.Arbitrary<MaintenanceWindow[]> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<MaintenanceWindow[]>([]) },
  fc.array(
    fc.record({
      schedule: fc.constantFrom("0 2 * * 6", "30 2 * * *", "*/20 * * * *", NEVER.schedule),
      duration: fc.constantFrom("10m", "3h", "168h"),
      timeZone: fc.constantFrom("UTC", "Europe/Berlin", "Pacific/Kiritimati"),
    }),
    { minLength: 1, maxLength: 2 },
  ),
);

/** Any valid specs. */
export const specs: fc.Arbitrary<TokenLifetimeSpec> = fc
  .record({
    windows: anyWindows,
  })
  .map(spec => ({ ...DEFAULTS, ...spec }));

/** The observations after every intent was executed, evicted pods are being deleted, and status was written. */
export function applied(observed: Observed, plan: TokenLifetimePlan, now: Date): Observed {
  const { lists } = reportTokenLifetime(plan, outcomesOf(plan, { result: "Executed" }), now);
  const intents = intentsOf(plan);
  const claims = intents.flatMap(({ restart }) => restart ?? []);
  const evicted = new Set(claims.map(({ podUID }) => podUID));
  return {
    ...observed,
    restarts: [...(plan.restarts ?? []), ...claims.map(claim => executedRestart(claim, now))],
    daemonSets: observed.daemonSets.map(one => {
      const pods = one.pods.map(podAndLogs =>
        evicted.has(podAndLogs.pod.uid)
          ? { ...podAndLogs, pod: { ...podAndLogs.pod, deletedAtMs: now.getTime() } }
          : podAndLogs,
      );
      const record = lists?.daemonSets?.find(({ name }) => name === one.view.name);
      return { ...changed(one, intents), pods, ...(record && { record }) };
    }),
  };
}

function changed(one: ObservedDaemonSet, intents: readonly Intent[]): ObservedDaemonSet {
  const intent = intents.find(({ target }) => target.kind === "DaemonSet" && target.name === one.view.name);
  if (intent === undefined) return one;
  const { spec } = intent.body as {
    spec: { updateStrategy?: { type: string }; template: { spec: TemplatePatch } };
  };
  const after = applyPatch(one.view.template, one.view.ownedVolumes, spec.template.spec);
  const given = one.view.ownsUpdateStrategy === true ? "RollingUpdate" : one.view.updateStrategy;
  const strategy = {
    updateStrategy: spec.updateStrategy?.type ?? given,
    ownsUpdateStrategy: spec.updateStrategy !== undefined,
  };
  return { ...one, view: { ...one.view, ...after, ...strategy, generation: one.view.generation + 1 } };
}
