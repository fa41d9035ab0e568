import { Agent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { BlockList, isIP } from "node:net";
import type { MetricsSpec } from "../../api/controller-resilience";
import { ForbiddenError, problemOf, ResilienceError, TerminalError, TransientError } from "../../core/errors";
import { objectOf, textOf } from "../../core/json";
import { KINDS } from "../../core/kinds";
import { type PodMetricsReading, READINGS_APART_MS } from "../../core/pod-metrics";
import type { Clock } from "../../core/time";
import type { PodView, PortView } from "../../core/views";
import { followPage, MetricsPage, START } from "../../evidence/metrics/page";
import type { Api } from "../http/api";
import { FairLimiter } from "../http/fair-limiter";
import { callOf } from "../http/resources";
import { LineSplitter } from "../watch/stream";
import { Rounds } from "./rounds";

// The metrics that pods serve about themselves, read from each pod at its own address, and without any credential of the operator. A pod may
// answer anything: an answer costs bounded time and memory, and nothing of its text is repeated but the names of queues.

/** Time between two readings, in milliseconds. */
const INTERVAL_MS = 30_000;

/** Where one page is. */
export interface ScrapeRequest {
  /** An IP address. */
  readonly address: string;
  readonly port: number;
  readonly isTls: boolean;
  /** Sent as a bearer token; absent: no credential is sent. */
  readonly token?: string;
}

/** Asks for `/metrics`; resolves with the head of the answer. Rejects when the signal fires. */
export type Scrape = (request: ScrapeRequest, signal: AbortSignal) => Promise<IncomingMessage>;

/** Own agents: no connection is kept, and no proxy of the environment is used. */
const PLAIN = new Agent({ keepAlive: false });
/** The certificates of metrics ports are self-signed as a rule, and no other process has the address of the pod. */
const TLS = new HttpsAgent({ keepAlive: false, rejectUnauthorized: false });

/** Over the network. */
export const scrapeByNetwork: Scrape = ({ address, port, isTls, token }, signal) => {
  const headers = { Accept: "text/plain", ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) };
  const options = { hostname: address, port, path: "/metrics", headers, signal, agent: isTls ? TLS : PLAIN };
  return new Promise((resolve, reject) => {
    const request = (isTls ? requestHttps : requestHttp)(options, resolve);
    request.on("error", reject);
    request.end();
  });
};

/** Deadline of a whole answer, in milliseconds. */
const DEADLINE_MS = 5_000;

/** Longest page: that of kube-controller-manager has 220 KB. */
const MAX_BYTES = 2 * 1024 * 1024;
const MAX_LINE_BYTES = 16 * 1024;

/** Pods that are read at the same time, in all and of one namespace: slow pods of one do not delay those of another. */
const CONCURRENT = 16;
const CONCURRENT_PER_NAMESPACE = 4;

/** Most pods that are followed, in all and of one namespace. */
const MAX_PODS = 1_000;
const MAX_PODS_PER_NAMESPACE = 250;

/** So many readings must fail before that is said: pods that start refuse connections. */
const FAILURES = 3;

/** Names of ports that serve metrics, the likeliest first. */
const PORT_NAMES = ["metrics", "http-metrics", "http-prom", "https-metrics", "https"];

/** No pod has such an address of its own: loopback, link-local (with the metadata of clouds), unspecified, multicast. */
const NEVER = new BlockList();
for (const [net, bits] of [
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["0.0.0.0", 8],
  ["224.0.0.0", 3],
] as const)
  NEVER.addSubnet(net, bits, "ipv4");
for (const [net, bits] of [
  ["::", 127],
  ["fe80::", 10],
  ["ff00::", 8],
] as const)
  NEVER.addSubnet(net, bits, "ipv6");

/** What the readings work with. */
export interface PodMetricsContext {
  readonly clock: Clock;
  readonly api: Pick<Api, "json">;
  /** From the watch cache: a page is asked for only where the pod still is. */
  readonly pods: (namespace: string) => Promise<readonly PodView[]>;
  readonly scrape?: Scrape | undefined;
  /** Host and port of the API server, as in a URL; absent: unknown. */
  readonly apiHost?: (() => Promise<string>) | undefined;
}

interface Known {
  readonly pod: PodView;
  readonly spec: MetricsSpec;
  reading: PodMetricsReading;
  failures: number;
}

/** Reads the metrics of the pods that are asked for, again and again. */
export class PodMetricsReadings {
  readonly #context: PodMetricsContext;
  readonly #scrape: Scrape;
  readonly #tokens: PodTokens;
  readonly #limiter = new FairLimiter(CONCURRENT);
  readonly #rounds: Rounds<Known>;

