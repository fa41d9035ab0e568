import type { CoreV1Event, EventsV1Event } from "@kubernetes/client-node";
import { arrayOf, numberOf, objectOf, textOf, timeOf } from "../../core/json";
import type { SandboxEventView } from "../../core/views";
import type { Received } from "./received";

// Recognizes pod sandboxes that failed because the API server rejected a network plugin's credential with 401. Only this file reads the
// message of the Event, and no code keeps it.

/** Longest part that is read; kubelet messages are far shorter. */
const MAX_MESSAGE = 16_384;

/** The network setup failed, and not the image, the runtime, a volume or a timeout. */
const NETWORK =
  /failed to set ?up network for sandbox|error adding pod \S+ to CNI network|networkPlugin cni failed to set ?up pod|plugin type="[^"]*"(?: name="[^"]*")? failed \(add\)/;

/**
 * The API server's 401 at the end of a chain of errors: only this word, without an explanation. Hence `Unauthorized: no basic auth
 * credentials`, `unexpected status: 401 Unauthorized` and `connection is unauthorized: ... is forbidden` do not match.
 */
const REJECTED =
  /: (?:Unauthorized|the server has asked for the client to provide credentials(?: \([^()]{0,200}\))?)[.'"\])]*(?=\s*$|,|;|\s*\n)/;

/** URL of another server, which then sent the 401. */
const ELSEWHERE = /https?:\/\/(?![^\s"'/]+\/(?:api\/v1|apis)(?:[/?"'\s:]|$))[^\s"']+/;

/** Reports whether the message of a FailedCreatePodSandBox Event says that the API server rejected a network plugin's credential. */
export function isRejectedCredential(message: string): boolean {
  const text = message.slice(0, MAX_MESSAGE);
  const network = NETWORK.exec(text);
  if (network === null) return false;
  const chain = text.slice(network.index);
  return REJECTED.test(chain) && !ELSEWHERE.test(chain);
}

/** An Event of either API: the older one reads Events of the newer one, and the other way round. */
type Event = Received<CoreV1Event & EventsV1Event>;

/** The kubelet's reason for a pod sandbox that failed. */
export const SANDBOX_FAILED = "FailedCreatePodSandBox";

/**
 * Returns the view of an Event of the core API or events.k8s.io; null without uid, name, node or time of its creation, or with another reason. The
 * view has a classification of the message instead of its text.
 */
export function sandboxEventView(raw: unknown): SandboxEventView | null {
  const event = objectOf(raw) as Event;
  if (event.reason !== SANDBOX_FAILED) return null;
  const identity = identityOf(event);
  const node = nodeOf(event);
  const storedMs = storedTimeOf(event);
  if (identity === undefined || node === undefined || storedMs === undefined) return null;
  return { ...identity, node, storedMs, count: countOf(event), unauthorized: isRejectedCredential(messageOf(event)) };
}

// Many clients can create Events, not only the kubelet. A value of another type must neither throw nor count, so types are checked.

function identityOf({ metadata }: Event): Pick<SandboxEventView, "namespace" | "name" | "uid"> | undefined {
  const [name, uid] = [textOf(metadata?.name), textOf(metadata?.uid)];
  if (name === undefined || uid === undefined) return undefined;
  return { namespace: metadata?.namespace ?? "", name, uid };
}

function messageOf({ message, note }: Event): string {
  return textOf(message) ?? textOf(note) ?? "";
}

/** The kubelet's recorder sets the host. Reporters of the newer API set their instance, which is the node for a kubelet. */
function nodeOf({ source, deprecatedSource, reportingInstance }: Event): string | undefined {
  const names = [source?.host, deprecatedSource?.host, reportingInstance];
  return names.map(textOf).find(name => name !== undefined && name !== "");
}

/** The API server notes when it creates an object, and when a client last changed a field. */
function storedTimeOf({ metadata }: Event): number | undefined {
  const managers = arrayOf(metadata?.managedFields).map(entry => timeOf(objectOf(entry)["time"]));
  const times = [timeOf(metadata?.creationTimestamp), ...managers].filter(ms => ms !== undefined);
  return times.length === 0 ? undefined : Math.max(...times);
}

function countOf({ series, count, deprecatedCount }: Event): number {
  return Math.max(1, ...[series?.count, count, deprecatedCount].map(value => numberOf(value) ?? 1));
}
