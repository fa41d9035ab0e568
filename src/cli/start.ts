// Command line of the operator: `npm start`, and the entry point of its image.
import { Command, Option } from "commander";

/** Exit code for wrong settings, which a person must correct. Other errors exit with 1, --help and signals with 0. */
const WRONG_SETTINGS = 2;

// Process 1 of a container ignores signals without a handler. The operator replaces these handlers when it starts.
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => process.exit(0));

const program = new Command("controller-resilience")
  .usage("[options]   (npm start -- [options])")
  .description("Run the operator: in a pod for its own cluster, elsewhere for the current kubeconfig context.")
  .addOption(
    new Option("--health-port <port>", "port of /healthz, /readyz and /metrics; 0 picks a free one")
      .env("RESILIENCE_HEALTH_PORT")
      .default("9440"),
  )
  .addOption(
    new Option(
      "--namespace <name>",
      "namespace of the Lease (default: the pod's namespace; outside a pod, controller-resilience-system)",
    ).env("RESILIENCE_NAMESPACE"),
  )
  .addOption(
    new Option(
      "--watch-namespaces <names>",
      "handle only the objects in these namespaces, separated by commas (default: all)",
    ).env("RESILIENCE_WATCH_NAMESPACES"),
  )
  .addOption(
    new Option("--mode <mode>", "Observe writes only status and Events, whatever the objects say")
      .env("RESILIENCE_MODE")
      .choices(["Enforce", "Observe"])
      .default("Enforce"),
  )
  .addOption(
    new Option("--restart-interval <seconds>", "least time between two restarts; a fifth if the token is proven dead")
      .env("RESILIENCE_RESTART_INTERVAL_SECONDS")
      .default("10"),
  )
  .addOption(
    new Option(
      "--log-reads <count>",
      "reads of logs per second, across all objects; with more logs, each is read less often",
    )
      .env("RESILIENCE_LOG_READS_PER_SECOND")
      .default("50"),
  )
  .addOption(
    new Option("--notify-dir <folder>", "post Warnings to the receiver in its files url, header.<name>, ca.crt").env(
      "RESILIENCE_NOTIFY_DIR",
    ),
  )
  .addOption(
    new Option("--notify-format <format>", "body of a notification")
      .env("RESILIENCE_NOTIFY_FORMAT")
      .choices(["cloudevents", "slack"])
      .default("cloudevents"),
  )
  .addOption(
    new Option("--notify-cluster <name>", "name of the cluster in notifications")
      .env("RESILIENCE_NOTIFY_CLUSTER")
      .default("kubernetes"),
  )
  .addOption(
    new Option("--log-level <level>", "how much to log")
      .env("LOG_LEVEL")
      .choices(["debug", "info", "warn", "error"])
      .default("info"),
  );

/** Passes the options on as environment variables, which src/main.ts reads, and Pepr when it is imported. */
function toEnvironment(): void {
  const values = program.opts<Record<string, string | undefined>>();
  for (const option of program.options) {
    const value = values[option.attributeName()];
    if (option.envVar !== undefined && value !== undefined) process.env[option.envVar] = value;
  }
  process.env["PEPR_WATCH_MODE"] = "true";
  // By default Pepr's watch ends the process after 5 failures.
  process.env["PEPR_RESYNC_FAILURE_MAX"] = String(2 ** 31 - 1);
}

program.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : WRONG_SETTINGS));
program.action(async () => {
  toEnvironment();
  await import("../../pepr");
});

void program.parseAsync();
