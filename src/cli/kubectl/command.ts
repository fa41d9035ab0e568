import { type Command, InvalidArgumentError, Option } from "commander";
import {
  ForbiddenError,
  framesOf,
  ResilienceError,
  TransientError,
  UnauthorizedError,
  WaitError,
} from "../../core/errors";
import { CliError } from "../streams";
import type { ExitCode, Format, Io } from "./terminal";
import { Session, type SessionFlags } from "./session";

/** How a user calls the plugin. */
export const CALL = "kubectl resilience";

/** What a command file gets to register its command. */
export interface Shell {
  readonly io: Io;
  /** Takes the session once it exists, so that a failure can name its server. */
  readonly onSession: (session: Session) => void;
  /** Takes the exit code of the command. */
  readonly onExit: (code: ExitCode) => void;
}

/** The flags of a command that talks to a cluster, as commander parses them. */
export type Flags<O = object> = SessionFlags & O;

/** A command that talks to a cluster. */
interface ClusterCommand<O extends object> {
  /** Name and arguments, such as `plan` or `explain <name>`. */
  readonly usage: string;
  readonly summary: string;
  readonly description: string;
  /** Command lines without `kubectl resilience`, each with what it does. */
  readonly examples: readonly (readonly [string, string])[];
  /** Values of `-o`. */
  readonly formats: readonly Format[];
  /** The namespace without `-n`. */
  readonly namespace?: string;
  readonly options?: readonly Option[];
  run(session: Session, flags: Flags<O>, args: readonly string[]): Promise<ExitCode>;
}

/** Adds a command with kubectl's flags. */
export function addClusterCommand<O extends object>(
  parent: Command,
  shell: Shell,
  definition: ClusterCommand<O>,
): void {
  const command = parent.command(definition.usage).summary(definition.summary).description(definition.description);
  for (const option of definition.options ?? []) command.addOption(option);
  command.addOption(new Option("-o, --output <format>", "output format").choices(definition.formats));
  for (const option of kubectlOptions(definition.namespace)) command.addOption(option);
  command.addHelpText("after", helpOf(definition.examples));
  command.action(async (...args: unknown[]) => {
    const session = new Session(command.opts<Flags<O>>(), shell.io);
    shell.onSession(session);
    try {
      const texts = args.slice(0, -2).flatMap(arg => (arg === undefined ? [] : (arg as string | string[])));
      shell.onExit(await definition.run(session, command.opts<Flags<O>>(), texts));
    } finally {
      session.close();
    }
  });
}

function kubectlOptions(namespace = "that of the context"): Option[] {
  const heading = "As in kubectl:";
  const options = [
    new Option("-n, --namespace <name>", `namespace (default: ${namespace})`).argParser(nonEmpty),
    new Option("-A, --all-namespaces", "all namespaces").conflicts("namespace"),
    new Option("--kubeconfig <file>", "kubeconfig file"),
    new Option("--context <name>", "context of the kubeconfig"),
    new Option("--as <user>", "impersonate this user"),
    new Option("--as-group <group>", "impersonate this group; may be repeated").argParser(
      (value: string, before: readonly string[] = []) => [...before, value],
    ),
    new Option("--request-timeout <duration>", "longest time of one request; 0 is none (default: 30s)"),
  ];
  return options.map(option => option.helpGroup(heading));
}

function nonEmpty(text: string): string {
  if (text === "") throw new InvalidArgumentError("Expected the name of a namespace.");
  return text;
}

/** Returns the end of the help of a command. */
function helpOf(examples: ClusterCommand<never>["examples"]): string {
  return `\nExamples:\n${examples.map(([line, what]) => `  # ${what}\n  ${CALL} ${line}\n`).join("")}`;
}

/**
 * Describes an error in one sentence for the user. Text of unexpected errors may quote data, so only their place is named.
 *
 * @param options.server address of the API server; absent if there is none yet
 */
export function describeFailure(error: unknown, options: { version: string; server?: string }): string {
  const { version, server } = options;
  if (error instanceof CliError) return error.message;
  if (error instanceof UnauthorizedError)
    return `${server ?? "the API server"} does not accept your credentials (401): log in again, or choose another --context`;
  if (error instanceof ForbiddenError)
    return `${error.message}; ask for this right, or choose another --context or --as`;
  if (isUnreachable(error))
    return `cannot reach ${server ?? "the API server"}: ${error.message}; check the network and --context`;
  if (error instanceof ResilienceError) return error.message;
  const name = error instanceof Error ? error.name : "error";
  return `unexpected ${name} ${framesOf(error)[0] ?? ""}: this is a bug of kubectl-resilience ${version}, please report it`;
}

function isUnreachable(error: unknown): error is TransientError {
  return error instanceof TransientError && !(error instanceof WaitError) && error.cause !== undefined;
}
