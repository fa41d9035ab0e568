import { count } from "../../../core/text";
import { type Mode, whyObserved } from "../../../core/remedy";
import { type Look, wrapText } from "../terminal";
import type { ClusterPlan, NamespacePlanned } from "./plan-cluster";
import type { ObjectPlan, RemedyPlan, Step } from "./plan-object";

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
  const { namespace, name, exists, mode, suspended, remedies } = plan;
  return [
    `${look.paint("bold", `ControllerResilience ${namespace}/${name}`)}  ${exists ? "exists" : "new"}, ${modeOf(mode)}`,
    ...(suspended ? ["  suspended: the operator would do nothing"] : []),
    ...remedies.flatMap(remedy => ["", ...formatRemedy(remedy, mode, look)]),
  ];
}

function modeOf(mode: Mode): string {
  return mode === "Enforce" ? "mode Enforce" : `only observes: ${whyObserved(mode)}`;
}

function formatRemedy(plan: RemedyPlan, mode: Mode, look: Look): string[] {
  const { remedy, condition, status, reason, message, sees, would } = plan;
  const style = status === "True" ? "green" : status === "Unknown" ? "yellow" : "red";
  return [
    `${look.paint("cyan", remedy)}  ${look.paint(style, `${condition} ${status}`)} ${reason}`,
    ...formatSteps(
      would.map(step => withoutMode(step, mode)),
      message,
      look,
    ),
    ...wrapText(message, "  why    ", look.columns),
    ...sees.flatMap(text => wrapText(text, "  sees   ", look.columns)),
  ];
}

const VERBS: Readonly<Record<Step["verb"], string>> = {
  create: "create",
  apply: "create or change",
  patch: "change",
  delete: "delete",
  evict: "evict",
};

/** The first line of the object has the mode. */
function withoutMode(step: Step, mode: Mode): Step {
  return mode !== "Enforce" && step.unless === whyObserved(mode) ? { ...step, unless: "it only observes" } : step;
}

/** The writes that would be made now come first, then those that are held back, by what holds them back. */
function formatSteps(steps: readonly Step[], message: string, { columns }: Look): string[] {
  if (steps.length === 0) return ["  would change nothing now"];
  const held = new Set(steps.flatMap(({ unless }) => unless ?? []));
  const said = [message];
  return [undefined, ...held].flatMap(unless => {
    const own = steps.filter(step => step.unless === unless);
    if (own.length === 0) return [];
    const title = unless === undefined ? "would now:" : `not now (${unless}), else it would:`;
    return [
      ...wrapText(title, "  ", columns),
      ...own.flatMap(step => wrapText(describeStep(step, said), "  - ", columns)),
    ];
  });
}

/** Describes a write, with its reason unless the reader has been told it. @param said what the reader has been told; grows */
function describeStep({ verb, kind, namespace, name, why }: Step, said: string[]): string {
  const step = `${VERBS[verb]} ${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
  const isSaid = why === `Creating ${kind} ${name}.` || said.some(text => text.includes(why));
  said.push(why);
  return isSaid ? step : `${step}: ${why}`;
}

/** Namespaces that are shown; `-o json` has all. */
const SHOWN = 20;

function formatCluster(plan: ClusterPlan, look: Look): string[] {
  const { name, exists, suspended, namespaces, excludedNamespaces, objects } = plan;
  const workloads = namespaces.reduce((sum, { selected }) => sum + selected.length, 0);
  return [
    `${look.paint("bold", `ClusterControllerResilience ${name}`)}  ${exists ? "exists" : "new"}${suspended ? ", suspended" : ""}`,
    `  selects ${count(workloads, "workload")} in ${count(namespaces.length, "namespace")}`,
    ...(Object.keys(excludedNamespaces).length === 0
      ? []
      : wrapText(countsOf(excludedNamespaces), "  namespaces not selected: ", look.columns)),
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
