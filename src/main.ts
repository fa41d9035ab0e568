import cfg from "../package.json";
import { hostname } from "node:os";
import { assemble } from "./assemble";
import { type ClusterLocation, loadKubeConfig, locateCluster } from "./cluster/http/connection";
import { withNewestToken } from "./cluster/http/own-identity";
import { paceFramework } from "./cluster/pepr/framework";
import { systemClock as clock, systemRandom as random } from "./cluster/system";
import { describeError } from "./core/errors";
import { handleProcessEvents, openHealthPort } from "./lifecycle";
import { readSettings, runsOperator, type Settings } from "./settings";
import { HealthServer } from "./telemetry/health-server";
import { createLogger } from "./telemetry/logger";

/** What pepr.ts needs of the operator. */
export interface Operator {
  /** Takes `namespace/name` of a ControllerResilience that has changed. */
  readonly enqueue: (key: string) => void;
  /** Starts the operator, unless this process only builds the module or serves webhooks. Never throws. */
  start(): void;
}

/** Creates the operator. Only this file reads the environment. */
export function createOperator(): Operator {
  if (!runsOperator(process.env)) return { enqueue: () => undefined, start: () => undefined };
  let settings: Settings;
  let cluster: ClusterLocation;
  try {
    const surroundings = { hostname: hostname(), random };
    // Wrong settings are reported even without a cluster.
    readSettings(process.env, surroundings);
    cluster = locateCluster();
    settings = readSettings(process.env, { ...surroundings, podNamespace: cluster.podNamespace });
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exit(2);
  }
  return operatorOf(settings, cluster);
}

function operatorOf(settings: Settings, { server, context }: ClusterLocation): Operator {
  const { identity, mode, healthHost: host, healthPort: port } = settings;
  const exit = (code: number): void => process.exit(code);
  const log = createLogger({ level: settings.logLevel });
  log.info({ version: cfg.version, server, identity, mode }, "starting");
  const assembly = assemble(settings, {
    ...{ clock, random, log, exit },
    loadKubeConfig: withNewestToken(() => loadKubeConfig(context), clock),
    hasProcessMetrics: true,
    serve: pages => {
      const health = new HealthServer({ host, port, log, ...pages });
      return { start: () => void openHealthPort(health, { host, port, log, exit }), stop: () => health.stop() };
    },
  });
  const { enqueue, stop } = assembly;
  paceFramework(clock, log);
  return {
    enqueue,
    start: () => {
      handleProcessEvents(log, stop);
      assembly.start();
    },
  };
}
