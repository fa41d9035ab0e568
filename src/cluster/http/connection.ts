import { type Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps, type RequestOptions } from "node:https";
import { KubeConfig } from "@kubernetes/client-node";
import type { Clock } from "../../core/clock";
import { publicMessage, TerminalError, TransientError } from "../../core/errors";

/** Everything that a request needs to reach and convince the API server. */
export interface Access {
  readonly server: URL;
  readonly agent: Agent;
  /** For instances that are asked themselves. It verifies them, whatever the kubeconfig says of verification. */
  readonly instanceAgent: Agent;
  /** Authorization, and Impersonate-User if the kubeconfig asks for it. */
  readonly headers: Readonly<Record<string, string>>;
  /** `user:password` of a kubeconfig with basic credentials. */
  readonly auth?: string | undefined;
}

/** One API server of those that a cluster has, at its own address. */
export interface Instance {
  /** An IP address, or a name. */
  readonly address: string;
  readonly port: number;
}

/** One request as it goes over the wire. */
export interface WireRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Who is asked instead of the kubeconfig's server. */
  readonly instance?: Instance | undefined;
}

/** In the certificate of every API server, at whatever address it is: what pods know it by. */
const INSTANCE_NAME = "kubernetes.default.svc";

/** Credentials are asked for again after this long; client-node adds up to 60 s of its own for token files. */
const ACCESS_LIFE_MS = 30_000;

/** Rejected credentials are read anew no more often than this. */
const RENEW_INTERVAL_MS = 5_000;

/** Sockets that are idle for this long are closed, before a load balancer in between does it unseen. */
const IDLE_SOCKET_MS = 30_000;

/** Sockets that stay open between requests. */
const MAX_IDLE_SOCKETS = 8;

/** TCP keep-alive probes find half-open connections even where no timer of ours runs. */
const TCP_KEEPALIVE_MS = 30_000;

/** Loads the kubeconfig that the environment names, or that of the pod's ServiceAccount; `context` overrides the current one. */
export function loadKubeConfig(context?: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromDefault();
  if (context !== undefined) config.setCurrentContext(context);
  return config;
}

/** What is known of a cluster before it was asked anything. */
export interface Place {
  /** Address of the API server. */
  readonly server: string;
  /** Namespace of the pod that this process runs in, if the cluster is that of the pod. */
  readonly podNamespace?: string;
}

/**
 * The cluster that the environment leads to, without asking it.
 *
 * @throws TerminalError when there is no kubeconfig, or it can't be read or names no server; the message quotes none of it
 */
export function locateCluster(load: () => KubeConfig = loadKubeConfig): Place {
  let place: Place | undefined;
  try {
    place = placeIn(load());
  } catch (error) {
    const code = (error as NodeJS.ErrnoException | null)?.code;
    throw new TerminalError(
      `the kubeconfig can't be read${code === undefined ? "" : ` (${code})`}: look at KUBECONFIG`,
    );
  }
  if (place !== undefined) return place;
  throw new TerminalError(
    "found no cluster to work on; expected a kubeconfig (KUBECONFIG or ~/.kube/config) with a current context, or a pod",
  );
}

/** Name of the context of http://localhost:8080 that client-node makes up where it finds nothing at all. */
const NO_CONTEXT = "loaded-context";

/** Name of the context that client-node makes of a pod's ServiceAccount; its namespace is the pod's. */
const POD_CONTEXT = "inClusterContext";

function placeIn(config: KubeConfig): Place | undefined {
  const server = config.getCurrentCluster()?.server;
  if (!server || config.currentContext === NO_CONTEXT) return undefined;
  if (config.currentContext !== POD_CONTEXT) return { server };
  const podNamespace = config.getContextObject(POD_CONTEXT)?.namespace?.trim();
  return { server, ...(podNamespace ? { podNamespace } : {}) };
}

/**
 * The way to one API server. client-node's KubeConfig does what is hard (contexts, TLS, exec plugins, proxies); this keeps its
 * agent, which client-node would make anew for each call, and reads the kubeconfig anew when its credentials are rejected.
 */
export class Connection {
  readonly #load: () => KubeConfig;
  readonly #clock: Clock;
  #config: KubeConfig | null = null;
  #access: Promise<Access> | null = null;
  #agents: Agents | null = null;
  #accessSinceMs = -Infinity;
  #renewedAtMs = -Infinity;

  constructor(load: () => KubeConfig, clock: Clock) {
    this.#load = load;
    this.#clock = clock;
  }

