import { objectOf, parseObject } from "../../../src/core/json";
import { isReady, type Obj, Refusal, type Status } from "./objects";
import { matches } from "./selectors";
import type { Call, Served, World } from "./serve";
import type { Store } from "./store";
import { checkPreconditions, notFound } from "./validation";

// The Eviction API (kubernetes/kubernetes pkg/registry/core/pod/storage/eviction.go).

const VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget.";

/** create pods/eviction. @throws Refusal */
export function evict({ store }: World, call: Call): Served {
  const { ask, namespace, info } = call;
  const name = ask.name ?? "";
  const pod = store.get("pods", namespace, name);
  if (pod === undefined) throw notFound(info, name);
  const preconditions = objectOf(objectOf(parseObject(call.body ?? "")?.["deleteOptions"])["preconditions"]);
  // Before any budget is charged.
  checkPreconditions(info, pod, preconditions);
  if (!isFree(pod)) chargeBudget(store, pod);
  markEvicted(store, pod);
  store.delete("pods", namespace, name);
  const after = store.get("pods", namespace, name);
  return {
    code: 201,
    body: JSON.stringify({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 }),
    before: pod,
    after,
  };
}

/** The pod tells who ends it. */
function markEvicted(store: Store, { metadata: { namespace, name } }: Obj): void {
  const condition = {
    ...{ type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI", message: "Eviction API: evicting" },
    lastTransitionTime: store.time(),
  };
  store.as({ manager: "kube-apiserver", operation: "Apply" }, () =>
    store.update("pods", namespace, name, draft => {
      const { conditions = [], ...status } = draft.status ?? {};
      draft.status = { ...status, conditions: [...conditions.filter(one => one.type !== condition.type), condition] };
    }),
  );
}

/** Pods that no budget protects. */
function isFree({ metadata, status }: Obj): boolean {
  return metadata.deletionTimestamp !== undefined || ["Succeeded", "Failed", "Pending"].includes(status?.phase ?? "");
}

function chargeBudget(store: Store, pod: Obj): void {
  const { namespace, labels, name } = pod.metadata;
  const all = store.list("poddisruptionbudgets", namespace);
  const budgets = all.filter(({ spec }) => matches(spec?.selector, labels));
  if (budgets.length > 1)
    throw new Refusal(
      500,
      "",
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    );
  const [budget] = budgets;
  if (budget === undefined || isUnhealthyAllowed(budget, pod)) return;
  const { status = {} } = budget;
  refuseIfSpent(budget, status);
  store.as({ manager: "kube-apiserver", subresource: "status" }, () =>
    store.update("poddisruptionbudgets", namespace, budget.metadata.name, draft => {
      const disruptedPods = { ...status.disruptedPods, [name]: store.time() };
      draft.status = { ...status, disruptionsAllowed: (status.disruptionsAllowed ?? 0) - 1, disruptedPods };
    }),
  );
}

/** A pod that is not Ready takes nothing from a budget, if the policy or the others' health lets it go. */
function isUnhealthyAllowed({ spec, status }: Obj, pod: Obj): boolean {
  if (isReady(pod)) return false;
  if (spec?.["unhealthyPodEvictionPolicy"] === "AlwaysAllow") return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  return desiredHealthy > 0 && currentHealthy >= desiredHealthy;
}

function refuseIfSpent({ metadata }: Obj, status: Status): void {
  const { observedGeneration = 0, disruptionsAllowed = 0, desiredHealthy = 0, currentHealthy = 0 } = status;
  const budget = (message: string): { causes: { reason: string; message: string }[] } => ({
    causes: [{ reason: "DisruptionBudget", message }],
  });
  if (observedGeneration < (metadata.generation ?? 0)) {
    const why = `The disruption budget ${metadata.name} is still being processed by the server.`;
    throw new Refusal(429, "TooManyRequests", VIOLATES, { ...budget(why), retryAfterSeconds: 10 });
  }
  if (disruptionsAllowed > 0) return;
  const why = `The disruption budget ${metadata.name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  throw new Refusal(429, "TooManyRequests", VIOLATES, budget(why));
}
