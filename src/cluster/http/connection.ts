import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps, type RequestOptions } from "node:https";
import { isIPv6 } from "node:net";
import { checkServerIdentity } from "node:tls";
import { isDeepStrictEqual } from "node:util";
import { KubeConfig } from "@kubernetes/client-node";
import type { Clock } from "../../core/time";
import { publicMessage, TerminalError, TransientError } from "../../core/errors";
import { oneLine } from "../../core/text";

/** Address, connections and credentials of the API server. */
export interface Access {
  readonly server: ServerAddress;
  readonly agent: Agent;
  /** For requests to one instance. It verifies the certificate even if the kubeconfig disables verification. */
  readonly instanceAgent: Agent;
  /** Authorization, and Impersonate-User if the kubeconfig sets it. */
  readonly headers: Readonly<Record<string, string>>;
  /** Headers by which the requests impersonate others besides. */
  readonly impersonation: Readonly<Record<string, string | string[]>>;
  /** `user:password` of a kubeconfig with basic credentials. */
  readonly auth?: string | undefined;
}

/** The address of the kubeconfig, taken apart once. */
export interface ServerAddress {
  readonly isPlain: boolean;
  readonly hostname: string;
  readonly port: number;
  /** Before every path; without a slash at the end. */
  readonly prefix: string;
}

/** One of the API servers of a cluster, at its own address. */
export interface Instance {
  /** An IP address, or a name. */
  readonly address: string;
  readonly port: number;
}

export interface WireRequest {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Receives the request instead of the kubeconfig's server. */
  readonly instance?: Instance | undefined;
  /** Opens a connection for this request. */
  readonly isFresh?: boolean | undefined;
}

/** The name that pods use: every API server's certificate contains it, whatever its address. */
const INSTANCE_NAME = "kubernetes.default.svc";

/** Credentials are read again after this time; client-node caches token files for up to 60 s more. */
const ACCESS_LIFE_MS = 30_000;

/** A credential plugin without a result is started again after this time. */
const HUNG_PLUGIN_MS = 600_000;

/** Least time between two reloads of rejected credentials. */
const RENEW_INTERVAL_MS = 5_000;

/** Idle sockets are closed after this time, before a load balancer drops them silently. */
const IDLE_SOCKET_MS = 30_000;

const MAX_IDLE_SOCKETS = 8;

/**
 * TCP keep-alive probes detect half-open connections where no timer runs, such as in a log stream. The agents have the same delay, since
 * they set theirs whenever a socket becomes idle: a change of the delay is a system call, the same delay is none.
 */
const TCP_KEEPALIVE_MS = 30_000;

/**
 * Loads the kubeconfig from the environment or from the pod's ServiceAccount.
 *
 * @param context wins over the current context, which a person may change at any time: an operator must not go over to another cluster
 */
export function loadKubeConfig(context?: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromDefault();
  if (context !== undefined) config.setCurrentContext(context);
  tellPlugin(config);
  return config;
}

export interface ClusterLocation {
  /** Address of the API server, without a password. */
  readonly server: string;
  /** The kubeconfig's context for it. */
  readonly context: string;
  /** Namespace of this process's pod, if the operator works on that pod's cluster. */
  readonly podNamespace?: string;
}

/**
 * Finds the cluster without a request to it.
 *
 * @throws TerminalError if there is no usable kubeconfig; the message quotes nothing of the file
 */
export function locateCluster(load = (): KubeConfig => loadKubeConfig()): ClusterLocation {
  let location: ClusterLocation | undefined;
  try {
    location = locationIn(load());
  } catch (error) {
    const code = (error as NodeJS.ErrnoException | null)?.code;
    throw new TerminalError(`failed to read the kubeconfig${code === undefined ? "" : ` (${code})`}: check KUBECONFIG`);
  }
  if (location !== undefined) return location;
  throw new TerminalError(
    "found no cluster; expected a kubeconfig (KUBECONFIG or ~/.kube/config) with a current context, or a pod",
  );
}

/** client-node invents this context, for http://localhost:8080, if it finds no kubeconfig. */
const NO_CONTEXT = "loaded-context";

/** client-node's context for a pod's ServiceAccount; its namespace is the pod's. */
export const POD_CONTEXT = "inClusterContext";

function locationIn(config: KubeConfig): ClusterLocation | undefined {
  const server = config.getCurrentCluster()?.server.replace(/\/\/[^/]*@/, "//");
  const { currentContext: context } = config;
  if (!server || context === NO_CONTEXT) return undefined;
  if (context !== POD_CONTEXT) return { server, context };
  const podNamespace = config.getContextObject(POD_CONTEXT)?.namespace?.trim();
  return { server, context, ...(podNamespace ? { podNamespace } : {}) };
}

