import type { Readers } from "../../core/readers";
import { serviceAccountUser } from "../../core/text";
import type { SubjectView } from "../../core/views";
import type { Problem } from "../../core/errors";
import { unlessUnreadable } from "../kit/problems";
import type { PodBeforeLogs, WorkloadBeforeLogs } from "./pod-logs";

// An invalid token does no harm to a pod that never uses it, such as a web server with the ServiceAccount `default`. Rights of its
// own ServiceAccount show that a pod uses the API server.

interface Reading {
  readonly readers: Pick<Readers, "bindings">;
  readonly namespace: string;
  /** Failed reads are added here. */
  readonly problems: Problem[];
}

/**
 * Weakens proofs that are sufficient alone where no binding names the ServiceAccount of the pod: a 401 must then confirm them. Bindings are
 * read only if there is such a proof. `workloads` are of one namespace.
 *
 * @throws errors that are neither ForbiddenError nor TransientError
 */
export async function requireApiUse(
  workloads: readonly WorkloadBeforeLogs[],
  reading: Reading,
): Promise<WorkloadBeforeLogs[]> {
  const pods = workloads.flatMap(workload => workload.pods).filter(({ proof }) => proof?.alone === true);
  const accounts = await unboundAccounts(
    pods.map(({ view }) => view.serviceAccountName),
    reading,
  );
  const required = (pod: PodBeforeLogs): PodBeforeLogs => {
    const isUnseen = pod.proof?.alone === true && accounts.has(pod.view.serviceAccountName);
    return isUnseen ? { ...pod, proof: { ...pod.proof, alone: false } } : pod;
  };
  return workloads.map(workload => ({ ...workload, pods: workload.pods.map(required) }));
}

/** Those of the ServiceAccounts that no binding is known to name. */
async function unboundAccounts(
  names: readonly string[],
  { readers, namespace, problems }: Reading,
): Promise<ReadonlySet<string>> {
  let accounts = new Set(names);
  for (const kind of ["RoleBinding", "ClusterRoleBinding"] as const) {
    if (accounts.size === 0) break;
    const bindings = await unlessUnreadable(() => readers.bindings(kind, namespace), problems);
    // Groups do not count: Kubernetes itself gives every ServiceAccount some rights.
    const bound = new Set((bindings ?? []).flatMap(({ subjects }) => subjects.map(one => accountOf(one, namespace))));
    accounts = new Set([...accounts].filter(name => !bound.has(name)));
  }
  return accounts;
}

/** A ServiceAccount subject without a namespace is in the namespace of its binding. */
function accountOf({ kind, name, namespace: own }: SubjectView, namespace: string): string | undefined {
  const prefix = serviceAccountUser(namespace, "");
  if (kind === "User" && name.startsWith(prefix)) return name.slice(prefix.length);
  return kind === "ServiceAccount" && (own ?? namespace) === namespace ? name : undefined;
}
