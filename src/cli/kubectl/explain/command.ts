import { type Command, Option } from "commander";
import { CLUSTER_KIND, KIND } from "../../../api/names";
import { clusterObjectOfOursView } from "../../../cluster/read/views";
import { KINDS } from "../../../core/kinds";
import { addClusterCommand, type Flags, type Shell } from "../command";
import { CliError } from "../../streams";
import { Exit, type ExitCode } from "../terminal";
import { OPERATOR_NAMESPACE, PartialReader } from "../reader";
import type { Session } from "../session";
import { describeSubject, parseSubject, type Subject } from "../subject";
import { explainCluster } from "./cluster";
import { explain, type ExplainFacts, type Explanation, formatExplanation } from "./explain";
import { readLive } from "./live";

interface OperatorFlags {
  readonly operatorNamespace: string;
}

/** The flag of commands that use the operator's Lease. */
export function operatorOption(): Option {
  return new Option("--operator-namespace <name>", "namespace of the operator and its Lease").default(
    OPERATOR_NAMESPACE,
  );
}

/** `explain`: why an object is in its state. */
export function registerExplain(program: Command, shell: Shell): void {
  addClusterCommand<OperatorFlags>(program, shell, {
    usage: "explain <object>",
    summary: "say why an object is in its state, what happens next, and what you can do",
    description:
      "Explain a ControllerResilience, or what the operator does about a pod, workload, ServiceAccount or binding. It only reads; what you may not read is named.",
    examples: [
      ["explain my-scheduler -n shop", "a ControllerResilience"],
      ["explain pod/my-scheduler-7d9f -n shop", "a pod; also deployment/, statefulset/, daemonset/, serviceaccount/"],
      ["explain clusterrolebinding/on-call", "a binding"],
      ["explain ccres/all", "a ClusterControllerResilience"],
    ],
    formats: ["json", "yaml", "wide"],
    options: [operatorOption()],
    run: runExplain,
  });
}

async function runExplain(
  session: Session,
  flags: Flags<OperatorFlags>,
  [text = ""]: readonly string[],
): Promise<ExitCode> {
  const subject = parseSubject(text, session.namespace);
  await session.requireCrd();
  if (subject.kind === CLUSTER_KIND) return explainClusterObject(session, flags, subject);
  const facts = await readFacts(session, subject, flags.operatorNamespace);
  return print(session, explain(facts));
}

async function print(session: Session, explanation: Explanation): Promise<ExitCode> {
  const { output, clock, progress } = session;
  progress.end();
  const look = { paint: output.paint, columns: output.columns, nowMs: clock.now().getTime() };
  await output.result(explanation, () => formatExplanation(explanation, look));
  // Nothing found where not everything could be read is no success.
  return explanation.objects.length === 0 && explanation.unread.length > 0 ? Exit.error : Exit.ok;
}

async function explainClusterObject(
  session: Session,
  flags: Flags<OperatorFlags>,
  subject: Subject,
): Promise<ExitCode> {
  const reader = new PartialReader(session);
  const raw = await reader.get(KINDS[CLUSTER_KIND], { name: subject.name });
  const view = raw ? clusterObjectOfOursView(raw) : null;
  if (view === null)
    throw new CliError(raw === undefined ? reader.unread.join("; ") : `${describeSubject(subject)} does not exist`);
  const [operator, objects, events] = await Promise.all([
    reader.operator(flags.operatorNamespace),
    reader.objects(),
    reader.events(),
  ]);
  const found = { subject: describeSubject(subject), live: [], unread: reader.unread, ...(operator && { operator }) };
  return print(session, { ...found, objects: [explainCluster(view.object, objects, events)] });
}

async function readFacts(session: Session, subject: Subject, operatorNamespace: string): Promise<ExplainFacts> {
  const reader = new PartialReader(session);
  const [operator, objects, events] = await Promise.all([
    reader.operator(operatorNamespace),
    reader.objects(subject.namespace),
    reader.events(subject.namespace),
  ]);
  const nowMs = session.clock.now().getTime();
  const common = { nowMs, subject, events, unread: reader.unread, ...(operator === undefined ? {} : { operator }) };
  const chosen = subject.kind === KIND ? only(objects, subject, reader.unread) : objects;
  const live = subject.kind === KIND ? undefined : await readLive(reader, subject, nowMs);
  return { ...common, objects: chosen, ...(live && { live }) };
}

function only(objects: ExplainFacts["objects"], subject: Subject, unread: readonly string[]): ExplainFacts["objects"] {
  const found = objects.filter(({ metadata }) => metadata.name === subject.name);
  if (found.length === 0)
    throw new CliError(
      unread.some(one => one.startsWith("list controllerresiliences"))
        ? `you may not list ControllerResiliences in ${subject.namespace}: ask for the right, or choose another -n or --as`
        : `${describeSubject(subject)} does not exist; \`kubectl get cres -A\` lists all`,
    );
  return found;
}