/** How a request reaches the API server. */
export type Send = (access: Access, wire: WireRequest, signal: AbortSignal) => Promise<IncomingMessage>;

/** Credentials that are known, or being fetched. */
interface Credentials {
  readonly access: Promise<Access>;
  /** When the fetch began or, once it has ended, when it did. */
  readonly sinceMs: number;
  readonly isKnown: boolean;
}

/**
 * Connections and credentials for one API server. client-node's KubeConfig reads contexts, TLS settings, exec plugins and proxies.
 * This class keeps the agent, which client-node would create for each call, and reloads the kubeconfig after a 401.
 */
export class Connection {
  readonly #load: () => KubeConfig;
  readonly #clock: Clock;
  readonly #impersonation: Access["impersonation"];
  /** Sends a request and resolves with the response head; the caller reads the body. Rejects with a {@link WireError}. */
  readonly send: Send;
  #config: KubeConfig | null = null;
  #credentials: Credentials | null = null;
  #agents: Agents | null = null;
  #renewedAtMs = -Infinity;

  /** @param options.send HTTP or HTTPS over the network by default */
  constructor(
    load: () => KubeConfig,
    clock: Clock,
    options: { readonly impersonation?: Access["impersonation"]; readonly send?: Send | undefined } = {},
  ) {
    const { impersonation = {}, send = sendByNetwork } = options;
    this.#load = load;
    this.#clock = clock;
    this.#impersonation = impersonation;
    this.send = send;
  }

