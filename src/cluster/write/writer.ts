import { MANAGER } from "../../api/names";
import type { Intent, ObjectRef } from "../../core/intent";
import type { Writer } from "../../core/ports";
import { TransientError, UnavailableError, WaitError } from "../../core/errors";
import type { Api, ApiRequest } from "../http/api";
import { objectOf } from "../../core/json";
import { callOf, resourceOf } from "../http/resources";
import { present } from "../read/received";

/** Wait after a blocked eviction without Retry-After: the disruption controller updates the budget within seconds. */
const BLOCKED_WAIT_MS = 10_000;

/**
 * The API server's wording (pkg/registry/core/pod/storage/eviction.go) for a 500 that is a refusal: it never evicts a pod that several
 * PodDisruptionBudgets select.
 */
const SEVERAL_BUDGETS = "more than one PodDisruptionBudget";

/** Wait before the next eviction of such a pod, in milliseconds. */
const SEVERAL_BUDGETS_WAIT_MS = 60_000;

/** Rejects a field that the schema does not have, instead of dropping it. */
export const STRICT = { fieldManager: MANAGER, fieldValidation: "Strict" } as const;

/** Writes intents with their uid and resourceVersion as preconditions. */
export function apiWriter(api: Api): Writer {
  return {
    write: intent => (intent.verb === "evict" ? evict(api, intent.target) : api.json(requestOf(intent, intent.verb))),
  };
}

/** Uses only the Eviction API, and never deletes a pod that a PodDisruptionBudget protects. */
async function evict(api: Api, pod: ObjectRef): Promise<void> {
  const { namespace, name } = pod;
  const call = callOf("create", resourceOf(pod), { namespace, name, subresource: "eviction" });
  const body = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { namespace, name },
    deleteOptions: { preconditions: preconditionsOf(pod) },
  };
  try {
    await api.json({ ...call, query: STRICT, body });
  } catch (error) {
    throw evictionError(error, call.what);
  }
}

function evictionError(error: unknown, what: string): unknown {
  if (error instanceof TransientError && error.message.includes(SEVERAL_BUDGETS)) {
    const message = `${what}: several PodDisruptionBudgets select this pod, so Kubernetes never evicts it`;
    return new WaitError(message, SEVERAL_BUDGETS_WAIT_MS, { cause: error });
  }
  if (error instanceof UnavailableError || !(error instanceof WaitError)) return error;
  return error.afterMs < BLOCKED_WAIT_MS ? new WaitError(error.message, BLOCKED_WAIT_MS, { cause: error }) : error;
}

function requestOf(intent: Intent, verb: Exclude<Intent["verb"], "evict">): ApiRequest {
  const { target } = intent;
  const call = callOf(verb, resourceOf(target), { namespace: target.namespace, name: target.name });
  if (verb === "delete") return { ...call, body: { preconditions: preconditionsOf(target) } };
  const query = verb === "apply" ? { ...STRICT, force: true } : STRICT;
  return { ...call, query, body: verb === "patch" ? withPreconditions(intent) : bodyOf(intent) };
}

/** Adds the identity of the target to the intent's body. */
function bodyOf(intent: Intent): object {
  const { apiVersion, kind, namespace, name } = intent.target;
  const body = withPreconditions(intent);
  return { apiVersion, kind, ...body, metadata: { ...objectOf(objectOf(body)["metadata"]), namespace, name } };
}

/** The API server compares uid and resourceVersion with the object's; a difference is a 409 or 422. */
function withPreconditions(intent: Intent): object {
  const metadata = objectOf(objectOf(intent.body)["metadata"]);
  return { ...intent.body, metadata: { ...metadata, ...preconditionsOf(intent.target) } };
}

function preconditionsOf({ uid, resourceVersion }: ObjectRef): { uid?: string; resourceVersion?: string } {
  return present({ uid, resourceVersion });
}
