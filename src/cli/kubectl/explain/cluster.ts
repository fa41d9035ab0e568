import type { ClusterControllerResilience } from "../../../api/cluster-controller-resilience";
import { ConditionType } from "../../../api/conditions";
import type { ControllerResilience } from "../../../api/controller-resilience";
import { CLUSTER_KIND, GENERATED_FOR_LABEL } from "../../../api/names";
import { count } from "../../../core/text";
import { commandFor } from "../change/change";
import type { EventFacts } from "../reader";
import { safeText } from "../terminal";
import { momentsOf } from "./evidence";
import { explainConditions, type ObjectExplanation } from "./explain";
import type { Action } from "./next";

/** Most generated objects and Events that are shown. */
const SHOWN = 10;
const MOMENTS_SHOWN = 5;

/**
 * Explains a ClusterControllerResilience by its status, and by those of all ControllerResiliences that are generated for it. Pure.
 */
export function explainCluster(
  object: ClusterControllerResilience,
  objects: readonly ControllerResilience[],
  events: readonly EventFacts[],
): ObjectExplanation {
  const { metadata, spec, status } = object;
  const { name } = metadata;
  const notReady = objects.filter(one => one.metadata.labels?.[GENERATED_FOR_LABEL] === name && !isReady(one));
  const left = notReady.length - SHOWN;
  return {
    ...{ kind: CLUSTER_KIND, name, mode: spec.mode, suspended: spec.suspend },
    conditions: explainConditions(object),
    evidence: [
      ...evidenceOf(object),
      ...(status?.conflicts ?? []).map(({ namespace, reason, message }) =>
        safeText(`conflict in ${namespace}: ${reason}: ${message}`),
      ),
      ...notReady.slice(0, SHOWN).map(describe),
      ...(left > 0 ? [`${count(left, "more object")} of it not Ready: kubectl get cres -A`] : []),
    ],
    actions: actionsOf(object, notReady),
    timeline: momentsOf(events.filter(event => event.kind === CLUSTER_KIND && event.uids.includes(metadata.uid))).slice(
      -MOMENTS_SHOWN,
    ),
  };
}

function readyOf({ status }: ControllerResilience) {
  return status?.conditions?.find(({ type }) => type === ConditionType.Ready);
}

function isReady(object: ControllerResilience): boolean {
  return readyOf(object)?.status === "True";
}

function describe(object: ControllerResilience): string {
  const { namespace, name } = object.metadata;
  const ready = readyOf(object);
  const why = ready === undefined ? "the operator has reported nothing yet" : `${ready.reason}: ${ready.message}`;
  return safeText(`not Ready: ${namespace}/${name}: ${why}`);
}

function evidenceOf({ status }: ClusterControllerResilience): string[] {
  // Before the operator has looked there are no conditions.
  if (status?.conditions === undefined) return [];
  const { namespaces = 0, workloads = 0, protected: covered = 0, objects = 0, excluded = [] } = status;
  const reasons = excluded.map(({ reason, count }) => `${count} ${reason}`).join(", ");
  return [
    `it selects ${count(workloads, "workload")} in ${count(namespaces, "namespace")}; ${covered} of them protected, by ${count(objects, "generated object")} and by hand-written ones`,
    ...(status.enforced === undefined ? [] : [`the operator acts in ${count(status.enforced, "namespace")}`]),
    ...(reasons === "" ? [] : [`in no generated object: ${reasons}`]),
  ];
}

function actionsOf(
  { metadata, spec, status }: ClusterControllerResilience,
  [first]: readonly ControllerResilience[],
): Action[] {
  const conditions = status?.conditions ?? [];
  const isStalled = conditions.some(({ type, status: value }) => type === ConditionType.Stalled && value === "True");
  const explain = (one: ControllerResilience): Action => ({
    text: "ask each object that is not Ready:",
    command: commandFor(`explain ${one.metadata.name}`, one.metadata.namespace),
  });
  return [
    ...(spec.suspend ? [{ text: "resume it:", command: commandFor(`resume ccres/${metadata.name}`) }] : []),
    ...(isStalled ? [{ text: "act: the message of Stalled says how" }] : []),
    ...(first === undefined ? [] : [explain(first)]),
    ...(conditions.length === 0 ? [{ text: "check that the operator runs: it has reported nothing yet" }] : []),
  ];
}