  /**
   * Returns the current credentials.
   *
   * @throws TerminalError for an unusable kubeconfig, TransientError if a credential plugin fails
   */
  access(): Promise<Access> {
    this.#credentials ??= this.#fetch();
    const { isKnown, sinceMs } = this.#credentials;
    // Credentials that are still being fetched are waited for: a plugin that hangs must not be started again and again.
    const lifeMs = isKnown ? ACCESS_LIFE_MS : HUNG_PLUGIN_MS;
    if (this.#clock.monotonicMs() - sinceMs >= lifeMs) this.#credentials = this.#fetch();
    return this.#credentials.access;
  }

  #fetch(): Credentials {
    const credentials = { access: this.#resolve(), sinceMs: this.#clock.monotonicMs(), isKnown: false };
    credentials.access.then(
      () => Object.assign(credentials, { isKnown: true, sinceMs: this.#clock.monotonicMs() }),
      () => {
        if (this.#credentials === credentials) this.#credentials = null;
      },
    );
    return credentials;
  }

  /** Takes a failure of a request: a certificate that is not trusted may be that of a kubeconfig that was replaced. */
  failed(error: unknown): void {
    const sinceMs = this.#clock.monotonicMs() - this.#renewedAtMs;
    if (error instanceof WireError && error.isCertificate && sinceMs >= RENEW_INTERVAL_MS) this.#forget();
  }

  #forget(): void {
    this.#renewedAtMs = this.#clock.monotonicMs();
    this.#config = null;
    this.#credentials = null;
  }

  /** Returns credentials other than the rejected ones, or null if a reload is not due yet. */
  async renew(rejected: Access): Promise<Access | null> {
    const sinceMs = this.#clock.monotonicMs() - this.#renewedAtMs;
    const isCurrent = (await this.access()) === rejected;
    if (isCurrent && sinceMs < RENEW_INTERVAL_MS) return null;
    if (isCurrent) this.#forget();
    return this.access();
  }

  /** Closes all sockets immediately. */
  close(): void {
    this.#agents?.agent.destroy();
    this.#agents?.instanceAgent.destroy();
    this.#agents = null;
    this.#credentials = null;
  }

  async #resolve(): Promise<Access> {
    const config = (this.#config ??= this.#loadConfig());
    const cluster = config.getCurrentCluster();
    if (cluster === null)
      throw new TerminalError("the kubeconfig: expected a current context with a cluster, got none");
    // Else client-node and Node.js ask NODE_TLS_REJECT_UNAUTHORIZED, which is no word of the kubeconfig.
    const options: RequestOptions = { headers: {}, timeout: IDLE_SOCKET_MS, rejectUnauthorized: true };
    try {
      await config.applyToHTTPSOptions(options);
    } catch (error) {
      if (cluster.server.startsWith("http:") && !cluster.skipTLSVerify)
        throw new TerminalError("the kubeconfig: expected an https server, since requests have credentials, got http");
      throw new TransientError(`credentials: ${saidByPlugin(config, error) ?? describeKubeConfigError(error)}`);
    }
    const server = addressOf(cluster.server);
    const { agent, instanceAgent } = this.#keepAgents(options, cluster.tlsServerName || server.hostname);
    return {
      server,
      agent,
      instanceAgent,
      headers: options.headers as Record<string, string>,
      impersonation: this.#impersonation,
      auth: options.auth ?? undefined,
    };
  }

  #loadConfig(): KubeConfig {
    try {
      const config = this.#load();
      // As in kubectl, an http server gets no credentials.
      if (config.getCurrentCluster()?.server.startsWith("http:") === true)
        config.users = config.users.map(({ name }) => ({ name }));
      return config;
    } catch (error) {
      throw new TerminalError(`kubeconfig: ${describeKubeConfigError(error)}`);
    }
  }

  /**
   * Returns the agents in use, or new ones if the TLS settings, or the server's name, have changed.
   *
   * @param name that the server's certificate must have
   */
  #keepAgents(options: RequestOptions, name: string): Agents {
    const { ca, cert, key, pfx, servername, rejectUnauthorized } = options;
    const identity = { ca, cert, key, pfx, servername, rejectUnauthorized, name };
    if (this.#agents !== null && isDeepStrictEqual(this.#agents.identity, identity)) return this.#agents;
    if (this.#agents !== null) retire(this.#agents.agent, this.#agents.instanceAgent);
    const agent = options.agent as Agent;
    asInGo(agent, name);
    Object.assign(agent, { keepAlive: true, keepAliveMsecs: TCP_KEEPALIVE_MS, maxFreeSockets: MAX_IDLE_SOCKETS });
    this.#agents = { agent, instanceAgent: instanceAgentOf(options), identity };
    return this.#agents;
  }
}

function sendByNetwork(access: Access, wire: WireRequest, signal: AbortSignal): Promise<IncomingMessage> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  const { instance, isFresh = false, path } = wire;
  const { hostname, port, prefix } = access.server;
  const options: RequestOptions = {
    ...(instance === undefined
      ? { agent: access.agent, hostname, port, path: prefix + path }
      : { agent: access.instanceAgent, hostname: instance.address, port: instance.port, path }),
    ...(isFresh && instance === undefined ? { agent: unpooled(access.agent) } : {}),
    method: wire.method,
    headers: { ...wire.headers, ...access.headers, ...access.impersonation },
    ...(access.auth === undefined ? {} : { auth: access.auth }),
  };
  const send = instance === undefined && access.server.isPlain ? requestHttp : requestHttps;
  return new Promise((resolve, reject) => {
    const request = send(options, resolve);
    // Less work than the option `signal`, which also waits for the end of the stream. The signal lives no longer than the request.
    signal.addEventListener("abort", () => request.destroy(signal.reason as Error), { once: true });
    request.on("socket", socket => socket.setKeepAlive(true, TCP_KEEPALIVE_MS));
    request.on("error", (error: Error) => reject(new WireError(error, request)));
    request.end(wire.body);
  });
}

interface Agents extends Pick<Access, "agent" | "instanceAgent"> {
  /** The TLS settings that they were created with, and the server's name. */
  readonly identity: object;
}

/** One agent serves all instances: sockets to a removed instance close when they are idle. */
function instanceAgentOf({ ca, cert, key, pfx, passphrase, timeout }: RequestOptions): Agent {
  const verified = { servername: INSTANCE_NAME, rejectUnauthorized: true };
  const kept = { keepAlive: true, keepAliveMsecs: TCP_KEEPALIVE_MS, maxFreeSockets: 1 };
  return new HttpsAgent({ ca, cert, key, pfx, passphrase, timeout, ...verified, ...kept });
}

function addressOf(server: string): ServerAddress {
  if (!URL.canParse(server)) throw new TerminalError("the kubeconfig: expected the server's URL, got another text");
  const { protocol, hostname, port, pathname } = new URL(server);
  const isPlain = protocol === "http:";
  return {
    isPlain,
    hostname: bareHost(hostname),
    port: port === "" ? (isPlain ? 80 : 443) : Number(port),
    prefix: pathname.replace(/\/$/, ""),
  };
}

/** The host of a URL, of an IPv6 address without its brackets. */
export function bareHost(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/** An agent of hpagent, or of socks-proxy-agent. */
interface ProxyAgent {
  readonly options: object;
  proxy?: URL | { readonly host: string };
  createConnection: (options: { readonly host: string }, callback: unknown) => unknown;
}

/**
 * Does with a proxy as Go does: an IPv6 address has brackets in its URL and in CONNECT only, and a SOCKS proxy resolves names. socks-proxy-agent drops
 * an IP address, and Node would then look for `localhost` in the certificate.
 */
function asInGo(agent: Agent, name: string): void {
  const proxied = agent as unknown as ProxyAgent;
  const { proxy } = proxied;
  if (proxy instanceof URL) {
    const { protocol, username, password, port } = proxy;
    const connect = proxied.createConnection.bind(agent);
    const createConnection: ProxyAgent["createConnection"] = (options, callback) =>
      connect(isIPv6(options.host) ? { ...options, host: `[${options.host}]` } : options, callback);
    const hostname = bareHost(proxy.hostname);
    Object.assign(agent, { proxy: { protocol, username, password, port, hostname }, createConnection });
  } else if (proxy !== undefined) {
    Object.assign(agent, { proxy: { ...proxy, host: bareHost(proxy.host) }, shouldLookup: false });
    // Of the agent: Node 24 reuses no connection of a request that has its own.
    const check: RequestOptions["checkServerIdentity"] = (_, certificate) => checkServerIdentity(name, certificate);
    Object.assign(proxied.options, { checkServerIdentity: check });
  }
}

/** The same agent without connections to reuse. A proxy's agent stays as it is. */
function unpooled(agent: Agent): Agent {
  if (agent.constructor === HttpsAgent) return new HttpsAgent({ ...(agent as HttpsAgent).options, keepAlive: false });
  return agent.constructor === Agent ? new Agent({ keepAlive: false }) : agent;
}

/** A network failure. */
export class WireError extends Error {
  /** A reused connection broke, most likely because the server had just closed it. */
  readonly staleSocket: boolean;
  /** The server's certificate is not trusted. */
  readonly isCertificate: boolean;

  constructor(cause: Error, request: ClientRequest) {
    super(cause.message, { cause });
    this.name = "WireError";
    const { code = "" } = cause as NodeJS.ErrnoException;
    this.staleSocket = request.reusedSocket && code === "ECONNRESET";
    this.isCertificate = /CERT|ISSUER|SIGNATURE/.test(code);
  }
}

/** Some credential plugins fail without what kubectl tells them (client.authentication.k8s.io). @param cluster for those that ask for it */
export function tellPlugin(config: KubeConfig, interactive = false, cluster = (): object => ({})): void {
  const exec = config.getCurrentUser()?.exec as Plugin | null | undefined;
  if (exec == null) return;
  const spec = { interactive, ...(exec.provideClusterInfo === true && { cluster: cluster() }) };
  const value = JSON.stringify({ apiVersion: exec.apiVersion, kind: "ExecCredential", spec });
  exec.env = [...(exec.env ?? []), { name: "KUBERNETES_EXEC_INFO", value }];
}

interface Plugin {
  readonly command: string;
  readonly installHint?: string | null;
  readonly apiVersion?: string;
  readonly provideClusterInfo?: boolean;
  env?: object[] | null;
}

/** What a credential plugin printed to standard error before it failed. Errors of another class may quote its credentials. */
function saidByPlugin(config: KubeConfig, error: unknown): string | undefined {
  const exec = config.getCurrentUser()?.exec as Plugin | null | undefined;
  if (exec == null || !(error instanceof Error)) return undefined;
  if ("syscall" in error && String(error.syscall).startsWith("spawn"))
    return [
      `failed to start the credential plugin ${exec.command} (${String((error as NodeJS.ErrnoException).code)})`,
      exec.installHint,
    ]
      .flatMap(text => (text ? [oneLine(text).trim().slice(0, MAX_SAID)] : []))
      .join(". ");
  if ("code" in error) return undefined;
  if (error.constructor !== Error) return "the credential plugin printed no ExecCredential with a status";
  return `the credential plugin failed: ${oneLine(error.message).trim().slice(0, MAX_SAID) || "it said nothing"}`;
}

/** Longest part of what a credential plugin says. */
const MAX_SAID = 500;

/** A parser's message quotes the file, secrets included, so only its position is reported. A file system error names the file. */
function describeKubeConfigError(error: unknown): string {
  const { code, path, mark } = error as { code?: unknown; path?: unknown; mark?: { line?: unknown; column?: unknown } };
  if (typeof code === "string" && typeof path === "string") return `failed to read ${path} (${code})`;
  if (typeof mark?.line !== "number" || typeof mark.column !== "number") return `unusable (${publicMessage(error)})`;
  return `invalid YAML at line ${mark.line + 1}, column ${mark.column + 1}`;
}

/** Requests in flight finish; then their sockets close. */
function retire(...agents: Agent[]): void {
  for (const agent of agents) {
    Object.assign(agent, { keepAlive: false, maxFreeSockets: 0 });
    for (const sockets of Object.values(agent.freeSockets)) sockets?.forEach(socket => socket.destroy());
  }
}