  /**
   * The credentials to use now.
   *
   * @throws TerminalError when the kubeconfig has none or can't be read, TransientError when a plugin fails to give some
   */
  async access(): Promise<Access> {
    if (this.#access === null || this.#clock.monotonicMs() - this.#accessSinceMs > ACCESS_LIFE_MS) {
      this.#accessSinceMs = this.#clock.monotonicMs();
      this.#access = this.#resolve();
    }
    const current = this.#access;
    try {
      return await current;
    } catch (error) {
      if (this.#access === current) this.#access = null;
      throw error;
    }
  }

  /** Other credentials than those that were rejected, or null if there are none to be had now. */
  async renew(rejected: Access): Promise<Access | null> {
    const sinceMs = this.#clock.monotonicMs() - this.#renewedAtMs;
    const isCurrent = (await this.access()) === rejected;
    if (isCurrent && sinceMs < RENEW_INTERVAL_MS) return null;
    if (isCurrent) {
      this.#renewedAtMs = this.#clock.monotonicMs();
      this.#config = null;
      this.#access = null;
    }
    return this.access();
  }

  /** Sends a request; resolves with the head of the answer, whose body the caller reads. Rejects with the network's own error. */
  static send(access: Access, wire: WireRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { instance } = wire;
    const options: RequestOptions = {
      ...(instance === undefined ? towardsServer(access, wire.path) : towardsInstance(access, instance, wire.path)),
      method: wire.method,
      headers: { ...wire.headers, ...access.headers },
      signal,
      ...(access.auth === undefined ? {} : { auth: access.auth }),
    };
    const isPlain = instance === undefined && access.server.protocol === "http:";
    const send = isPlain ? requestHttp : requestHttps;
    return new Promise((resolve, reject) => {
      const request = send(options, resolve);
      request.on("socket", socket => socket.setKeepAlive(true, TCP_KEEPALIVE_MS));
      request.on("error", (error: Error) => reject(new WireError(error, request)));
      request.end(wire.body);
    });
  }

  /** Closes all sockets at once. */
  close(): void {
    this.#agents?.agent.destroy();
    this.#agents?.instanceAgent.destroy();
    this.#agents = null;
    this.#access = null;
  }

  async #resolve(): Promise<Access> {
    const config = (this.#config ??= this.#loadConfig());
    const cluster = config.getCurrentCluster();
    if (cluster === null) throw new TerminalError("the kubeconfig has no current context with a cluster");
    const options: RequestOptions = { headers: {}, timeout: IDLE_SOCKET_MS };
    try {
      await config.applyToHTTPSOptions(options);
    } catch (error) {
      throw new TransientError(`credentials: ${describeKubeConfigError(error)}`);
    }
    const { agent, instanceAgent } = this.#keepAgents(options);
    return {
      server: new URL(cluster.server),
      agent,
      instanceAgent,
      headers: options.headers as Record<string, string>,
      auth: options.auth ?? undefined,
    };
  }

  #loadConfig(): KubeConfig {
    try {
      return this.#load();
    } catch (error) {
      throw new TerminalError(`kubeconfig: ${describeKubeConfigError(error)}`);
    }
  }

  /** The agents in use, unless certificates or the server's name have changed. */
  #keepAgents(options: RequestOptions): Agents {
    const identity = identityOf(options);
    if (this.#agents?.identity === identity) return this.#agents;
    if (this.#agents !== null) retire(this.#agents.agent, this.#agents.instanceAgent);
    const agent = options.agent as Agent;
    Object.assign(agent, { keepAlive: true, maxFreeSockets: MAX_IDLE_SOCKETS });
    this.#agents = { agent, instanceAgent: instanceAgentOf(options), identity };
    return this.#agents;
  }
}

interface Agents extends Pick<Access, "agent" | "instanceAgent"> {
  /** Of what certificates and name of a server they were made. */
  readonly identity: string;
}

/** One for all instances: what it keeps open of one that is gone is idle, and is closed as such. */
function instanceAgentOf({ ca, cert, key, pfx, passphrase, timeout }: RequestOptions): Agent {
  const verified = { servername: INSTANCE_NAME, rejectUnauthorized: true };
  return new HttpsAgent({ ca, cert, key, pfx, passphrase, timeout, ...verified, keepAlive: true, maxFreeSockets: 1 });
}

function towardsServer({ server, agent }: Access, path: string): RequestOptions {
  return {
    agent,
    hostname: server.hostname.replace(/^\[|\]$/g, ""),
    port: server.port === "" ? (server.protocol === "http:" ? 80 : 443) : Number(server.port),
    path: server.pathname.replace(/\/$/, "") + path,
  };
}

function towardsInstance({ instanceAgent }: Access, { address, port }: Instance, path: string): RequestOptions {
  return { agent: instanceAgent, hostname: address, port, path };
}

/** A failure below HTTP. */
export class WireError extends Error {
  /** A kept connection broke as it was used again, most likely because the server had closed it just before. */
  readonly staleSocket: boolean;

  constructor(cause: Error, request: ClientRequest) {
    super(cause.message, { cause });
    this.name = "WireError";
    this.staleSocket = request.reusedSocket && (cause as NodeJS.ErrnoException).code === "ECONNRESET";
  }
}

/** A parser's message quotes the file, secrets included, so only the position is taken from it; one of the file system names the file. */
function describeKubeConfigError(error: unknown): string {
  const { code, path, mark } = error as { code?: unknown; path?: unknown; mark?: { line?: unknown; column?: unknown } };
  if (typeof code === "string" && typeof path === "string") return `${path} can't be read (${code})`;
  if (typeof mark?.line !== "number" || typeof mark.column !== "number")
    return `can't be used (${publicMessage(error)})`;
  return `is no valid YAML at line ${mark.line + 1}, column ${mark.column + 1}`;
}

function identityOf(options: RequestOptions): string {
  const { ca, cert, key, pfx, servername, rejectUnauthorized } = options;
  const parts = [ca, cert, key, pfx].map(part => (Buffer.isBuffer(part) ? part.toString("base64") : part));
  return JSON.stringify([...parts, servername, rejectUnauthorized]);
}

/** Lets requests under way finish; their sockets close after that. */
function retire(...agents: Agent[]): void {
  for (const agent of agents) {
    Object.assign(agent, { keepAlive: false, maxFreeSockets: 0 });
    for (const sockets of Object.values(agent.freeSockets)) sockets?.forEach(socket => socket.destroy());
  }
}
