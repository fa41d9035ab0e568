import { anyWindows } from "../../../core/testing/windows";
import fc from "fast-check";
import { Cause } from "../../../api/conditions";
import type { RestartStatus, TokenLifetimeSpec } from "../../../api/controller-resilience";
import { DAEMON_SET_ANNOTATION } from "../../../api/names";
import type { Intent } from "../../../core/intent";
import { ownerLabels } from "../../../core/owned";
import { makeObject } from "../../../core/testing/objects";
import { intentsOf, outcomesOf } from "../../../core/testing/remedy-sample";
import { executedRestart } from "../../../core/testing/restarts";
import type { ClusterObjectView, DaemonSetView } from "../../../core/views";
import { pairOf } from "../admission/pair";
import { ADMISSION_API } from "../admission/policy";
import type { Observed, ObservedDaemonSet, ObservedPolicies } from "../observed";
import type { TokenLifetimePlan } from "../plan";
import { reportTokenLifetime } from "../report";
import type { TemplatePatch } from "../template";
import { applyPatch } from "../template/testing/apply";
import { daemonSets, moments, times } from "./arbitrary-set";
import { DEFAULTS } from "./scene";

const OWNER = makeObject("team/it");
const OWN = { labels: ownerLabels(OWNER), annotations: {}, conditions: [] };
const STATES = fc.constantFrom("Right", "Drifted", "Foreign", "Old", "");

/** Policies and bindings of a DaemonSet: as wanted, drifted, foreign, for another lifetime, or missing. */
const halves = (name: string): fc.Arbitrary<ClusterObjectView[]> =>
  fc
    .oneof(fc.constant(["Right", "Right"]), fc.tuple(STATES, STATES))
    .chain(states => moments.map(createdAtMs => ({ states, createdAtMs })))
    .map(({ states, createdAtMs }) => {
      const view = { namespace: "team", name } as DaemonSetView;
      const pair = pairOf(view, { owner: OWNER, admission: null }, DEFAULTS);
      return pair.halves.flatMap(({ kind, spec }, i): ClusterObjectView[] => {
        const identity = { kind, name: pair.name, uid: `${kind} ${name}`, resourceVersion: "1", createdAtMs };
        const annotations = { [DAEMON_SET_ANNOTATION]: name };
        const right = { apiVersion: ADMISSION_API, ...OWN, ...identity, annotations, spec };
        if (states[i] === "Drifted") return [{ ...right, spec: {} }];
        if (states[i] === "Foreign") return [{ ...right, labels: {}, spec: {} }];
        if (states[i] === "Old") return [{ ...right, name: `controller-resilience-token-old-${name}` }];
        return states[i] === "Right" ? [right] : [];
      });
    });

const admissions = fc
  .tuple(...[0, 1, 2].map(i => halves(`agent-${i}`)))
  .map(all => all.flat())
  .map(views => ({
    policies: views.filter(({ kind }) => kind === "MutatingAdmissionPolicy"),
    bindings: views.filter(({ kind }) => kind === "MutatingAdmissionPolicyBinding"),
  }));

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
    windows: anyWindows,
    daemonSets: fc.array(daemonSets, { maxLength: 3 }),
    missingTargets: fc.constantFrom([], ["DaemonSet/other"]),
    staleTokens: fc.constantFrom(null, 0, 12),
    admission: fc.oneof({ weight: 9, arbitrary: admissions }, fc.constant(null)),
    restarts: fc.oneof(fc.constant([]), fc.array(restarts, { maxLength: 2 })),
  })
  .map(facts => ({
    ...facts,
    generation: 1,
    isReviewing: false,
    otherOpenRestarts: [],
    formerEntries: [],
    formerTrials: [],
    owner: OWNER,
    daemonSets: facts.daemonSets.map((one, i) => {
      const name = `agent-${i}`;
      const own = one.pods.map((pod, j) => ({
        ...pod,
        pod: { ...pod.pod, name: `pod-${i}-${j}`, uid: `pod-${i}-${j}` },
      }));
      return { ...one, pods: own, view: { ...one.view, name, uid: name }, record: { ...one.record, name, uid: name } };
    }),
  })) as fc.Arbitrary<Observed>;

/** Any valid specs. */
export const specs: fc.Arbitrary<TokenLifetimeSpec> = fc
  .record({
    via: fc.constantFrom("Template", "Admission"),
    revertOnUnauthorized: fc.boolean(),
    allowNodeAgents: fc.boolean(),
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
    admission: observed.admission && admissionAfter(observed.admission, intents, now),
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

function admissionAfter(
  { policies, bindings }: ObservedPolicies,
  intents: readonly Intent[],
  now: Date,
): ObservedPolicies {
  const after = (kind: ClusterObjectView["kind"], before: readonly ClusterObjectView[]): ClusterObjectView[] => {
    const own = intents.filter(({ target }) => target.kind === kind);
    const untouched = before.filter(view => !own.some(({ target }) => target.name === view.name));
    const written = own.flatMap(({ verb, target, body }): ClusterObjectView[] => {
      if (verb === "delete") return [];
      const { metadata, spec } = body as { metadata: typeof OWN; spec: ClusterObjectView["spec"] };
      const known = before.find(({ name }) => name === target.name);
      const fresh = {
        apiVersion: ADMISSION_API,
        kind,
        name: target.name,
        uid: target.name,
        createdAtMs: now.getTime(),
      };
      return [{ ...OWN, ...(known ?? fresh), resourceVersion: "2", ...metadata, spec }];
    });
    return [...untouched, ...written];
  };
  return {
    policies: after("MutatingAdmissionPolicy", policies),
    bindings: after("MutatingAdmissionPolicyBinding", bindings),
  };
}
