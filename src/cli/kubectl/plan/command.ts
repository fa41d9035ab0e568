import { type Command, Option } from "commander";
import { CLUSTER_KIND, KIND, VERSION } from "../../../api/names";
import { clusterObjectOfOursView, objectView } from "../../../cluster/read/views";
import { count } from "../../../core/text";
import { KINDS } from "../../../core/kinds";
import { coverageIn, type Lists } from "../audit/facts";
import { addClusterCommand, type Flags, type Shell } from "../command";
import { operatorOption } from "../explain/command";
import { Exit, type ExitCode } from "../terminal";
import { PartialReader } from "../reader";
import type { Session } from "../session";
import { readClusterLists, withClusterObject } from "./lists";
import { type FileObject, parseObjects, readText, asApplied } from "./documents";
import { formatPlans, type PlanReport } from "./format";
import { type ClusterPlan, planNamespaces } from "./plan-cluster";
import { type ObjectPlan, planObject } from "./plan-object";
import { createTools, type OperatorPlace, type PlanTools } from "./tools";

interface PlanFlags {
  readonly filename: string;
  readonly operatorNamespace: string;
}

/** `plan`: what the operator would do for an object, before it is applied. */
export function registerPlan(program: Command, shell: Shell): void {
  addClusterCommand<PlanFlags>(program, shell, {
    usage: "plan",
    summary: "say what the operator would do for an object, before it is applied",
    description:
      "Let the operator's own code observe and plan for the ControllerResiliences and ClusterControllerResiliences of a file, and print what it sees, what it would do, and why not. It reads logs once, and cannot write. It needs no operator in the cluster. Admission policies are not asked. With -n, a ClusterControllerResilience is planned for that namespace only.",
    examples: [
      ["plan -f resilience.yaml", "objects of a file"],
      ["plan -f resilience.yaml -o json", "for a pipeline: exit code 2 if the operator would change something"],
    ],
    formats: ["json", "yaml", "wide"],
    findings: {
      some: "the operator would change something now",
      none: "the operator would change nothing now",
    },
    options: [
      new Option("-f, --filename <file>", "file with the objects, - for standard input").makeOptionMandatory(),
      operatorOption(),
    ],
    run: runPlan,
  });
}

/** Most generated objects that are planned. */
const MOST_OBJECTS = 50;

async function runPlan(session: Session, flags: Flags<PlanFlags>): Promise<ExitCode> {
  const objects = parseObjects(await readText(flags.filename, session.io), flags.filename, session);
  const unknown = new Set<string>();
  const note = (sentence: string): unknown => unknown.add(sentence);
  const operator = await findOperator(session, flags.operatorNamespace, note);
  const tools = createTools(session, operator, note);
  const plans: (ObjectPlan | ClusterPlan)[] = [];
  for (const object of objects) plans.push(await planOne(session, object, tools));
  session.progress.end();
  const report: PlanReport = {
    server: session.server,
    operator: describeOperator(operator),
    plans,
    unknown: [...unknown],
  };
  await session.output.result(report, () => formatPlans(report, session.output));
  return exitCodeOf(report);
}

/** Nothing to change where not everything could be read is no success. */
function exitCodeOf({ plans, unknown }: PlanReport): ExitCode {
  if (plans.some(changes)) return Exit.findings;
  return unknown.length > 0 ? Exit.error : Exit.ok;
}

function changes(plan: ObjectPlan | ClusterPlan): boolean {
  if ("remedies" in plan) return plan.remedies.some(({ would }) => would.some(({ unless }) => unless === undefined));
  return plan.namespaces.some(({ writes }) => writes.length > 0) || plan.objects.some(changes);
}

async function findOperator(
  session: Session,
  namespace: string,
  note: (sentence: string) => unknown,
): Promise<OperatorPlace> {
  const versions = await session.servedVersions();
  if (versions.length > 0 && !versions.includes(VERSION)) await session.requireCrd();
  const reader = new PartialReader(session);
  const state = await reader.operator(namespace);
  for (const sentence of reader.unread) note(sentence);
  const isInstalled = versions.length > 0 && (state === undefined || state.renewTime !== undefined);
  return { namespace, isInstalled, ...(state === undefined ? {} : { state }) };
}

function describeOperator({ namespace, isInstalled, state }: OperatorPlace): string {
  if (!isInstalled) return `none in ${namespace}; the plan assumes the rights that the chart grants`;
  if (state === undefined) return "unknown, since its Lease is not readable";
  return `${state.leads ? "works" : "does not lead now"}${state.breaker === undefined ? "" : "; its restart breaker is tripped"}`;
}

async function planOne(session: Session, file: FileObject, tools: PlanTools): Promise<ObjectPlan | ClusterPlan> {
  const now = session.clock.now();
  const reader = new PartialReader(session);
  const { name } = file.object.metadata;
  const place = file.kind === KIND ? { namespace: file.object.metadata.namespace, name } : { name };
  const raw = (await reader.get(KINDS[file.kind], place)) ?? undefined;
  for (const sentence of reader.unread.filter(one => !one.endsWith("(404)"))) tools.note(sentence);
  if (file.kind === KIND) {
    const live = raw && objectView(raw)?.object;
    return planObject(asApplied(file.object, live, now), live !== undefined, tools);
  }
  const live = raw && clusterObjectOfOursView(raw)?.object;
  const owner = asApplied(file.object, live, now);
  const namespace = session.isNamespaceChosen ? session.namespace : undefined;
  const lists = await readClusterLists(session, namespace, sentence => tools.note(sentence));
  return planCluster(owner, live !== undefined, { lists, namespace }, tools);
}

async function planCluster(
  owner: Extract<FileObject, { kind: typeof CLUSTER_KIND }>["object"],
  exists: boolean,
  { lists, namespace }: { readonly lists: Lists; readonly namespace: string | undefined },
  tools: PlanTools,
): Promise<ClusterPlan> {
  const facts = coverageIn(withClusterObject(lists, owner), namespace) ?? [];
  const { generated, ...found } = planNamespaces(owner, facts, tools.readers.clock.now());
  const objects: ObjectPlan[] = [];
  for (const one of generated.slice(0, MOST_OBJECTS)) objects.push(await planObject(one.object, one.exists, tools));
  const left = generated.length - objects.length;
  if (left > 0) tools.note(`${count(left, "more generated object")}: one plan covers ${MOST_OBJECTS}; use -n`);
  return {
    kind: CLUSTER_KIND,
    name: owner.metadata.name,
    exists,
    suspended: owner.spec.suspend,
    ...found,
    objects,
  };
}
