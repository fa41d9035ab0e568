import { parseDuration } from "../../../src/core/time";
import { isWrite } from "../server/journal";
import type { Obj } from "../server/objects";
import { expiryOf } from "./bindings";
import { conditionsIn, flowStatesOf } from "./conditions";
import { blockOf } from "./objects";
import { trialsOf } from "./leftovers";
import { type Entry, knownSinceMs, type Report, type Sight } from "./sight";

// Promise 13: when nothing changes, nothing is written.

/** The window of logs (docs/adr/0006), and until a log is read. */
const QUIET_MS = 17 * 60_000;

/** A binding that expired this long ago, and that nobody asks for, is told of again if it still exists (docs/remedies/binding-renewal.md). */
const EXPIRED_MS = 60 * 60_000;

/** Collects the writes since the last change of anything, and looks at them at the end. */
export function checkQuiet(sight: Sight, report: Report): () => void {
  const writes: { readonly atMs: number; readonly what: string }[] = [];
  const stalled = new Set<string>();
  let changedMs = 0;
  sight.onRequest(entry => {
    const { atMs, verb, resource, subresource, namespace, code } = entry;
    if (!isWrite(entry) || resource === "leases" || code >= 300) return;
    if (isNews(entry) || isFirstStall(entry, stalled)) changedMs = sight.clock.monotonicMs();
    writes.push({
      atMs,
      what: `${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`} ${namespace ?? ""}/${nameOf(entry)}`,
    });
  });
  let before = "";
  sight.clock.every(15_000, () => {
    const truths = sight.truths().map(({ uid, state, cause }) => `${uid} ${state} ${cause}`);
    // `due` has no answer for a Widget before its controller has first written the status.
    const fresh = sight.store.list("widgets").filter(({ status }) => status === undefined);
    const now = [...truths, ...expiries(sight), fresh.length].join();
    if (now !== before) changedMs = sight.clock.monotonicMs();
    before = now;
  });
  return () => {
    const sinceMs = Math.max(changedMs, sight.clock.monotonicMs() - knownSinceMs(sight)) + QUIET_MS;
    const late = writes.filter(({ atMs }) => atMs > sinceMs);
    const isCalm = sight.truths().every(({ state, cause }) => state === "works" && cause === "none");
    // A refused eviction is requested again until the trial ends (docs/remedies/token-lifetime.md).
    if (isCalm && trialsOf(sight).length === 0 && late.length > 0)
      report(13, `nothing changes, and it writes ${late.length} times, such as ${late.at(-1)!.what}`);
  };
}

/** Of an Event its reason. */
function nameOf({ name = "", after }: Entry): string {
  return (after?.["reason"] as string | undefined) ?? name;
}

/**
 * A renewal changes the world; what it may change is promise 5. So does time: the hour ends for which lost Leases count, or the kubelet has
 * certainly renewed a token that was older than its ServiceAccount, up to 49 minutes later (docs/remedies/token-restart.md).
 */
function isNews({ resource, before, after }: Entry): boolean {
  return resource.endsWith("rolebindings") || (passes(before) && !passes(after)) || heldBy(after) < heldBy(before);
}

/** A throttle ends by time, and so does the probation that follows. */
function heldBy(object: Obj | undefined): number {
  const states = flowStatesOf(object);
  return 2 * states.filter(one => one === "Throttled").length + states.filter(one => one === "Probation").length;
}

/** A wait has lasted for an hour. Once for each object and reason, so that a condition that changes for ever is found. */
function isFirstStall({ after }: Entry, known: Set<string>): boolean {
  const stalled = conditionsIn(after).find(({ type, status }) => type === "Stalled" && status === "True");
  return stalled !== undefined && known.size < known.add(`${after?.metadata.uid} ${stalled.reason}`).size;
}

/** Whether a condition tells of what time ends. */
function passes(object: Obj | undefined): boolean {
  return conditionsIn(object).some(
    ({ reason, message }) =>
      reason === "LeadershipLost" ||
      (reason === "Suspected" &&
        /is older than its ServiceAccount|before its ServiceAccount was recreated/.test(message)),
  );
}

/** A binding that has expired, or is about to, is news: the passage of time changed it. */
function expiries({ store, clock }: Sight): string[] {
  const nowMs = clock.now().getTime();
  return store.list("rolebindings").flatMap(binding => {
    const atMs = expiryOf(binding);
    if (atMs === undefined) return [];
    const lifeMs = 1_000 * Number(binding.metadata.annotations?.["controller-resilience.io/life-seconds"] ?? Infinity);
    const notices = store.list("controllerresiliences", binding.metadata.namespace).flatMap(object => {
      const block = blockOf(object, "bindingRenewal");
      const msOf = (field: "extendBy" | "renewBefore" | "warnBefore"): number => parseDuration(block[field] || "0s");
      // At most a third, and two thirds, of an extension (docs/remedies/binding-renewal.md).
      return [lifeMs, msOf("extendBy")].flatMap(extensionMs => [
        Math.min(msOf("renewBefore"), extensionMs / 3),
        Math.min(msOf("warnBefore"), (Math.max(extensionMs, lifeMs) * 2) / 3),
      ]);
    });
    return `${binding.metadata.uid} ${[0, -EXPIRED_MS, ...notices].map(beforeMs => nowMs < atMs - beforeMs).join()}`;
  });
}
