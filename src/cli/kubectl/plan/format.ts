import type { Mode } from "../../../core/mode";
import { whyObserved } from "../../../core/mode";
import type { Paint } from "../io";
import { wrapText } from "../lines";
import type { ClusterPlan, NamespacePlanned } from "./plan-cluster";
import type { ObjectPlan, RemedyPlan } from "./plan-object";
import type { Step } from "./steps";

/** Everything that `plan` has found. */
export interface PlanReport {
  readonly server: string;
  readonly operator: string;
  readonly plans: readonly (ObjectPlan | ClusterPlan)[];
  /** What was not read or is not known. */
  readonly unknown: readonly string[];
}

interface Look {
  readonly paint: Paint;
  readonly columns: number;
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
    ...remedies.flatMap(remedy => ["", ...formatRemedy(remedy, look)]),
  ];
}

function modeOf(mode: Mode): string {
  return mode === "Enforce" ? "mode Enforce" : `only observes: ${whyObserved(mode)}`;
}

function formatRemedy({ remedy, condition, status, reason, message, sees, would }: RemedyPlan, look: Look): string[] {
  const style = status === "True" ? "green" : status === "Unknown" ? "yellow" : "red";
  return [
    `${look.paint("cyan", remedy)}  ${look.paint(style, `${condition} ${status}`)} ${reason}`,
    ...wrapText(message, "  ", look.columns),
    ...sees.flatMap(text => wrapText(text, "  sees   ", look.columns)),
    ...(would.length === 0 ? ["  would  change nothing now"] : []),
    ...would.flatMap(step => formatStep(step, look)),
  ];
}

const VERBS: Readonly<Record<Step["verb"], string>> = {
  create: "create",
  apply: "create or change",
  patch: "change",
  delete: "delete",
  evict: "evict",
};

function formatStep({ verb, kind, namespace, name, why, unless }: Step, { columns }: Look): string[] {
  const object = `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
  return [
    ...wrapText(`${VERBS[verb]} ${object}: ${why}`, "  would  ", columns),
    ...(unless === undefined ? [] : wrapText(unless, "  but not now: ", columns)),
  ];
}

/** Namespaces that are shown; `-o json` has all. */
const SHOWN = 20;

function formatCluster(plan: ClusterPlan, look: Look): string[] {
  const { name, exists, suspended, namespaces, excludedNamespaces, objects } = plan;
  const workloads = namespaces.reduce((sum, { selected }) => sum + selected.length, 0);
  return [
    `${look.paint("bold", `ClusterControllerResilience ${name}`)}  ${exists ? "exists" : "new"}${suspended ? ", suspended" : ""}`,
    `  selects ${workloads} workloads in ${namespaces.length} namespaces`,
    ...(Object.keys(excludedNamespaces).length === 0
      ? []
      : wrapText(countsOf(excludedNamespaces), "  namespaces not selected: ", look.columns)),
    ...namespaces.slice(0, SHOWN).flatMap(namespace => formatNamespace(namespace, look)),
    ...(namespaces.length > SHOWN ? [`  and ${namespaces.length - SHOWN} more namespaces: see -o json`] : []),
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
