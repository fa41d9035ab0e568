import { ForbiddenError, TransientError } from "../../core/errors";
import type { Readers } from "../../core/readers";
import type { BindingKind, BindingView, PodView, SubjectView, WorkloadView } from "../../core/views";
import { serviceAccountUser } from "../../core/service-account-user";
import type { Problem } from "./observed";
import type { TokenProof } from "./token-proof";

// An invalid token does no harm to a pod that never uses it, such as a web server with the ServiceAccount `default`. Rights of its
// own ServiceAccount show that a pod uses the API server.

/** A pod whose age may be proof. */
interface Pod {
  readonly view: PodView;
  readonly proof: TokenProof | undefined;
}

interface Workload<P extends Pod> {
  readonly view: WorkloadView;
  readonly pods: readonly P[];
}

interface Reading {
  readonly readers: Pick<Readers, "bindings">;
  readonly namespace: string;
  /** Failed reads are added here. */
  readonly problems: Problem[];
}

type ServiceAccounts = ReadonlySet<string>;

/**
 * Weakens proofs that are sufficient alone where no binding names the ServiceAccount of the pod: a 401 must then confirm them. Bindings are
 * read only if there is such a proof. `workloads` are of one namespace.
 *
 * @throws errors that are neither ForbiddenError nor TransientError
 */
export async function requireApiUse<P extends Pod>(
  workloads: readonly Workload<P>[],
  reading: Reading,
): Promise<Workload<P>[]> {
  const pods = workloads.flatMap(workload => workload.pods).filter(({ proof }) => proof?.alone === true);
  const unseen = await unboundAccounts(new Set(pods.map(({ view }) => view.serviceAccountName)), reading);
  const required = (pod: P): P => {
    const isUnseen = pod.proof?.alone === true && unseen.accounts.has(pod.view.serviceAccountName);
    return isUnseen ? { ...pod, proof: { ...pod.proof, alone: false, apiUse: unseen.apiUse } } : pod;
  };
  return workloads.map(workload => ({ ...workload, pods: workload.pods.map(required) }));
}

interface Unbound {
  readonly accounts: ServiceAccounts;
  /** Why they count as unbound. */
  readonly apiUse: NonNullable<TokenProof["apiUse"]>;
}

async function unboundAccounts(accounts: ServiceAccounts, reading: Reading): Promise<Unbound> {
  let left = accounts;
  let apiUse: Unbound["apiUse"] = "unseen";
  for (const kind of ["RoleBinding", "ClusterRoleBinding"] as const) {
    if (left.size === 0) break;
    const bindings = await bindingsOf(kind, reading);
    if (bindings === undefined) apiUse = "unknown";
    const bound = boundAccounts(bindings ?? [], reading.namespace);
    left = new Set([...left].filter(name => !bound.has(name)));
  }
  return { accounts: left, apiUse };
}

async function bindingsOf(kind: BindingKind, reading: Reading): Promise<readonly BindingView[] | undefined> {
  const { readers, namespace, problems } = reading;
  try {
    return await readers.bindings(kind, namespace);
  } catch (error) {
    if (!(error instanceof ForbiddenError || error instanceof TransientError)) throw error;
    problems.push({ forbidden: error instanceof ForbiddenError, message: error.message });
    return undefined;
  }
}

/** ServiceAccounts of the namespace that a binding names. Groups do not count: Kubernetes itself gives every ServiceAccount some rights. */
function boundAccounts(bindings: readonly BindingView[], namespace: string): ServiceAccounts {
  return new Set(bindings.flatMap(({ subjects }) => subjects.flatMap(subject => accountOf(subject, namespace) ?? [])));
}

/** A ServiceAccount subject without a namespace is in the namespace of its binding. */
function accountOf({ kind, name, namespace: own }: SubjectView, namespace: string): string | undefined {
  const prefix = serviceAccountUser(namespace, "");
  if (kind === "User" && name.startsWith(prefix)) return name.slice(prefix.length);
  return kind === "ServiceAccount" && (own ?? namespace) === namespace ? name : undefined;
}
