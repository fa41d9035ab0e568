import { splitKey } from "./core/text";
import type { Random } from "./core/time";
import type { NotifyFormat, WebhookSettings } from "./cluster/notify/webhook";

/** Settings from the environment, which `npm start` sets from its options. */
export interface Settings {
  /** Namespace of the Lease. */
  readonly namespace: string;
  /** Namespaces with ControllerResiliences to reconcile; empty: all. */
  readonly watchNamespaces: readonly string[];
  /** Observe wins over the mode of every object. */
  readonly mode: "Enforce" | "Observe";
  /** Holder of the Lease, unique per process. */
  readonly identity: string;
  /** `*` listens on all addresses: in a pod, the kubelet and Prometheus connect from outside. */
  readonly healthHost: string;
  /** 0: any free port. */
  readonly healthPort: number;
  /** Least time between two restarts, over all objects. */
  readonly restartIntervalMs: number;
  /** How long no throttle begins after an API server has started, appeared or left. Only labs change it, whose API server has just started. */
  readonly apiServerSettleMs: number;
  /** Reads of logs per second, over all objects. */
  readonly logReadsPerSecond: number;
  /** Interval of the full pass over all objects. Only tests change it; readings end three minutes after they were last asked for. */
  readonly fullPassMs: number;
  /** Absent: no notifications are sent. */
  readonly notify?: WebhookSettings;
  readonly logLevel: LogLevel;
}

const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

type Environment = Readonly<Record<string, string | undefined>>;

export interface Surroundings {
  readonly hostname: string;
  readonly random: Random;
  /** Namespace of this process's pod, if the operator works on that pod's cluster. */
  readonly podNamespace?: string | undefined;
}

/**
 * @throws RangeError with the variable, its value and the expected values
 */
export function readSettings(env: Environment, { hostname, random, podNamespace }: Surroundings): Settings {
  return {
    namespace: env["RESILIENCE_NAMESPACE"] || podNamespace || "controller-resilience-system",
    watchNamespaces: namespaces(env["RESILIENCE_WATCH_NAMESPACES"]),
    mode: oneOf(env, "RESILIENCE_MODE", ["Enforce", "Observe"]),
    identity: `${hostname}_${random().toString(36).slice(2, 10)}`,
    // The kubelet sets this variable in every pod.
    healthHost: env["KUBERNETES_SERVICE_HOST"] ? "*" : "127.0.0.1",
    healthPort: whole(env, "RESILIENCE_HEALTH_PORT", { fallback: 9440, min: 0, max: 65_535 }),
    restartIntervalMs: 1000 * whole(env, "RESILIENCE_RESTART_INTERVAL_SECONDS", { fallback: 10, min: 1, max: 3600 }),
    apiServerSettleMs: 1000 * whole(env, "RESILIENCE_API_SERVER_SETTLE_SECONDS", { fallback: 300, min: 0, max: 3600 }),
    logReadsPerSecond: whole(env, "RESILIENCE_LOG_READS_PER_SECOND", { fallback: 50, min: 1, max: 1000 }),
    ...notify(env),
    fullPassMs: 1000 * whole(env, "RESILIENCE_FULL_PASS_SECONDS", { fallback: 60, min: 5, max: 90 }),
    logLevel: logLevel(env["LOG_LEVEL"]),
  };
}

/** Reports whether the namespace of this key (`namespace/name`) is watched. */
export function isWatched({ watchNamespaces }: Pick<Settings, "watchNamespaces">, key: string): boolean {
  return watchNamespaces.length === 0 || watchNamespaces.includes(splitKey(key).namespace);
}

/**
 * Reports whether this process runs the operator. Pepr also loads the module during its build and in pods that only serve webhooks.
 */
export function runsOperator(env: Environment): boolean {
  return env["PEPR_MODE"] !== "build" && (env["PEPR_WATCH_MODE"] === "true" || env["PEPR_MODE"] === "dev");
}

function whole(env: Environment, name: string, bounds: { fallback: number; min: number; max: number }): number {
  const text = env[name];
  if (text === undefined || text === "") return bounds.fallback;
  const value = Number(text);
  if (Number.isInteger(value) && value >= bounds.min && value <= bounds.max) return value;
  throw new RangeError(`${name}: found "${text}", expected a whole number from ${bounds.min} to ${bounds.max}`);
}

/** The first is the default. */
function oneOf<T extends string>(env: Environment, name: string, values: readonly [T, ...T[]]): T {
  const text = env[name] || values[0];
  const value = values.find(known => known === text);
  if (value !== undefined) return value;
  throw new RangeError(`${name}: found "${text}", expected ${values.join(" or ")}`);
}

function notify(env: Environment): Pick<Settings, "notify"> {
  const folder = env["RESILIENCE_NOTIFY_DIR"];
  const format = oneOf<NotifyFormat>(env, "RESILIENCE_NOTIFY_FORMAT", ["cloudevents", "slack"]);
  const cluster = env["RESILIENCE_NOTIFY_CLUSTER"] || "kubernetes";
  return folder ? { notify: { folder, format, cluster } } : {};
}

/** A DNS label. */
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** A typing error must not result in fewer namespaces, or in all. */
function namespaces(text = ""): string[] {
  const names = text === "" ? [] : text.split(",").map(name => name.trim());
  const wrong = names.find(name => !NAMESPACE.test(name));
  if (wrong === undefined) return names;
  throw new RangeError(
    `RESILIENCE_WATCH_NAMESPACES: found "${wrong}", expected names of namespaces, separated by commas`,
  );
}

/** Maps Pepr's additional levels to those of this project. */
function logLevel(text = "info"): LogLevel {
  if (text === "trace") return "debug";
  if (text === "fatal" || text === "silent") return "error";
  const level = LOG_LEVELS.find(known => known === text);
  if (level !== undefined) return level;
  throw new RangeError(`LOG_LEVEL: found "${text}", expected one of ${LOG_LEVELS.join(", ")}`);
}