  constructor(context: PodMetricsContext) {
    this.#context = context;
    this.#scrape = context.scrape ?? scrapeByNetwork;
    this.#tokens = new PodTokens(context.api, context.clock);
    this.#rounds = new Rounds(context.clock, known => this.#read(known));
  }

  /** What is known of a pod. Asking begins to read it. */
  of(pod: PodView, spec: MetricsSpec): PodMetricsReading {
    const key = [pod.uid, spec.port, spec.scheme, spec.tokenFrom].join(" ");
    if (this.#rounds.get(key) === undefined && this.#isFull(pod.namespace))
      return unknown(
        `the metrics of more than ${MAX_PODS_PER_NAMESPACE} pods of a namespace, or ${MAX_PODS} in all, are wanted`,
      );
    const { reading } = this.#rounds.want(key, () => ({ pod, spec, reading: {}, failures: 0 })).known;
    const ageMs = this.#context.clock.monotonicMs() - (reading.track?.readMs ?? Infinity);
    if (ageMs <= READINGS_APART_MS) return reading;
    return reading.unknown === undefined ? {} : { unknown: reading.unknown };
  }

  #isFull(namespace: string): boolean {
    const { all } = this.#rounds;
    const own = all.filter(({ pod }) => pod.namespace === namespace).length;
    return all.length >= MAX_PODS || own >= MAX_PODS_PER_NAMESPACE;
  }

