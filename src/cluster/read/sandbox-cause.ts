// Whether a pod's sandbox failed because the credential of a network plugin was answered 401 by the API server. The message is read
// here and nowhere else, and never kept.

/** No message of the kubelet is longer by far; what comes after is not looked at. */
const MAX_MESSAGE = 16_384;

/** Setting up the pod's network is what failed: not its image, its runtime, its volumes or a timeout. */
const NETWORK =
  /failed to set ?up network for sandbox|error adding pod \S+ to CNI network|networkPlugin cni failed to set ?up pod|plugin type="[^"]*"(?: name="[^"]*")? failed \(add\)/;

/**
 * The API server's 401 as the last link of a chain of errors. It says this one word and explains nothing, so `Unauthorized: no basic auth
 * credentials`, `unexpected status: 401 Unauthorized` and `connection is unauthorized: ... is forbidden` are others.
 */
const REJECTED =
  /: (?:Unauthorized|the server has asked for the client to provide credentials(?: \([^()]{0,200}\))?)[.'"\])]*(?=\s*$|,|;|\s*\n)/;

/** An address of a server that is not the API server: the 401 is that one's. */
const ELSEWHERE = /https?:\/\/(?![^\s"'/]+\/(?:api\/v1|apis)(?:[/?"'\s:]|$))[^\s"']+/;

/** True if the message of an Event `FailedCreatePodSandBox` says that the API server rejected a network plugin's credential. Pure and total. */
export function isRejectedCredential(message: string): boolean {
  const text = message.slice(0, MAX_MESSAGE);
  const network = NETWORK.exec(text);
  if (network === null) return false;
  const chain = text.slice(network.index);
  return REJECTED.test(chain) && !ELSEWHERE.test(chain);
}
