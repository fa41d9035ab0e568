import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { BlockList, isIP } from "node:net";
import type { MetricsSpec } from "../../api/controller-resilience";
import { ForbiddenError, problemOf, ResilienceError, TerminalError, TransientError } from "../../core/errors";
import { objectOf, textOf } from "../../core/json";
import { KINDS } from "../../core/kinds";
import { type PodMetricsReading, READINGS_APART_MS } from "../../core/pod-metrics";
import { type Clock, withDeadline } from "../../core/time";
import type { PodView } from "../../core/views";
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

/**
 * Over the network: without an agent no connection is kept, and no proxy of the environment is used. The certificates of metrics ports are self-signed
 * as a rule, and no other process has the address of the pod.
 */
export const scrapeByNetwork: Scrape = ({ address, port, isTls, token }, signal) => {
  const headers = { Accept: "text/plain", ...(token !== undefined && { Authorization: `Bearer ${token}` }) };
  const network = { hostname: address, port, agent: false, rejectUnauthorized: false };
  const options = { ...network, path: "/metrics", headers, signal };
  return new Promise((resolve, reject) => {
    (isTls ? requestHttps : requestHttp)(options, resolve).on("error", reject).end();
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
for (const net of ["127.0.0.0/8", "169.254.0.0/16", "0.0.0.0/8", "224.0.0.0/3", "::/127", "fe80::/10", "ff00::/8"]) {
  const [address = "", bits] = net.split("/");
  NEVER.addSubnet(address, Number(bits), isIP(address) === 4 ? "ipv4" : "ipv6");
}

/** Life of a token, in seconds: the shortest that the API server issues. */
const TOKEN_SECONDS = 600;

/** So long one is used, in milliseconds, and so long a failure is not repeated. */
const TOKEN_USED_MS = 0.8 * TOKEN_SECONDS * 1000;
const TOKEN_RETRY_MS = 30_000;

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

/** A token of a ServiceAccount that may read metrics and nothing else, or why there is none. It is never logged. */
interface Token {
  readonly namespace: string;
  readonly name: string;
  text: string | Error;
}

/** Reads the metrics of the pods that are asked for, again and again. */
export class PodMetricsReadings {
  readonly #context: PodMetricsContext;
  readonly #limiter = new FairLimiter(CONCURRENT);
  readonly #rounds: Rounds<Known>;
  readonly #tokens: Rounds<Token>;

  constructor(context: PodMetricsContext) {
    this.#context = context;
    this.#rounds = new Rounds(context.clock, known => this.#read(known));
    this.#tokens = new Rounds(context.clock, token => this.#request(token));
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
    const release = await this.#limiter.acquire([share], new AbortController().signal);
    try {
      const pod = (await this.#context.pods(namespace)).find(one => one.uid === uid);
      const isRunning = pod?.phase === "Running" && pod.deletedAtMs === undefined;
      const page = isRunning ? await this.#page(pod, known.spec) : undefined;
      known.failures = 0;
      known.reading = page ? { track: followPage(known.reading.track, page, this.#context.clock.monotonicMs()) } : {};
    } catch (error) {
      known.failures += 1;
      const { forbidden, message } = problemOf(error);
      const isSaid = error instanceof TerminalError || known.failures >= FAILURES;
      const why = `the metrics of pod ${name} cannot be read: ${message}`;
      if (isSaid) known.reading = { ...known.reading, ...unknown(why, forbidden) };
    } finally {
      release();
    }
    return INTERVAL_MS;
  }

  async #page(pod: PodView, spec: MetricsSpec): Promise<MetricsPage> {
    const { clock, apiHost, scrape = scrapeByNetwork } = this.#context;
    const { tokenFrom } = spec;
    const target = targetOf(pod, spec);
    const token = tokenFrom === undefined ? {} : { token: await this.#token(pod.namespace, tokenFrom) };
    const page = new MetricsPage(await apiHost?.());
    const what = `asking at port ${target.port}`;
    const end = new AbortController();
    const read = async (): Promise<void> =>
      readPage(await scrape({ ...target, ...token }, end.signal), page, tokenFrom);
    try {
      await withDeadline(clock, DEADLINE_MS, `${what}, which the chart's metrics.ports must list,`, read);
      return page;
    } catch (error) {
      throw error instanceof ResilienceError ? error : new TransientError(`${what} failed (${codeOf(error)})`);
    } finally {
      end.abort();
    }
  }

  async #token(namespace: string, name: string): Promise<string> {
    const { known, first } = this.#tokens.want(`${namespace}/${name}`, () => ({ namespace, name, text: "" }));
    await first;
    if (known.text instanceof Error) throw known.text;
    return known.text;
  }

  async #request(token: Token): Promise<number> {
    const { namespace, name } = token;
    const call = callOf("create", KINDS.ServiceAccount, { namespace, name, subresource: "token" });
    const body = {
      ...{ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest" },
      spec: { expirationSeconds: TOKEN_SECONDS },
    };
    try {
      const answer = await this.#context.api.json({ ...call, body, deadlineMs: DEADLINE_MS });
      const text = textOf(objectOf(objectOf(answer)["status"])["token"]);
      token.text = text ?? new TransientError(`${call.what}: expected a token, got none`);
    } catch (error) {
      const listed = `list ${name} in the chart's value metrics.tokens`;
      token.text =
        error instanceof ForbiddenError ? new ForbiddenError(`${error.message}; ${listed}`) : (error as Error);
    }
    return token.text instanceof Error ? TOKEN_RETRY_MS : TOKEN_USED_MS;
  }
}

function unknown(message: string, forbidden = false): PodMetricsReading {
  return { unknown: { forbidden, message } };
}

/** Only the code of an error is repeated: its message may have text of the pod. */
function codeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" && /^[A-Z0-9_]{1,40}$/.test(code) ? code : "no HTTP answer";
}

/**
 * Returns where the pod serves metrics. Other programs of its node have the same address as a pod in the network of the node.
 *
 * @throws TerminalError if it does not, or may not be asked there
 */
export function targetOf({ ports = [], hostNetwork, podIP }: PodView, { port, scheme }: MetricsSpec): ScrapeRequest {
  if (hostNetwork === true && typeof port !== "number")
    throw new TerminalError(
      "it is in the network of its node; set metrics.port to the number of a port that it declares",
    );
  const wanted = port === undefined ? PORT_NAMES : [port];
  const [declared] = wanted.flatMap(
    one => ports.find(({ name, port: number }) => one === name || one === number) ?? [],
  );
  const { name, port: number } = declared ?? { name: "", port: hostNetwork === true ? undefined : port };
  if (typeof number !== "number") throw new TerminalError(`it declares no TCP port ${wanted.join(" or ")}`);
  const isTls = scheme === undefined ? name.startsWith("https") : scheme === "HTTPS";
  return { address: addressOf(podIP), port: number, isTls };
}

function addressOf(podIP = ""): string {
  const family = isIP(podIP);
  if (family === 0) throw new TransientError("it has no address yet");
  if (NEVER.check(podIP, family === 4 ? "ipv4" : "ipv6"))
    throw new TerminalError("its address is none that a pod can have of its own");
  return podIP;
}

/** Reads the body of an answer. @throws an error of core, also for an answer that is no page */
async function readPage(answer: IncomingMessage, page: MetricsPage, tokenFrom: string | undefined): Promise<void> {
  throwIfRefused(answer, tokenFrom);
  const splitter = new LineSplitter(MAX_LINE_BYTES);
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new TransientError(`expected at most ${MAX_BYTES} bytes, got more`);
    if (!splitter.push(chunk).every(line => page.take(line)))
      throw new TransientError("expected samples in the text format of Prometheus, got another line");
  }
  if (splitter.pending > 0 || !Number.isFinite(page.startSeconds))
    throw new TransientError(`expected a whole page with ${START}, got another`);
}

function throwIfRefused({ statusCode = 0, headers }: IncomingMessage, tokenFrom: string | undefined): void {
  if (statusCode === 401 || statusCode === 403) {
    const why =
      tokenFrom === undefined
        ? "; set metrics.tokenFrom to a ServiceAccount that may get /metrics"
        : ` to a token of ServiceAccount ${tokenFrom}, which must be allowed to get /metrics`;
    throw new TransientError(`it answers ${statusCode}${why}`);
  }
  if (statusCode !== 200) throw new TransientError(`expected a page, got the answer ${statusCode}`);
  // The request does not accept it: such an answer is not decompressed.
  const isPlain = (headers["content-encoding"] ?? "identity") === "identity";
  if (!isPlain) throw new TransientError("expected a plain page, got a compressed one");
}
