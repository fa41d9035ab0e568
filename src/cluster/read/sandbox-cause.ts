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
