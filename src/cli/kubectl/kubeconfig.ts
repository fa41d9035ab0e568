import { KubeConfig } from "@kubernetes/client-node";
import { TerminalError } from "../../core/errors";

/** kubectl's flags that choose the cluster and the identity. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly cluster?: string;
  readonly user?: string;
  readonly server?: string;
  readonly as?: string;
  readonly asGroup?: readonly string[];
}

/** Name of the context that the flags make. */
const CHOSEN = "kubectl-resilience";

/**
 * Loads the kubeconfig as kubectl does: the file of the flag, or the files of KUBECONFIG, or ~/.kube/config, or a pod's ServiceAccount.
 *
 * @throws TerminalError if a flag names something that the kubeconfig does not have
 */
export function loadChosen(flags: ClusterFlags): KubeConfig {
  if (flags.as === undefined && flags.asGroup !== undefined) throw new TerminalError("--as-group: expected --as too");
  const config = new KubeConfig();
  load(config, flags.kubeconfig);
  if (flags.context !== undefined) {
    expectOneOf("context", flags.context, config.contexts);
    config.setCurrentContext(flags.context);
  }
  return withOverrides(config, flags);
}

function load(config: KubeConfig, file: string | undefined): void {
  try {
    if (file === undefined) config.loadFromDefault();
    else config.loadFromFile(file);
  } catch (error) {
    // The text of a parser quotes the file, secrets included.
    const { code, path } = error as { code?: unknown; path?: unknown };
    const name = typeof path === "string" ? path : (file ?? "of KUBECONFIG");
    throw new TerminalError(
      typeof code === "string"
        ? `failed to read the kubeconfig ${name} (${code})`
        : `the kubeconfig ${name} is not valid`,
    );
  }
}

function withOverrides(config: KubeConfig, flags: ClusterFlags): KubeConfig {
  const { cluster, user, server, as } = flags;
  if ([cluster, user, server, as].every(flag => flag === undefined)) return config;
  if (cluster !== undefined) expectOneOf("cluster", cluster, config.clusters);
  if (user !== undefined) expectOneOf("user", user, config.users);
  const context = config.getContextObject(config.currentContext);
  const baseCluster = named(config.clusters, cluster ?? context?.cluster);
  const baseUser = named(config.users, user ?? context?.user);
  const chosen = new KubeConfig();
  chosen.loadFromOptions({
    clusters: [{ skipTLSVerify: false, server: "", ...baseCluster, ...(server && servedAt(server)), name: CHOSEN }],
    users: [{ ...baseUser, ...(as && { impersonateUser: as }), name: CHOSEN }],
    contexts: [{ ...context, name: CHOSEN, cluster: CHOSEN, user: CHOSEN }],
    currentContext: CHOSEN,
  });
  return chosen;
}

/** client-node refuses plain HTTP, which has no TLS to verify, unless verification is off. */
function servedAt(server: string): { server: string; skipTLSVerify?: true } {
  return { server, ...(server.startsWith("http:") && { skipTLSVerify: true }) };
}

function named<T extends { readonly name: string }>(found: readonly T[], name: string | undefined): T | undefined {
  return found.find(candidate => candidate.name === name);
}

function expectOneOf(what: string, name: string, found: readonly { readonly name: string }[]): void {
  if (found.some(candidate => candidate.name === name)) return;
  const names = found.map(candidate => candidate.name).join(", ");
  throw new TerminalError(`the kubeconfig has no ${what} "${name}"; expected one of: ${names || "none"}`);
}
