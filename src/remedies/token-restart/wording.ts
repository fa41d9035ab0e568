import { Cause } from "../../api/conditions";
import { formatDuration } from "../../core/time";
import { describeRecreator } from "../../core/views";
import type { Persistence } from "../../logs/persistence";
import { isBySandbox, type ObservedPod, type TokenCause } from "./observed";

// Phrases for messages and Events. Never log text.

const MINUTE_MS = 60_000;

/** Times are rounded down to these, and occasions above two are not counted: a message, and with it the status, changes with few log lines. */
const SPAN_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 360, 720].map(minutes => minutes * MINUTE_MS);

/** Evidence against one pod, such as `Pod web-1 got 401 responses on 3 or more occasions over 2m or more`. */
export function describeEvidence(pod: ObservedPod): string {
  const { view, logs, proof, recreation, sandboxes } = pod;
  if (isBySandbox(pod) && sandboxes !== undefined)
    return `Pod ${view.name}, CNI agent of node ${view.nodeName ?? "unknown"}, left a rejected credential there: pods cannot start or end, with 401 responses ${describeExtent(sandboxes)}`;
  const got401s = `got 401 responses ${describeExtent(logs)}`;
  const recreator = describeRecreator(recreation ?? {}, "recreates it");
  const older = `older than its ServiceAccount ${view.serviceAccountName}${recreator}`;
  if (proof === undefined) return `Pod ${view.name}${recreator === "" ? "" : `, ${older},`} ${got401s}`;
  const isKey = proof.cause === Cause.SigningKeyRotated;
  const known = isKey ? "got its token before the signing key was replaced" : `is ${older}`;
  const invalid = `Pod ${view.name} ${known}, so its token is invalid`;
  return logs.occasions === 0 ? invalid : `${invalid}, and ${got401s}`;
}

/** A pod whose token may have become invalid, such as `Pod web-1 is older than its ServiceAccount web, so its token is invalid`. */
export function describeDoubt(pod: ObservedPod): string {
  if (pod.proof !== undefined) return describeEvidence(pod);
  const change = pod.recreation === undefined ? "the signing key was replaced" : "its ServiceAccount was recreated";
  return `Pod ${pod.view.name} may still have a token from before ${change}`;
}

function describeExtent({ occasions, firstMs = 0, lastMs = 0 }: Persistence): string {
  const span = SPAN_STEPS.findLast(step => step <= lastMs - firstMs);
  const times = occasions < 3 ? "on one or two occasions" : "on 3 or more occasions";
  return span === undefined ? times : `${times} over ${formatDuration(span)} or more`;
}

/** Causes within a sentence. */
export const CAUSES: Readonly<Record<TokenCause, string>> = {
  [Cause.ServiceAccountRecreated]: "the ServiceAccount was recreated",
  [Cause.ServiceAccountMissing]: "the ServiceAccount is missing",
  [Cause.SigningKeyRotated]: "the signing key was replaced",
  [Cause.CniCredentialRejected]: "the agent's next pod writes a new credential",
  [Cause.Unknown]: "cause unknown",
};
