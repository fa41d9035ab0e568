import type { Connection } from "./cluster/http/connection";
import type { Reachability } from "./cluster/http/answers";
import type { Informers } from "./cluster/watch/informers";
import { describeError, framesOf, publicMessage } from "./core/errors";
import type { Log } from "./core/ports";
import type { Clock } from "./core/time";
import type { Engine } from "./engine/engine";
import type { HealthServer, HealthServerOptions } from "./telemetry/health-server";

// From the start of the process to its end.

/**
 * Liveness fails after this long without progress of the loop, in milliseconds: only a restart of the process helps then. Above all deadlines of
 * one pass together, so that a slow API server never restarts the operator.
 */
const HUNG_AFTER_MS = 300_000;

/** The process exits after this long at the latest, below the promised five seconds; Kubernetes gives a pod 30 s. */
const STOP_WITHIN_MS = 4_500;

/** Ends the process. */
export type Stop = (reason: string, exitCode?: number) => Promise<void>;

/** What /healthz and /readyz ask. */
export function healthChecks(parts: {
  readonly engine: Engine;
  readonly reachability: Reachability;
  readonly stopping: AbortSignal;
}): Pick<HealthServerOptions, "health" | "readiness"> {
  const { engine, reachability, stopping } = parts;
  const loopTrouble = (): string | null => {
    const sinceMs = Math.max(engine.loop.sinceProgressMs(), engine.clusterWide.loop.sinceProgressMs());
    return sinceMs <= HUNG_AFTER_MS ? null : `no progress for ${Math.round(sinceMs / 1000)} s`;
  };
  return {
    health: [{ name: "loop", trouble: loopTrouble }],
    readiness: [
      { name: "not-stopping", trouble: () => (stopping.aborted ? "shutting down" : null) },
      { name: "lease", trouble: () => engine.elector.failure() },
      { name: "objects", trouble: () => engine.loop.fullPassFailure() },
      { name: "identity", trouble: () => reachability.rejection() },
      { name: "api-server", trouble: () => reachability.trouble() },
    ],
  };
}

/** Returns what ends the process in order: nothing new begins, passes in flight end, the Lease is released. */
export function createStop(parts: {
  readonly clock: Clock;
  readonly log: Log;
  readonly exit: (code: number) => void;
  readonly stopping: AbortController;
  readonly engine: Engine;
  readonly informers: Informers;
  /** The watches of this project's own objects. */
  readonly own: { stop(): Promise<void> };
  readonly events: { stop(timeoutMs: number): Promise<unknown> };
  /** The pages of health and metrics. */
  readonly pages: { stop(): Promise<void> };
  readonly connection: Connection;
}): Stop {
  const { clock, log, exit, stopping, engine, informers, own, events, pages, connection } = parts;
  return async (reason, exitCode = 0) => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    log.info({ reason }, "stopping");
    clock.after(STOP_WITHIN_MS, () => {
      log.error({ withinMs: STOP_WITHIN_MS }, "shutdown timed out");
      exit(1);
    });
    await engine.stop();
    await Promise.allSettled([informers.stop(), own.stop(), events.stop(500), pages.stop()]);
    connection.close();
    log.info({}, "stopped");
    exit(exitCode);
  };
}

/** Ends the process if the port cannot be opened. */
export async function openHealthPort(
  health: HealthServer,
  parts: { readonly host: string; readonly port: number; readonly log: Log; readonly exit: (code: number) => void },
): Promise<void> {
  const { host, log, exit } = parts;
  try {
    const port = await health.start();
    log.info({ host, port }, "health port is open");
  } catch (error) {
    log.error({ host, port: parts.port, error: describeError(error) }, "failed to open the health port");
    exit(1);
  }
}

/** Replaces any handlers that a framework has registered. */
export function handleProcessEvents(log: Log, stop: Stop): void {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.removeAllListeners(signal);
    process.on(signal, () => void stop(signal));
  }
  // A rejection that no code awaits, such as one in a framework's watch, does not break the operator's state; an exception may.
  process.on("unhandledRejection", reason => {
    log.error({ error: publicMessage(reason), stack: framesOf(reason) }, "unhandled promise rejection");
  });
  process.on("uncaughtException", error => {
    log.error({ error: publicMessage(error), stack: framesOf(error) }, "uncaught exception");
    process.exit(1);
  });
}
