import { type Command, Option } from "commander";
import { CLUSTER_KIND, KIND } from "../../../api/names";
import { ownView } from "../../../cluster/read/views";
import { KINDS } from "../../../core/kinds";
import { addClusterCommand, type Flags, type Shell } from "../command";
import { CliError } from "../../streams";
import { Exit, type ExitCode } from "../terminal";
import { OPERATOR_NAMESPACE, PartialReader } from "../reader";
import type { Session } from "../session";
import { describeSubject, parseSubject, type Subject } from "../subject";
import { explain, type OwnObject } from "./explain";
import { formatExplanation } from "./format";
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
    formats: ["json", "yaml"],
    options: [operatorOption()],
    run: runExplain,
  });
}

async function runExplain(
  session: Session,
  { operatorNamespace }: Flags<OperatorFlags>,
  [text = ""]: readonly string[],
): Promise<ExitCode> {
  const subject = parseSubject(text, session.namespace);
  await session.requireCrd();
  const { output, clock } = session;
  const reader = new PartialReader(session);
  const isCluster = subject.kind === CLUSTER_KIND;
  const [operator, objects, events] = await Promise.all([
    reader.operator(operatorNamespace),
    (isCluster ? readOwner(reader, subject) : reader.objects(subject.namespace)).then(found => found ?? []),
    reader.events(subject.namespace),
  ]);
  const nowMs = clock.now().getTime();
  const isOwn = isCluster || subject.kind === KIND;
  const explanation = explain({
    ...{ nowMs, subject, events, unread: reader.unread, ...(operator && { operator }) },
    objects: isOwn ? only(objects, subject, reader.unread) : objects,
    ...(!isOwn && { live: await readLive(reader, subject, nowMs) }),
    session,
  });
  await output.result(explanation, () =>
    formatExplanation(explanation, { paint: output.paint, columns: output.columns, nowMs }),
  );
  // Nothing found where not everything could be read is no success.
  return explanation.objects.length === 0 && explanation.unread.length > 0 ? Exit.error : Exit.ok;
}

async function readOwner(reader: PartialReader, { name }: Subject): Promise<OwnObject[] | undefined> {
  const raw = await reader.get(KINDS[CLUSTER_KIND], { name });
  const view = raw ? ownView(CLUSTER_KIND, raw) : null;
  return view === null ? [] : [view.object];
}

function only(objects: readonly OwnObject[], subject: Subject, unread: readonly string[]): readonly OwnObject[] {
  const found = objects.filter(({ metadata }) => metadata.name === subject.name);
  if (found.length > 0) return found;
  const refused = unread.find(one => one.includes(` ${KINDS[subject.kind].plural}`));
  throw new CliError(
    refused === undefined
      ? `${describeSubject(subject)} does not exist; \`kubectl get cres,ccres -A\` lists all`
      : `${refused}; ask for this right, or choose another -n or --as`,
  );
}
