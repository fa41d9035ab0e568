// The operator's command line: `npm start`, where it works on the current context of KUBECONFIG, and the entry point of its image.
import { Command, Option } from "commander";

/** What a person has to mend before it can run at all. Anything else ends with 1, and what was asked for with 0. */
const WRONG_SETTINGS = 2;

// As process 1 of a container a signal is ignored that nobody handles. The operator puts its own handlers in the place of these as it starts.
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => process.exit(0));

const program = new Command("controller-resilience")
  .usage("[options]   (npm start -- [options])")
  .description("Run the operator: in a pod on its cluster, elsewhere on that of the current kubeconfig context.")
  .addOption(
    new Option("--health-port <port>", "port of /healthz, /readyz and /metrics; 0 picks a free one")
      .env("RESILIENCE_HEALTH_PORT")
      .default("9440"),
  )
  .addOption(
    new Option("--health-host <address>", "address of the health port; * for all, as in the image")
      .env("RESILIENCE_HEALTH_HOST")
      .default("127.0.0.1"),
  )
  .addOption(
    new Option(
      "--namespace <name>",
      "namespace of the Lease (default: that of the pod; outside of one, controller-resilience-system)",
    ).env("RESILIENCE_NAMESPACE"),
  )
  .addOption(
    new Option(
      "--watch-namespaces <names>",
      "look after the objects of these namespaces only, separated by commas (default: all)",
    ).env("RESILIENCE_WATCH_NAMESPACES"),
  )
  .addOption(
    new Option("--identity <name>", "identity in the Lease (default: host name and a random part)").env(
      "RESILIENCE_IDENTITY",
    ),
  )
  .addOption(
    new Option("--restart-interval <seconds>", "least time between any two restarts, over all objects")
      .env("RESILIENCE_RESTART_INTERVAL_SECONDS")
      .default("10"),
  )
  .addOption(
    new Option("--full-pass <seconds>", "every object is looked at again after this long, whatever the watches say")
      .env("RESILIENCE_FULL_PASS_SECONDS")
      .default("60"),
  )
  .addOption(
    new Option("--log-level <level>", "how much to log")
      .env("LOG_LEVEL")
      .choices(["debug", "info", "warn", "error"])
      .default("info"),
  )
  .addOption(
    new Option("--pretty", "log for people, not as JSON; not in the image (or PEPR_PRETTY_LOGS=true)").default(
      // Commander takes a flag for set by any value of its variable, "false" included.
      process.env["PEPR_PRETTY_LOGS"] === "true",
      "no",
    ),
  );

interface StartOptions {
  healthPort: string;
  healthHost: string;
  namespace?: string;
  watchNamespaces?: string;
  identity?: string;
  restartInterval: string;
  fullPass: string;
  logLevel: string;
  pretty: boolean;
}

/** The one way in is the environment, as in a pod: src/main.ts reads it, and Pepr does while it is imported. */
function toEnvironment(options: StartOptions): void {
  Object.assign(process.env, {
    RESILIENCE_HEALTH_PORT: options.healthPort,
    RESILIENCE_HEALTH_HOST: options.healthHost,
    RESILIENCE_RESTART_INTERVAL_SECONDS: options.restartInterval,
    RESILIENCE_FULL_PASS_SECONDS: options.fullPass,
    LOG_LEVEL: options.logLevel,
    PEPR_WATCH_MODE: "true",
    // Pepr's watch gives up and ends the process after 5 failures; this one never may.
    PEPR_RESYNC_FAILURE_MAX: String(2 ** 31 - 1),
    ...(options.namespace === undefined ? {} : { RESILIENCE_NAMESPACE: options.namespace }),
    ...(options.watchNamespaces === undefined ? {} : { RESILIENCE_WATCH_NAMESPACES: options.watchNamespaces }),
    ...(options.identity === undefined ? {} : { RESILIENCE_IDENTITY: options.identity }),
    ...(options.pretty ? { PEPR_PRETTY_LOGS: "true" } : {}),
  });
}

/** Whether pino-pretty is there, which the image does without. */
function canBePretty(): boolean {
  try {
    require.resolve("pino-pretty");
    return true;
  } catch {
    return false;
  }
}

program.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : WRONG_SETTINGS));
program.action(async (options: StartOptions) => {
  if (options.pretty && !canBePretty())
    program.error("error: --pretty (PEPR_PRETTY_LOGS) needs pino-pretty, which is not here");
  toEnvironment(options);
  await import("../../pepr");
});

void program.parseAsync();
