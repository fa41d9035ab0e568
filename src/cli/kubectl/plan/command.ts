import { type Command, Option } from "commander";
import { CLUSTER_KIND, KIND, VERSION } from "../../../api/names";
import { ownView } from "../../../cluster/read/views";
import { KINDS } from "../../../core/kinds";
import { count } from "../../../core/text";
import { coverageIn, type Lists } from "../audit/facts";
import { readLists } from "../audit/reader";
import { addClusterCommand, type Flags, type Shell } from "../command";
import { operatorOption } from "../explain/command";
import { PartialReader } from "../reader";
import type { Session } from "../session";
import { describeMode, describeSubject } from "../subject";
import { Exit, type ExitCode, type Look, wrapText } from "../terminal";
import { asApplied, type FileObject, parseObjects, readText } from "./documents";
import { type ClusterPlan, type NamespacePlanned, planNamespaces } from "./plan-cluster";
import { type ObjectPlan, planObject, type RemedyPlan, type Step } from "./plan-object";
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
      "Let the operator's own code observe and plan for the ControllerResiliences and ClusterControllerResiliences of a file, and print what it sees, what it would do, and why not. It reads logs once, and cannot write. It needs no operator in the cluster. Admission policies are not asked. The exit code is 2 if it would change something now. With -n, a ClusterControllerResilience is planned for that namespace only.",
    examples: [
      ["plan -f resilience.yaml", "objects of a file"],
      ["plan -f resilience.yaml -o json", "for a pipeline: exit code 2 if the operator would change something"],
    ],
    formats: ["json", "yaml"],
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
  const reader = new PartialReader(session);
  const operator = await findOperator(session, reader, flags.operatorNamespace);
  const tools = createTools(session, operator, reader);
  const plans: (ObjectPlan | ClusterPlan)[] = [];
  for (const object of objects) plans.push(await planOne(session, object, tools));
  const report: PlanReport = {
    server: session.server,
    operator: describeOperator(operator),
    plans,
    unknown: reader.unread,
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

async function findOperator(session: Session, reader: PartialReader, namespace: string): Promise<OperatorPlace> {
  const versions = await session.servedVersions();
  if (versions.length > 0 && !versions.includes(VERSION)) await session.requireCrd();
  const state = await reader.operator(namespace);
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
  const { name } = file.object.metadata;
  const place = file.kind === KIND ? { namespace: file.object.metadata.namespace, name } : { name };
  const raw = (await tools.reader.get(KINDS[file.kind], place)) ?? undefined;
  if (file.kind === KIND) {
    const live = raw && ownView(KIND, raw)?.object;
    return planObject(asApplied(file.object, live, now), live !== undefined, tools);
  }
  const live = raw && ownView(CLUSTER_KIND, raw)?.object;
  const owner = asApplied(file.object, live, now);
  const namespace = session.isNamespaceChosen ? session.namespace : undefined;
  const lists = await readLists(session, tools.reader, namespace);
  return planCluster(owner, live !== undefined, { lists, namespace }, tools);
}

async function planCluster(
  owner: Extract<FileObject, { kind: typeof CLUSTER_KIND }>["object"],
  exists: boolean,
  { lists, namespace }: { readonly lists: Lists; readonly namespace: string | undefined },
  tools: PlanTools,
): Promise<ClusterPlan> {
  const others = (lists.clusterObjects ?? []).filter(({ metadata }) => metadata.name !== owner.metadata.name);
  const applied = { ...lists, clusterObjects: [...others, owner] };
  // What was not read must not look as if it were gone.
  const facts = (lists.isWhole === true && coverageIn(applied, namespace, tools.operatorNamespace)) || [];
  const areAll = namespace === undefined;
  const { generated, lost, ...found } = planNamespaces(owner, facts, tools.readers.clock.now(), areAll);
  if (!areAll && lost > 0)
    tools.reader.note(
      `whether ${count(lost, "workload")} may lose protection now: all namespaces show that, without -n`,
    );
  const objects: ObjectPlan[] = [];
  for (const one of generated.slice(0, MOST_OBJECTS)) objects.push(await planObject(one.object, one.exists, tools));
  const left = generated.length - objects.length;
  if (left > 0) tools.reader.note(`${count(left, "more generated object")}: one plan covers ${MOST_OBJECTS}; use -n`);
  return {
    kind: CLUSTER_KIND,
    name: owner.metadata.name,
    exists,
    suspended: owner.spec.suspend,
    ...found,
    objects,
  };
}

/** Everything that `plan` has found. */
export interface PlanReport {
  readonly server: string;
  readonly operator: string;
  readonly plans: readonly (ObjectPlan | ClusterPlan)[];
  /** What was not read or is not known. */
  readonly unknown: readonly string[];
}

/** Formats plans for a person, in lines of at most `columns`. Pure. */
export function formatPlans({ operator, plans, unknown }: PlanReport, look: Look): string {
  const lines = [
    ...wrapText(`Operator: ${operator}. Nothing was changed.`, "", look.columns),
    ...plans.flatMap(plan => ["", ...("remedies" in plan ? formatObject(plan, look) : formatCluster(plan, look))]),
    ...(unknown.length === 0 ? [] : ["", look.paint("yellow", "INCOMPLETE: not readable, so unknown")]),
    ...unknown.flatMap(sentence => wrapText(sentence, "  - ", look.columns)),
  ];
  return `${lines.join("\n")}\n`;
}

function formatObject(plan: ObjectPlan, look: Look): string[] {
  const { exists, mode, suspended, remedies } = plan;
  return [
    `${look.paint("bold", describeSubject(plan))}  ${exists ? "exists" : "new"}, ${describeMode(mode)}`,
    ...(suspended ? ["  suspended: the operator would do nothing"] : []),
    ...remedies.flatMap(remedy => ["", ...formatRemedy(remedy, look)]),
  ];
}

function formatRemedy({ remedy, condition, status, reason, message, sees, would }: RemedyPlan, look: Look): string[] {
  const style = status === "True" ? "green" : status === "Unknown" ? "yellow" : "red";
  const wrap = (text: string, prefix: string): string[] => wrapText(text, prefix, look.columns);
  return [
    `${look.paint("cyan", remedy)}  ${look.paint(style, `${condition} ${status}`)} ${reason}`,
    ...(would.length === 0 ? ["  would change nothing now"] : []),
    ...would.flatMap(step => wrap(describeStep(step, message), "  ")),
    ...wrap(message, "  why    "),
    ...sees.flatMap(text => wrap(text, "  sees   ")),
  ];
}

const VERBS: Readonly<Record<Step["verb"], string>> = {
  create: "create",
  apply: "create or change",
  patch: "change",
  delete: "delete",
  evict: "evict",
};

/** Describes a write, with its reason unless the message has it. */
function describeStep(step: Step, message: string): string {
  const { verb, why, unless } = step;
  const when = unless === undefined ? "would now" : `not now (${unless}), else it would`;
  return `${when} ${VERBS[verb]} ${describeSubject(step)}${message.includes(why) ? "" : `: ${why}`}`;
}

/** Namespaces that are shown; `-o json` has all. */
const SHOWN = 20;

function formatCluster(plan: ClusterPlan, look: Look): string[] {
  const { exists, suspended, namespaces, excludedNamespaces, kept, objects } = plan;
  const workloads = namespaces.reduce((sum, { selected }) => sum + selected.length, 0);
  return [
    `${look.paint("bold", describeSubject(plan))}  ${exists ? "exists" : "new"}${suspended ? ", suspended" : ""}`,
    `  selects ${count(workloads, "workload")} in ${count(namespaces.length, "namespace")}`,
    ...(Object.keys(excludedNamespaces).length === 0
      ? []
      : wrapText(countsOf(excludedNamespaces), "  namespaces not selected: ", look.columns)),
    ...(kept === 0 ? [] : [`  not selected any more, but protected until a person allows to remove it: ${kept}`]),
    ...namespaces.slice(0, SHOWN).flatMap(namespace => formatNamespace(namespace, look)),
    ...(namespaces.length > SHOWN ? [`  and ${count(namespaces.length - SHOWN, "more namespace")}: see -o json`] : []),
    ...objects.flatMap(object => ["", ...formatObject(object, look)]),
  ];
}

function formatNamespace({ namespace, mode, selected, notSelected, writes }: NamespacePlanned, look: Look): string[] {
  return [
    `  ${look.paint("cyan", namespace)}  mode ${mode}`,
    ...(selected.length === 0 ? [] : wrapText(selected.join(", "), "    selects  ", look.columns)),
    ...(Object.keys(notSelected).length === 0 ? [] : wrapText(countsOf(notSelected), "    not      ", look.columns)),
    ...writes.flatMap(({ verb, name, why }) =>
      wrapText(`${verb} ControllerResilience ${name}: ${why}`, "    would    ", look.columns),
    ),
  ];
}

function countsOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([reason, count]) => `${count} ${reason}`)
    .join(", ");
}
