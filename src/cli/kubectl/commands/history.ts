import type { Command } from "commander";
import { KIND } from "../../../api/names";
import { addClusterCommand, type Flags, type Shell } from "../command";
import { formatTimeline, timelineOf } from "../history/timeline";
import { CliError, Exit, type ExitCode } from "../io";
import { PartialReader } from "../partial-reader";
import type { Session } from "../session";
import { describeSubject, parseSubject, type Subject } from "../subject";

/** `history`: what happened, as a timeline. */
export function registerHistory(program: Command, shell: Shell): void {
  addClusterCommand(program, shell, {
    usage: "history [name]",
    summary: "show restarts, renewals, throttles and template changes, newest last",
    description:
      "Show what status and Events say of restarts, renewals, throttles and template changes, newest last. Kubernetes deletes Events after an hour by default.",
    examples: [
      ["history -n shop", "one namespace"],
      ["history my-scheduler -n shop", "one ControllerResilience"],
      ["history -A -o json", "the whole cluster, for a script"],
    ],
    formats: ["json", "yaml", "wide"],
    run: runHistory,
  });
}

async function runHistory(session: Session, flags: Flags, [name]: readonly string[]): Promise<ExitCode> {
  if (name !== undefined && flags.allNamespaces === true)
    throw new CliError("expected either a name or --all-namespaces, got both");
  const subject = name === undefined ? undefined : objectOnly(parseSubject(name, session.namespace));
  await session.requireCrd();
  const namespace = flags.allNamespaces === true ? undefined : session.namespace;
  const { moments, unread } = await readMoments(session, namespace, subject);
  session.progress.end();
  const { output } = session;
  if (flags.output === "json" || flags.output === "yaml") await output.data({ moments, unread }, flags.output);
  else await print(session, moments, unread);
  return Exit.ok;
}

function objectOnly(subject: Subject): Subject {
  if (subject.kind === KIND) return subject;
  throw new CliError(`expected the name of a ControllerResilience, got ${describeSubject(subject)}`);
}

async function readMoments(session: Session, namespace: string | undefined, subject: Subject | undefined) {
  const reader = new PartialReader(session);
  const [objects, events] = await Promise.all([reader.objects(namespace), reader.events(namespace)]);
  const { unread } = reader;
  if (unread.length === 2) throw new CliError(`nothing could be read: ${unread.join("; ")}`);
  if (subject === undefined) return { moments: timelineOf(objects, events), unread };
  const chosen = objects.filter(({ metadata }) => metadata.name === subject.name);
  if (chosen.length === 0 && unread.length === 0)
    throw new CliError(`${describeSubject(subject)} does not exist; \`kubectl get cres -A\` lists all`);
  const own = events.filter(({ kind, name }) => kind === KIND && name === subject.name);
  return { moments: timelineOf(chosen, own), unread };
}

async function print(
  { output, clock }: Session,
  moments: ReturnType<typeof timelineOf>,
  unread: readonly string[],
): Promise<void> {
  const { paint, columns } = output;
  if (moments.length > 0) await output.text(formatTimeline(moments, { paint, columns, nowMs: clock.now().getTime() }));
  else await output.note("no restarts, renewals or throttles in status or Events, which last an hour by default");
  for (const one of unread) await output.note(`not readable, so unknown: ${one}`);
}
