import { splitKey } from "./core/key";
import type { Random } from "./core/clock";

/** What an installer may choose. All of it comes from the environment, which `npm start` fills from its options. */
export interface Settings {
  /** Namespace of the Lease. */
  readonly namespace: string;
  /** Whose objects it looks after; empty: those of all. */
  readonly watchNamespaces: readonly string[];
  /** Who holds the Lease; another name for each process. */
  readonly identity: string;
  /** `*` listens on all addresses. */
  readonly healthHost: string;
  /** 0 takes a free one. */
  readonly healthPort: number;
  /** Least time between any two restarts, over all objects. */
  readonly restartIntervalMs: number;
  /** Every object is looked at again after this long, whatever the watches say. */
  readonly fullPassMs: number;
  readonly logLevel: LogLevel;
  readonly pretty: boolean;
}

const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

type Environment = Readonly<Record<string, string | undefined>>;

/** What the machine knows, and the environment does not say. */
export interface Surroundings {
  readonly hostname: string;
  readonly random: Random;
  /** Namespace of the pod that this process runs in, if it does and works on that pod's cluster. */
  readonly podNamespace?: string | undefined;
}

/**
 * Reads the settings.
 *
 * @throws RangeError with a sentence that names the variable, what was found and what was expected
 */
export function readSettings(env: Environment, { hostname, random, podNamespace }: Surroundings): Settings {
  return {
    namespace: env["RESILIENCE_NAMESPACE"] || podNamespace || "controller-resilience-system",
    watchNamespaces: namespaces(env["RESILIENCE_WATCH_NAMESPACES"]),
    identity: env["RESILIENCE_IDENTITY"] || `${hostname}_${random().toString(36).slice(2, 10)}`,
    healthHost: env["RESILIENCE_HEALTH_HOST"] || "127.0.0.1",
    healthPort: whole(env, "RESILIENCE_HEALTH_PORT", { fallback: 9440, min: 0, max: 65_535 }),
    restartIntervalMs: 1000 * whole(env, "RESILIENCE_RESTART_INTERVAL_SECONDS", { fallback: 10, min: 1, max: 3600 }),
    fullPassMs: 1000 * whole(env, "RESILIENCE_FULL_PASS_SECONDS", { fallback: 60, min: 5, max: 3600 }),
    logLevel: logLevel(env["LOG_LEVEL"]),
    pretty: env["PEPR_PRETTY_LOGS"] === "true",
  };
}

/** Whether the object of this key (`namespace/name`) is in a namespace that is looked after. */
export function looksAfter({ watchNamespaces }: Pick<Settings, "watchNamespaces">, key: string): boolean {
  return watchNamespaces.length === 0 || watchNamespaces.includes(splitKey(key).namespace);
}

/**
 * Whether this process is to work. Pepr runs the module's code during its build as well, and in pods that only serve webhooks.
 */
export function isToRun(env: Environment): boolean {
  return env["PEPR_MODE"] !== "build" && (env["PEPR_WATCH_MODE"] === "true" || env["PEPR_MODE"] === "dev");
}

function whole(env: Environment, name: string, bounds: { fallback: number; min: number; max: number }): number {
  const text = env[name];
  if (text === undefined || text === "") return bounds.fallback;
  const value = Number(text);
  if (Number.isInteger(value) && value >= bounds.min && value <= bounds.max) return value;
  throw new RangeError(`${name}: found "${text}", expected a whole number from ${bounds.min} to ${bounds.max}`);
}

/** A DNS label, as the API server wants it. */
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Names that are separated by commas. One that is mistyped must not mean fewer namespaces, or all of them. */
function namespaces(text = ""): string[] {
  const names = text === "" ? [] : text.split(",").map(name => name.trim());
  const wrong = names.find(name => !NAMESPACE.test(name));
  if (wrong === undefined) return names;
  throw new RangeError(
    `RESILIENCE_WATCH_NAMESPACES: found "${wrong}", expected names of namespaces, separated by commas`,
  );
}

/** Pepr knows more levels than this project has use for. */
function logLevel(text = "info"): LogLevel {
  if (text === "trace") return "debug";
  if (text === "fatal" || text === "silent") return "error";
  const level = LOG_LEVELS.find(known => known === text);
  if (level !== undefined) return level;
  throw new RangeError(`LOG_LEVEL: found "${text}", expected one of ${LOG_LEVELS.join(", ")}`);
}
