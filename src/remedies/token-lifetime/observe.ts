import { Cause } from "../../api/conditions";
import type { ControllerResilience, DaemonSetStatus } from "../../api/controller-resilience";
import { FINALIZER } from "../../api/names";
import { keyOf } from "../../core/key";
import type { Readers } from "../../core/readers";
import type { PodLogReview, PodLogState } from "../../logs/pod-log-review";
import { isOpen } from "../../core/restarts/budget";
import { describeTarget, readTarget } from "../kit/targets";
import type { DaemonSetView, PodView, ServiceAccountView } from "../../core/views";
import { isReleasable, readLeftovers, readPairs } from "./admission";
import {
  isBounded,
  livingOf,
  planOf,
  type AdmissionFacts,
  type DaemonSetFacts,
  type Spec,
  type TokenLifetimeFacts,
} from "./facts";
import { isWatched } from "./watch";

/** DaemonSets that are gone and that status remembers, so that one that comes back is known. */
const MAX_KEPT = 32;

/** A DaemonSet before its logs are read. */
interface Gathered {
  readonly view: DaemonSetView;
  readonly account: ServiceAccountView | null;
  readonly record?: DaemonSetStatus;
  readonly pods: readonly PodView[];
}

/**
 * Everything that a decision needs: the DaemonSets with their templates and pods, and what the logs say where a change is planned or was
 * made and could be taken back.
 *
 * @throws whatever a reader throws
 */
export async function observeDaemonSets(
  object: ControllerResilience,
  spec: Spec,
  from: Readers,
  logs: PodLogReview,
): Promise<TokenLifetimeFacts> {
  const { daemonSets: records = [], restarts = [] } = object.status ?? {};
  const found = await findDaemonSets(object, from);
  const gathered: Gathered[] = [];
  for (const view of found.views) gathered.push(await gather(view, records, from));
  const nowMs = from.clock.now().getTime();
  // Without a way back nobody has to know what the logs say.
  const suspects = spec.revertOnUnauthorized
    ? gathered.filter(one => isWatched(one.record, spec, nowMs) || isUnderWay(one, spec))
    : [];
  const reviewed = await logs.review(
    keyOf(object),
    suspects.flatMap(({ pods }) => pods),
    from,
  );
  const names = new Set(found.views.map(view => view.name));
  return {
    mode: object.spec.mode,
    generation: object.metadata.generation,
    daemonSets: gathered.map(one => factsOf(one, reviewed.states)),
    missingTargets: found.missing,
    staleTokens: gathered.some(one => isUnderWay(one, spec)) ? await from.staleTokens() : null,
    nextReadInMs: reviewed.nextReadInMs,
    kept: records.filter(record => !names.has(record.name)).slice(0, MAX_KEPT),
    owner: { metadata: object.metadata },
    admission: await admissionFacts(object, spec, from),
    restarts: restarts.filter(({ cause }) => cause === Cause.TokenTooLong),
    otherRestarts: restarts.filter(entry => entry.cause !== Cause.TokenTooLong && isOpen(entry)),
  };
}

async function findDaemonSets(
  object: ControllerResilience,
  from: Readers,
): Promise<{ views: readonly DaemonSetView[]; missing: string[] }> {
  const { namespace } = object.metadata;
  const views = new Map<string, DaemonSetView>();
  const missing: string[] = [];
  for (const [index, target] of object.spec.targets.entries()) {
    if (target.kind !== "DaemonSet") continue;
    const workloads = await readTarget(target, namespace, from);
    for (const { name } of workloads) {
      const view = views.has(name) ? null : await from.daemonSet(namespace, name);
      if (view !== null) views.set(name, view);
    }
    if (workloads.length === 0) missing.push(describeTarget(target, index));
  }
  return { views: [...views.values()], missing };
}

async function gather(view: DaemonSetView, records: readonly DaemonSetStatus[], from: Readers): Promise<Gathered> {
  const account = await from.serviceAccount(view.namespace, view.serviceAccountName);
  const pods = (await from.pods(view.namespace)).filter(({ owner }) => owner?.uid === view.uid);
  const record = recordOf(view, records);
  return { view, account, pods, ...(record === undefined ? {} : { record }) };
}

/** Of one that had its name before, only that its template does harm: with the same template it is no other. */
function recordOf({ name, uid }: DaemonSetView, records: readonly DaemonSetStatus[]): DaemonSetStatus | undefined {
  const record = records.find(one => one.name === name);
  if (record?.uid === undefined || record.uid === uid) return record;
  const { outcome, fingerprint } = record;
  return outcome === "Reverted" && fingerprint !== undefined ? { name, outcome, fingerprint } : undefined;
}

/** Where no policy was ever made for this object, the finalizer is not on it and nobody has to look. */
async function admissionFacts(object: ControllerResilience, spec: Spec, from: Readers): Promise<AdmissionFacts | null> {
  if (spec.via === "Admission") return readPairs(from);
  const isHeld = object.metadata.finalizers?.includes(FINALIZER) ?? false;
  return isHeld ? readLeftovers(object, from) : { policies: [], bindings: [] };
}

/** It is to be changed; or, where its template stays as it is, some of its pods are. */
function isUnderWay(one: Gathered, spec: Spec): boolean {
  const own = factsOf(one, new Map());
  const isChange = planOf(own, spec).kind === "Change";
  if (spec.via === "Template") return isChange;
  const isLong = livingOf(own).some(({ pod }) => !isBounded(pod, spec));
  return isReleasable(own) || (isChange && (one.record?.policy === undefined || isLong));
}

function factsOf(one: Gathered, states: ReadonlyMap<string, PodLogState>): DaemonSetFacts {
  const { view, account, record } = one;
  return {
    view,
    ...(account?.automount === undefined ? {} : { automount: account.automount }),
    lacksAccount: account === null || account.deletedAtMs !== undefined,
    ...(record === undefined ? {} : { record }),
    pods: one.pods.map(pod => ({
      pod,
      verdict: states.get(pod.uid) ?? "unread",
      isOlderThanAccount: account !== null && pod.createdAtMs < account.createdAtMs,
    })),
  };
}
