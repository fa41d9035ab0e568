import type { ClusterControllerResilience } from "../../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../../api/controller-resilience";
import { CLUSTER_KIND, KIND, PROTECT_LABEL } from "../../../api/names";
import { apiVersionOf, KINDS } from "../../../core/kinds";
import { objectOf } from "../../../core/json";
import { workload as workloadOf } from "../../../core/testing/views";
import type { NamespaceView } from "../../../core/views";
import type { Candidate, Facts } from "../facts";
import type { NamespacePlan } from "../plan";

/** The operator's namespace in these tests. */
export const OPERATOR_NAMESPACE = "operator";

const CREATED = "2026-01-01T00:00:00Z";

/** What says whether a namespace or workload is protected. */
interface Wish {
  readonly protect?: boolean | undefined;
}

const annotationsFor = ({ protect }: Wish) => (protect === undefined ? {} : { [PROTECT_LABEL]: String(protect) });

export function namespaceFacts(name: string, { protect, ...more }: Partial<NamespaceView> & Wish = {}): NamespaceView {
  const labels = { "kubernetes.io/metadata.name": name };
  return {
    namespace: "",
    name,
    uid: `uid-${name}`,
    labels,
    annotations: annotationsFor({ protect }),
    skip: false,
    ...more,
  };
}

/** @param workload as `Deployment/web`; it uses the API */
export function candidate(workload: string, { protect, ...more }: Partial<Candidate> & Wish = {}): Candidate {
  const [kind, name = ""] = workload.split("/");
  const identity = {
    kind: kind as Candidate["kind"],
    namespace: "web",
    name,
    annotations: annotationsFor({ protect }),
  };
  return { ...workloadOf({ ...identity, labels: {} }), mountsToken: true, usesApi: true, ...more };
}

export function clusterObject(
  name: string,
  spec: Partial<ClusterControllerResilience["spec"]> = {},
  creationTimestamp = CREATED,
): ClusterControllerResilience {
  return {
    apiVersion: apiVersionOf(KINDS[CLUSTER_KIND]),
    kind: CLUSTER_KIND,
    metadata: { name, uid: `uid-${name}`, resourceVersion: "1", generation: 1, creationTimestamp },
    spec: {
      mode: "Observe",
      suspend: false,
      namespaceSelector: {},
      excludeNamespaces: [],
      workloads: { kinds: ["Deployment", "StatefulSet", "DaemonSet"], selector: {} },
      template: { tokenRestart: { evidence: ["Logs", "ServiceAccountAge"] } as never },
      ...spec,
    },
  };
}

export function handWritten(
  name: string,
  targets: ControllerResilience["spec"]["targets"],
  spec: Partial<ControllerResilience["spec"]> = {},
): ControllerResilience {
  const metadata = {
    ...{ namespace: "web", name, uid: `uid-of-${name}`, resourceVersion: "1", generation: 1 },
    creationTimestamp: CREATED,
  };
  return {
    ...{ apiVersion: apiVersionOf(KINDS[KIND]), kind: KIND, metadata },
    spec: { mode: "Enforce", suspend: false, targets, ...spec },
  };
}

/** The object while a finalizer, of the operator or of another program, holds it. */
export function beingDeleted(object: ControllerResilience): ControllerResilience {
  return { ...object, metadata: { ...object.metadata, deletionTimestamp: CREATED, finalizers: ["a/b"] } };
}

export function facts(more: Partial<Facts> = {}): Facts {
  return {
    namespace: namespaceFacts("web"),
    candidates: [candidate("Deployment/web")],
    objects: [],
    clusterObjects: [clusterObject("all")],
    ownNamespace: OPERATOR_NAMESPACE,
    ...more,
  };
}

let writes = 0;

/** Returns the namespace's objects after the writes of a plan, as the API server would have them. */
export function carryOut(
  objects: readonly ControllerResilience[],
  { writes: planned }: NamespacePlan,
): ControllerResilience[] {
  let after = [...objects];
  for (const { intent } of planned) {
    const { target, body } = intent;
    const found = after.find(({ metadata }) => metadata.name === target.name);
    if (found !== undefined && found.metadata.resourceVersion !== target.resourceVersion) throw new Error("conflict");
    if (intent.verb === "delete") after = after.filter(object => object !== found);
    else if (found === undefined) after.push(created(target.namespace ?? "", target.name, body ?? {}));
    else
      after[after.indexOf(found)] = merged(found, {
        ...body,
        metadata: { ...objectOf(objectOf(body)["metadata"]), resourceVersion: String(++writes) },
      });
  }
  return after;
}

function created(namespace: string, name: string, body: object): ControllerResilience {
  const identity = { namespace, name, uid: `uid-${String(++writes)}`, resourceVersion: String(writes), generation: 1 };
  const metadata = { ...objectOf(objectOf(body)["metadata"]), ...identity, creationTimestamp: CREATED };
  return { apiVersion: apiVersionOf(KINDS[KIND]), kind: KIND, ...body, metadata } as unknown as ControllerResilience;
}

/** JSON merge patch, RFC 7396. */
export function merged<T>(value: T, patch: unknown): T {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch as T;
  const result: Record<string, unknown> = { ...objectOf(value) };
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) Reflect.deleteProperty(result, key);
    else result[key] = merged(result[key], change);
  }
  return result as T;
}
