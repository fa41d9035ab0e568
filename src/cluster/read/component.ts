import type { V1PodSpec } from "@kubernetes/client-node";
import type { WorkloadView } from "../../core/views";
import { itemsOf, type Received } from "./received";

const CRITICAL = /^system-(node|cluster)-critical$/;

/** Such as /etc/cni/net.d and /opt/cni/bin; distributions use other folders, but keep the word. */
export const CNI_PATH = wordOf("cni");

const CSI = wordOf("csi");

/** A part of a name; a descheduler is none. */
const SCHEDULER = wordOf("scheduler");

/** Returns which part of the cluster a workload is, by its pod template and its names; undefined for any other workload. */
export function componentOf(name: string, spec: Spec): WorkloadView["component"] {
  if (CRITICAL.test(spec?.priorityClassName ?? "")) return "PriorityClass";
  const paths = pathsOf(spec);
  if (paths.some(path => CNI_PATH.test(path))) return "CNI";
  const images = imagesOf(spec);
  if ([...paths, ...images].some(text => CSI.test(text))) return "CSI";
  const names = [name, spec?.serviceAccountName ?? "", ...images];
  return names.some(text => SCHEDULER.test(text)) ? "Scheduler" : undefined;
}

type Spec = Received<V1PodSpec> | null | undefined;

function pathsOf(spec: Spec): string[] {
  return itemsOf(spec?.volumes).map(({ hostPath }) => hostPath?.path ?? "");
}

function imagesOf(spec: Spec): string[] {
  return itemsOf(spec?.containers).map(({ image }) => repositoryOf(image ?? ""));
}

/** The last part of an image's name, without tag and digest. */
function repositoryOf(image: string): string {
  return /[^/]*$/.exec(image.replace(/@.*$/, ""))?.[0].replace(/:.*$/, "") ?? "";
}

function wordOf(word: string): RegExp {
  return new RegExp(`(^|[/._-])${word}([/._-]|$)`, "i");
}
