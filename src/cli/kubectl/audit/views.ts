import type {
  CoreV1Event,
  RbacV1Subject,
  V1FlowSchema,
  V1LabelSelector,
  V1ObjectMeta,
  V1PodDisruptionBudget,
} from "@kubernetes/client-node";
import type { LabelSelector } from "../../../api/controller-resilience";
import { daemonSetView, workloadView } from "../../../cluster/read/workload-views";
import { itemsOf, present, type Received } from "../../../cluster/read/received";
import { arrayOf, type JsonObject, numberOf, objectOf, textOf, textsOf, timeOf } from "../../../core/json";
import { serviceAccountUser } from "../../../core/text";
import type { WorkloadView } from "../../../core/views";
import type { BudgetFacts, FlowFacts, TokenFailure, WorkloadFacts } from "./facts";

// Facts that the operator does not read, from the JSON of the API server.

function metadataOf(raw: JsonObject): Received<V1ObjectMeta> {
  return objectOf(raw["metadata"]);
}

function placeOf(raw: JsonObject): { namespace: string; name: string } {
  const { namespace, name } = metadataOf(raw);
  return { namespace: namespace ?? "", name: name ?? "" };
}

export function workloadFacts(kind: WorkloadView["kind"], raw: JsonObject): WorkloadFacts | null {
  const view = workloadView(kind, raw);
  if (view === null) return null;
  const template = objectOf(objectOf(raw["spec"])["template"]);
  const podLabels = textsOf(objectOf(template["metadata"])["labels"]);
  const daemonSet = kind === "DaemonSet" ? daemonSetView(raw) : null;
  return { view, podLabels, ...(daemonSet && { daemonSet }) };
}

export function budgetFacts(raw: JsonObject): BudgetFacts {
  const { spec } = raw as Received<V1PodDisruptionBudget>;
  const selector = spec?.selector;
  return {
    ...placeOf(raw),
    selector: selector ? selectorOf(selector) : null,
    ...present({
      minAvailable: intOrPercent(spec?.minAvailable),
      maxUnavailable: intOrPercent(spec?.maxUnavailable),
    }),
  };
}

/** What the kubelet says if it gets no token for a new pod, or none for a pod whose token has expired. */
const NO_TOKEN = /failed to fetch token: | expired and refresh failed: /;

/** Returns null for an Event about anything else. */
export function tokenFailure(raw: JsonObject): TokenFailure | null {
  const event = raw as Received<CoreV1Event>;
  const { kind, namespace, name, uid } = objectOf(event.involvedObject) as Received<CoreV1Event>["involvedObject"] & {};
  const message = textOf(event.message) ?? "";
  const times = [
    event.lastTimestamp,
    event.series?.lastObservedTime,
    event.eventTime,
    event.metadata?.creationTimestamp,
  ];
  const lastMs = times.map(timeOf).find(ms => ms !== undefined);
  if (kind !== "Pod" || !namespace || !name || !uid || lastMs === undefined || !NO_TOKEN.test(message)) return null;
  return { namespace, pod: name, podUID: uid, lastMs, isDenied: /is forbidden|denied/.test(message) };
}

function intOrPercent(value: unknown): number | string | undefined {
  return numberOf(value) ?? textOf(value);
}

function selectorOf(selector: Received<V1LabelSelector> | null | undefined): LabelSelector {
  const matchExpressions = itemsOf(selector?.matchExpressions).map(({ key = "", operator, values }) => ({
    key: key ?? "",
    operator: operator as "In",
    values: [...(values ?? [])],
  }));
  return { matchLabels: textsOf(selector?.matchLabels), matchExpressions };
}

export function flowFacts(raw: JsonObject): FlowFacts {
  const { spec } = raw as Received<V1FlowSchema>;
  // Rules of URLs, such as those of probes, or of single resources, such as Leases, take few requests of a controller.
  const rules = itemsOf(spec?.rules).filter(({ resourceRules }) =>
    itemsOf(resourceRules).some(({ resources, verbs }) => [resources, verbs].every(all => arrayOf(all).includes("*"))),
  );
  const subjects = rules.flatMap(({ subjects }) => itemsOf(subjects)) as readonly FlowSubject[];
  return {
    name: placeOf(raw).name,
    precedence: spec?.matchingPrecedence ?? 1000,
    users: subjects.flatMap(({ user, serviceAccount }) => [
      ...(user?.name ? [user.name] : []),
      ...(serviceAccount?.name ? [serviceAccountUser(serviceAccount.namespace ?? "", serviceAccount.name)] : []),
    ]),
    groups: subjects.flatMap(({ group }) => (group?.name ? [group.name] : [])),
  };
}

type FlowSubject = Received<RbacV1Subject> & {
  readonly user?: { readonly name?: string };
  readonly group?: { readonly name?: string };
  readonly serviceAccount?: { readonly namespace?: string; readonly name?: string };
};
