import { capitalize } from "../../../../core/mode";
import type { PodView } from "../../../../core/views";
import type { Finding } from "../finding";

/** What to do, with its command. */
export type WayOut = Pick<Finding, "wayOut" | "command">;

/** What to do about a pod whose token is not valid, in the same words for every check. @param condition when to do it, such as `If it is late,` */
export function restartPod(pod: PodView, condition?: string): WayOut {
  const restart = "restart the pod, or let tokenRestart do it:";
  return { wayOut: capitalize([condition, restart].filter(Boolean).join(" ")), command: commandFor(pod) };
}

/** What to do about a pod whose ServiceAccount does not exist: tokenRestart cannot help before that is mended. */
export function createAccount(pod: PodView): WayOut {
  return { wayOut: "Create the ServiceAccount, then restart the pod:", command: commandFor(pod) };
}

function commandFor({ namespace, name }: PodView): string {
  return `kubectl delete pod ${name} -n ${namespace}`;
}
