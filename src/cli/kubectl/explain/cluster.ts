import { count } from "../../../core/text";
import type { ClusterControllerResilience } from "../../../api/cluster-controller-resilience";
import { ConditionType } from "../../../api/conditions";
import type { ControllerResilience } from "../../../api/controller-resilience";
import { CLUSTER_KIND, GENERATED_FOR_LABEL } from "../../../api/names";
import { commandFor } from "../change/change";
import { safeText } from "../terminal";
import type { OperatorState } from "../reader";
import type { Action } from "./next";
import { explainConditions } from "./explain";
import type { EventFacts, ExplainedCondition } from "./views";
import { formatActions, formatCondition, formatTimeline, describeOperator, type Look, section } from "./format";
import { type Moment, momentOf } from "./evidence";

/** Why a ClusterControllerResilience is in its state. */
export interface ClusterExplanation {
  readonly subject: string;
  readonly operator?: OperatorState;
  readonly mode: string;
  readonly suspended: boolean;
  readonly conditions: readonly ExplainedCondition[];
  readonly evidence: readonly string[];
  readonly conflicts: readonly string[];
  /** Generated objects that are not Ready. */
  readonly notReady: readonly { readonly namespace: string; readonly name: string; readonly why: string }[];
  readonly actions: readonly Action[];
  readonly timeline: readonly Moment[];
  readonly unread: readonly string[];
}

/** What was read for it. */
export interface ClusterFacts {
  readonly object: ClusterControllerResilience;
  /** All ControllerResiliences that could be read. */
  readonly objects: readonly ControllerResilience[];
  readonly events: readonly EventFacts[];
  readonly operator?: OperatorState;
  readonly unread: readonly string[];
}

/** Most objects and Events that are shown. */
const SHOWN = 10;
const MOMENTS_SHOWN = 5;

/** Explains a ClusterControllerResilience by its status and by the objects that are generated for it. Pure. */
export function explainCluster({ object, objects, events, operator, unread }: ClusterFacts): ClusterExplanation {
  const { metadata, spec, status } = object;
  const notReady = objects
    .filter(one => one.metadata.labels?.[GENERATED_FOR_LABEL] === metadata.name)
    .flatMap(one => {
      const ready = one.status?.conditions?.find(({ type }) => type === ConditionType.Ready);
      if (ready?.status === "True") return [];
      const why = ready === undefined ? "the operator has reported nothing yet" : `${ready.reason}: ${ready.message}`;
      return [{ namespace: one.metadata.namespace, name: one.metadata.name, why: safeText(why) }];
    });
  return {
    subject: `${CLUSTER_KIND} ${metadata.name}`,
    ...(operator === undefined ? {} : { operator }),
    mode: spec.mode,
    suspended: spec.suspend,
    conditions: explainConditions(object),
    evidence: evidenceOf(status),
    conflicts: (status?.conflicts ?? []).map(({ namespace, reason, message }) =>
      safeText(`${namespace}: ${reason}: ${message}`),
    ),
    notReady,
    actions: actionsOf(object, notReady),
    timeline: events
      .filter(({ kind, name }) => kind === CLUSTER_KIND && name === metadata.name)
      .slice(-MOMENTS_SHOWN)
      .map(momentOf),
    unread,
  };
}

function evidenceOf(status: ClusterControllerResilience["status"]): string[] {
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
  [first]: ClusterExplanation["notReady"],
): Action[] {
  const conditions = status?.conditions ?? [];
  const isStalled = conditions.some(({ type, status: value }) => type === ConditionType.Stalled && value === "True");
  return [
    ...(spec.suspend ? [{ text: "resume it:", command: commandFor(`resume ccres/${metadata.name}`) }] : []),
    ...(isStalled ? [{ text: "act: the message of Stalled says how" }] : []),
    ...(first === undefined
      ? []
      : [
          { text: "ask each object that is not Ready:", command: commandFor(`explain ${first.name}`, first.namespace) },
        ]),
    ...(conditions.length === 0 ? [{ text: "check that the operator runs: it has reported nothing yet" }] : []),
  ];
}

/** Formats it for a person, in lines of at most `columns`. Pure. */
export function formatClusterExplanation(explanation: ClusterExplanation, look: Look): string {
  const { subject, mode, suspended, operator, conditions, evidence, conflicts, notReady, unread } = explanation;
  const left = notReady.length - SHOWN;
  const lines = [
    `${look.paint("bold", subject)}  mode ${mode}${suspended ? ", suspended" : ""}`,
    ...(operator === undefined ? [] : describeOperator(operator, look)),
    ...section(
      "State",
      [],
      look,
      conditions.flatMap(condition => formatCondition(condition, look)),
    ),
    ...section("Evidence", evidence, look),
    ...section("Conflicts", conflicts, look),
    ...section(
      "Generated objects that are not Ready",
      [
        ...notReady.slice(0, SHOWN).map(({ namespace, name, why }) => `${namespace}/${name}: ${why}`),
        ...(left > 0 ? [`and ${left} more; see -o json`] : []),
      ],
      look,
    ),
    ...formatActions(explanation.actions, look),
    ...formatTimeline(explanation.timeline, look),
    ...section("Not readable, so unknown", unread, look),
  ];
  return `${lines.join("\n")}\n`;
}