  async #read(known: Known): Promise<number> {
    const { namespace, uid, name } = known.pod;
    const share = { key: namespace, limit: CONCURRENT_PER_NAMESPACE };
    let release: (() => void) | undefined;
    try {
      release = await this.#limiter.acquire([share], new AbortController().signal);
      const pod = (await this.#context.pods(namespace)).find(one => one.uid === uid);
      const isRunning = pod?.phase === "Running" && pod.deletedAtMs === undefined;
      const page = isRunning ? await this.#page(pod, known.spec) : undefined;
      known.failures = 0;
      known.reading = page ? { track: followPage(known.reading.track, page, this.#context.clock.monotonicMs()) } : {};
    } catch (error) {
      known.failures += 1;
      const { forbidden, message } = problemOf(error);
      const isSaid = error instanceof TerminalError || known.failures >= FAILURES;
      const said = isSaid && unknown(`the metrics of pod ${name} cannot be read: ${message}`, forbidden);
      known.reading = { ...known.reading, ...said };
    } finally {
      release?.();
    }
    return INTERVAL_MS;
  }

  async #page(pod: PodView, spec: MetricsSpec): Promise<MetricsPage> {
    const { tokenFrom } = spec;
    const target = targetOf(pod, spec);
    const token = tokenFrom === undefined ? {} : { token: await this.#tokens.of(pod.namespace, tokenFrom) };
    const ownHost = await this.#context.apiHost?.();
    const end = new AbortController();
    const late = new TransientError(`there was no whole answer within ${DEADLINE_MS / 1000} s`);
    const cancel = this.#context.clock.after(DEADLINE_MS, () => end.abort(late));
    try {
      const answer = await this.#scrape({ ...target, ...token }, end.signal);
      end.signal.addEventListener("abort", () => answer.destroy(late));
      const page = new MetricsPage(ownHost);
      await readPage(answer, page, tokenFrom).finally(() => answer.destroy());
      return page;
    } catch (error) {
      if (end.signal.aborted) throw late;
      throw error instanceof ResilienceError ? error : new TransientError(describeFailure(error, target.port));
    } finally {
      cancel();
    }
  }
}

function unknown(message: string, forbidden = false): PodMetricsReading {
  return { unknown: { forbidden, message } };
}

/** Only the code of an error is repeated: its message may have text of the pod. */
function describeFailure(error: unknown, port: number): string {
  const { code } = error as { readonly code?: unknown };
  const isCode = typeof code === "string" && /^[A-Z0-9_]{1,40}$/.test(code);
  return `asking at port ${port} failed (${isCode ? code : "no HTTP answer"})`;
}

/** Returns where the pod serves metrics. @throws TerminalError if it does not, or may not be asked there */
export function targetOf(pod: PodView, { port, scheme }: MetricsSpec): ScrapeRequest {
  const { name, port: number } = typeof port === "number" ? numberedPort(pod, port) : namedPort(pod, port);
  const isTls = scheme === undefined ? name.startsWith("https") : scheme === "HTTPS";
  return { address: addressOf(pod), port: number, isTls };
}

/** Other programs of its node have the same address as a pod in the network of the node. */
function namedPort({ ports = [], hostNetwork }: PodView, wanted: string | undefined): PortView {
  const names = wanted === undefined ? PORT_NAMES : [wanted];
  const [declared] = names.flatMap(name => ports.find(one => one.name === name) ?? []);
  if (hostNetwork === true)
    throw new TerminalError(
      "it is in the network of its node; set metrics.port to the number of a port that it declares",
    );
  if (declared === undefined) throw new TerminalError(`it declares no TCP port named ${names.join(", ")}`);
  return declared;
}

function numberedPort({ ports = [], hostNetwork }: PodView, port: number): PortView {
  const declared = ports.find(one => one.port === port);
  if (declared === undefined && hostNetwork === true) throw new TerminalError(`it declares no TCP port ${port}`);
  return declared ?? { name: "", port };
}

function addressOf({ podIP = "" }: PodView): string {
  const family = isIP(podIP);
  if (family === 0) throw new TransientError("it has no address yet");
  if (NEVER.check(podIP, family === 4 ? "ipv4" : "ipv6"))
    throw new TerminalError("its address is none that a pod can have of its own");
  return podIP;
}

/** Reads the body of an answer. @throws an error of core, also for an answer that is no page */
async function readPage(answer: IncomingMessage, page: MetricsPage, tokenFrom: string | undefined): Promise<void> {
  const trouble = troubleOf(answer, tokenFrom);
  if (trouble !== undefined) throw new TransientError(trouble);
  const splitter = new LineSplitter(MAX_LINE_BYTES);
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new TransientError(`expected at most ${MAX_BYTES} bytes, got more`);
    if (!splitter.push(chunk).every(line => page.take(line)))
      throw new TransientError("expected samples in the text format of Prometheus, got another line");
  }
  if (splitter.pending > 0 || !page.hasStart)
    throw new TransientError(`expected a whole page with ${START}, got another`);
}

function troubleOf({ statusCode = 0, headers }: IncomingMessage, tokenFrom: string | undefined): string | undefined {
  if (statusCode === 401 || statusCode === 403) return describeRefusal(statusCode, tokenFrom);
  if (statusCode !== 200) return `expected a page, got the answer ${statusCode}`;
  // The request does not accept it: such an answer is not decompressed.
  const isPlain = (headers["content-encoding"] ?? "identity") === "identity";
  return isPlain ? undefined : "expected a plain page, got a compressed one";
}

function describeRefusal(code: number, tokenFrom: string | undefined): string {
  if (tokenFrom === undefined)
    return `it answers ${code}; set metrics.tokenFrom to a ServiceAccount that may get /metrics`;
  return `it answers ${code} to a token of ServiceAccount ${tokenFrom}, which must be allowed to get /metrics`;
}

/** Life of a token, in seconds: the shortest that the API server issues. */
const TOKEN_SECONDS = 600;

/** So long one is used, in milliseconds, and so long a failure is not repeated. */
const TOKEN_USED_MS = 0.8 * TOKEN_SECONDS * 1000;
const TOKEN_RETRY_MS = 30_000;

/** Tokens of ServiceAccounts that may read metrics and nothing else. They are never logged. */
class PodTokens {
  readonly #api: Pick<Api, "json">;
  readonly #clock: Clock;
  readonly #known = new Map<string, { readonly token: Promise<string>; untilMs: number }>();

  constructor(api: Pick<Api, "json">, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
  }

  of(namespace: string, name: string): Promise<string> {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, { untilMs }] of this.#known) if (untilMs <= nowMs) this.#known.delete(key);
    const known = this.#known.get(`${namespace}/${name}`);
    if (known !== undefined) return known.token;
    const entry = { token: this.#request(namespace, name), untilMs: nowMs + TOKEN_USED_MS };
    entry.token.catch(() => (entry.untilMs = nowMs + TOKEN_RETRY_MS));
    this.#known.set(`${namespace}/${name}`, entry);
    return entry.token;
  }

  async #request(namespace: string, name: string): Promise<string> {
    const call = callOf("create", KINDS.ServiceAccount, { namespace, name, subresource: "token" });
    const body = {
      ...{ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest" },
      spec: { expirationSeconds: TOKEN_SECONDS },
    };
    const asked = this.#api.json({ ...call, method: "POST", body, deadlineMs: DEADLINE_MS });
    const answer = await asked.catch((error: unknown) => {
      if (!(error instanceof ForbiddenError)) throw error;
      throw new ForbiddenError(`${error.message}; list ${name} in the chart's value metrics.tokens`);
    });
    const token = textOf(objectOf(objectOf(answer)["status"])["token"]);
    if (token === undefined) throw new TransientError(`${call.what}: expected a token, got none`);
    return token;
  }
}
