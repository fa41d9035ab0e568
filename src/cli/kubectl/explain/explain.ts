import { ConditionType, EngineReason } from "../../../api/conditions";
import type { ClusterControllerResilience } from "../../../api/cluster-controller-resilience";
import type {
  ControllerResilience,
  ControllerResilienceStatus,
  StatusCondition,
} from "../../../api/controller-resilience";
import {
  BREAKER_ANNOTATION,
  CLUSTER_KIND,
  GENERATED_FOR_LABEL,
  KIND,
  MANAGED_BY_LABEL,
  MANAGER,
} from "../../../api/names";
import { isObject, type JsonObject, textOf, textsOf } from "../../../core/json";
import { type Mode, modeOf } from "../../../core/remedy";
import { generatedFor } from "../../../engine/cluster-wide/generated";
import { workloadsOf } from "../../../engine/cluster-wide/selection";
import { oneLine } from "../../../core/text";
import { createRemedies } from "../../../remedies/registry";
import { type EventFacts, OPERATOR_NAMESPACE, type OperatorState } from "../reader";
import type { Session } from "../session";
import { describeSubject, type Subject } from "../subject";
import { safeText, when } from "../terminal";
import type { LiveSubject } from "./live";

/** An object of the operator. */
export type OwnObject = ControllerResilience | ClusterControllerResilience;

/** What was read for an explanation. */
export interface ExplainFacts {
  readonly nowMs: number;
  readonly subject: Subject;
  /** The subject and what it belongs to, as the API server has it now. Absent for an object of the operator. */
  readonly live?: LiveSubject;
  readonly objects: readonly OwnObject[];
  readonly events: readonly EventFacts[];
  /** Absent if the Lease could not be read. */
  readonly operator?: OperatorState;
  /** Reads that were refused or have failed, each with its reason. */
  readonly unread: readonly string[];
  /** Makes a command line one for its cluster. */
  readonly session: Pick<Session, "command">;
}

/** A condition, with the help text of its reason. */
export interface ExplainedCondition
  extends Pick<StatusCondition, "type" | "status" | "reason" | "message" | "lastTransitionTime"> {
  readonly help?: string;
}

/** Something that a person can do. */
export interface Action {
  readonly text: string;
  /** A command line to copy. */
  readonly command: string;
}

/** Why one object of the operator is in its state. */
export interface ObjectExplanation extends Subject {
  readonly mode: Mode;
  /** In how many namespaces the mode of a ClusterControllerResilience is Enforce, in words. Absent: in none, as its own mode says. */
  readonly enforced?: string;
  readonly suspended: boolean;
  readonly conditions: readonly ExplainedCondition[];
  /** What status says besides. */
  readonly evidence: readonly string[];
  readonly actions: readonly Action[];
  /** The operator's last Events, newest last. */
  readonly timeline: readonly EventFacts[];
}

/** The answer of `explain`. */
export interface Explanation {
  readonly subject: string;
  /** What the API server says of the subject now. */
  readonly live: readonly string[];
  readonly operator?: OperatorState;
  readonly objects: readonly ObjectExplanation[];
  readonly unread: readonly string[];
}

/** Explains a subject by what the operator says of it: the status of the objects that concern it, and their Events. Pure. */
export function explain(facts: ExplainFacts): Explanation {
  const { subject, operator, unread, live, objects } = facts;
  const concerned = live === undefined ? objects : objects.filter(object => concerns(object, live));
  return {
    subject: describeSubject(subject),
    live: live?.notes ?? [],
    ...(operator === undefined ? {} : { operator }),
    objects: concerned.map(object => explainObject(object, facts)),
    unread,
  };
}

/** Reports whether the spec or the status of an object names the subject, or what the subject belongs to. */
function concerns(object: OwnObject, live: LiveSubject): boolean {
  const isNamed = (id: string): boolean => live.ids.includes(id);
  if (rowsOf(object).some(({ about }) => about.some(isNamed))) return true;
  if (!isNamespaced(object)) return false;
  const { namespace } = object.metadata;
  if (namespace !== (live.namespace ?? namespace)) return false;
  const bindings = object.spec.bindingRenewal?.bindings ?? [];
  return (
    bindings.some(({ kind, name }) => isNamed(`${kind}/${name}`)) ||
    [...workloadsOf(object, live.workloads)].some(isNamed)
  );
}

function isNamespaced(object: OwnObject): object is ControllerResilience {
  return object.kind === KIND;
}

function explainObject(object: OwnObject, { nowMs, live, events, operator, session }: ExplainFacts): ObjectExplanation {
  const { name, uid } = object.metadata;
  const mode = isNamespaced(object) ? modeOf(object) : object.spec.mode;
  const acts = operator?.leads !== false && !object.spec.suspend && mode === "Enforce";
  const isShown = ({ about }: Row): boolean => live === undefined || about.some(id => live.ids.includes(id));
  const told = events.filter(
    ({ kind, uids }) =>
      uids.includes(uid) && (live === undefined || kind === object.kind || uids.some(one => live.uids.has(one))),
  );
  return {
    ...(isNamespaced(object) ? { kind: KIND, namespace: object.metadata.namespace } : { kind: CLUSTER_KIND }),
    name,
    ...{ mode, ...enforcedBy(object), suspended: object.spec.suspend, conditions: explainConditions(object) },
    evidence: rowsOf(object)
      .filter(isShown)
      .map(row => textOfRow(row, { nowMs, acts })),
    actions: actionsFor(object, acts, operator).map(({ text, command }) => ({
      text,
      command: session.command(command),
    })),
    timeline: told.filter((event, i) => !told.slice(i + 1).some(later => isSame(event, later))).slice(-EVENTS_SHOWN),
  };
}

function enforcedBy(object: OwnObject): Pick<ObjectExplanation, "enforced"> {
  if (isNamespaced(object)) return {};
  const { enforced, namespaces = 0 } = object.status ?? {};
  if (enforced === undefined || (enforced === 0 && object.spec.mode === "Observe")) return {};
  return { enforced: `mode Enforce in ${enforced} of ${namespaces} namespaces` };
}

/** Most Events that are shown of one object, the newest. */
const EVENTS_SHOWN = 8;

function isSame(a: EventFacts, b: EventFacts): boolean {
  return a.kind === b.kind && a.name === b.name && a.reason === b.reason && a.note === b.note;
}

// What status says besides conditions: every field that has a meaning for a person, by one rule for all lists.

/** An entry of a list in status, or its numbers. */
interface Row {
  /** What it is about, such as `Deployment/web`. */
  readonly about: readonly string[];
  readonly fields: readonly (readonly [string, unknown])[];
}

/** Most restarts that are shown, the newest. */
const RESTARTS_SHOWN = 5;

/** Identify the entry, or are only for the operator. The time of the last 401 is written rarely, so it would look old. */
const HIDDEN = new Set(
  "kind name namespace workload serviceAccount uid podUID serviceAccountUID leaseVersion fingerprint generation latestExpiryTime lastUnauthorizedTime observedGeneration mode".split(
    " ",
  ),
);

/** What the operator will do only while it acts. */
const PLANNED = ["until", "renewTime"];

function rowsOf({ status = {} }: Pick<OwnObject, "status">): Row[] {
  const entries = Object.entries(status);
  const numbers = entries.filter(([name, value]) => typeof value === "number" && !HIDDEN.has(name));
  const rows = entries.flatMap(([list, value]): Row[] => {
    if (list === "conditions" || !Array.isArray(value)) return [];
    const shown = list === "restarts" ? value.slice(-RESTARTS_SHOWN) : value;
    return shown.filter(isObject).map(one => rowOf(list, one));
  });
  return [...(numbers.length === 0 ? [] : [{ about: ["in all"], fields: numbers }]), ...rows];
}

function rowOf(list: string, entry: JsonObject): Row {
  const { pod } = textsOf(entry);
  const fields = Object.entries(entry).filter(([field, value]) => typeof value !== "object" && !HIDDEN.has(field));
  return { about: [idOf(list, entry), ...(pod === undefined ? [] : [`Pod/${pod}`])], fields };
}

function idOf(list: string, entry: JsonObject): string {
  const { kind, name = "", namespace = "", workload, serviceAccount = "" } = textsOf(entry);
  if (workload !== undefined) return list === "suggestions" ? `${workload} may handle ${kind ?? ""}` : workload;
  const listed: Readonly<Record<string, string>> = {
    daemonSets: `DaemonSet/${name}`,
    conflicts: `conflict in ${namespace}`,
    flows: `ServiceAccount/${serviceAccount}`,
  };
  return listed[list] ?? (kind === undefined ? list : `${kind}/${name}`);
}

/** When an object is explained, and whether the operator acts on it then. */
interface View {
  readonly nowMs: number;
  readonly acts: boolean;
}

/** Returns what lists in status say, such as `Deployment/web: pods: 3; rejected pods: 1`. Pure. */
export function evidenceOf(status: ControllerResilienceStatus, view: View): string[] {
  return rowsOf({ status }).map(row => textOfRow(row, view));
}

function textOfRow({ about, fields }: Row, { nowMs, acts }: View): string {
  const told = fields
    .filter(([name]) => acts || !PLANNED.includes(name))
    .map(([name, value]) => {
      const words = name.replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`);
      return `${words}: ${/time$|^since$|^until$/i.test(name) ? when(textOf(value), nowMs) : String(value)}`;
    });
  return safeText(`${about[0] ?? ""}: ${told.join("; ")}`);
}

const HELP: ReadonlyMap<string, string> = new Map(
  createRemedies().flatMap(({ condition, reasons }) =>
    Object.entries(reasons).map(([reason, { help }]) => [`${condition} ${reason}`, plain(help)] as const),
  ),
);

/** Help of the reasons that the engine gives to any condition. */
const SHARED_HELP: ReadonlyMap<string, string> = new Map([
  [EngineReason.Suspended, "The object is suspended: nothing is read, decided or changed."],
  [EngineReason.ObserveFailed, "A read failed or still runs; the remedy does nothing until it succeeds."],
  [EngineReason.DecideFailed, "This is a bug of the operator: please report it. The remedy does nothing."],
  [EngineReason.Forbidden, "Grant the operator the right that the message names."],
]);

/** Help texts are Markdown. */
function plain(help: string): string {
  return help.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1").replaceAll("`", "");
}

function isNegative(type: string): boolean {
  return type === ConditionType.Stalled || type === ConditionType.Reconciling;
}

/** Reports whether a condition needs attention, if it is shown. */
export function isBad({ type, status }: Pick<StatusCondition, "type" | "status">): boolean {
  return isNegative(type) || status !== "True";
}

/** The conditions, those that need attention first. Reconciling and Stalled appear only if they say something. */
function explainConditions({ status }: Pick<OwnObject, "status">): ExplainedCondition[] {
  const shown = (status?.conditions ?? []).filter(({ type, status: value }) => !isNegative(type) || value === "True");
  return shown
    .toSorted((a, b) => Number(isBad(b)) - Number(isBad(a)))
    .map(({ type, status: value, reason, message, lastTransitionTime }) => {
      const help = HELP.get(`${type} ${reason}`) ?? SHARED_HELP.get(reason);
      return {
        type,
        status: value,
        reason: oneLine(reason),
        message,
        lastTransitionTime,
        ...(help === undefined ? {} : { help }),
      };
    });
}

/** The Lease could not be read. */
const UNKNOWN_OPERATOR = { leads: true, lease: `${OPERATOR_NAMESPACE}/${MANAGER}` };

/** The commands that help now, most urgent first. */
function actionsFor(
  object: OwnObject,
  acts: boolean,
  { leads, lease, breaker }: Pick<OperatorState, "leads" | "lease" | "breaker"> = UNKNOWN_OPERATOR,
): Action[] {
  const [namespace = ""] = lease.split("/");
  const tripped = breaker ?? object.status?.conditions?.find(({ reason }) => reason === "BreakerTripped");
  const find = { text: "find out why no replica of the operator leads:", command: `kubectl get pods -n ${namespace}` };
  const reset = {
    text: "find out why the restarts did not help, then reset the breaker:",
    command: `kubectl annotate lease -n ${namespace} ${MANAGER} ${BREAKER_ANNOTATION}-`,
  };
  const ofParts = isNamespaced(object) ? ofThrottles(object, acts) : [ofGenerated(object)];
  const resume = { text: "resume it:", command: patchOf(object, "spec.suspend", false) };
  return [
    ...(leads ? [] : [find]),
    ...(object.spec.suspend ? [resume] : []),
    ...(tripped === undefined ? [] : [reset]),
    ...ofParts,
  ];
}

function ofGenerated({ metadata }: OwnObject): Action {
  const command = `kubectl get cres -A -l ${GENERATED_FOR_LABEL}=${metadata.name}`;
  return { text: "see the state of each object that is generated for it:", command };
}

/** Authors of a status choose what it names, so no command that writes has a name of it. */
function ofThrottles(object: ControllerResilience, acts: boolean): Action[] {
  const { flows = [] } = object.status ?? {};
  const accounts = flows.filter(({ state }) => state === "Throttled").map(({ serviceAccount }) => serviceAccount);
  if (accounts.length === 0) return [];
  const fix = `fix the client of ServiceAccount ${accounts.join(", ")};`;
  // An operator that acts would restore the FlowSchema.
  const end = `${fix} to end the throttle early, until you set it back:`;
  if (acts) return [{ text: end, command: patchOf(object, "spec.flowIsolation.requestRate.onRunaway", "Report") }];
  const command = `kubectl get flowschemas -l ${MANAGED_BY_LABEL}=${MANAGER}`;
  return [{ text: `${fix} its FlowSchema throttles it (docs/remedies/flow-isolation.md):`, command }];
}

/** Returns the command that sets a field: in the owner of a generated object, in which the operator would undo it. */
function patchOf(object: OwnObject, own: string, value: unknown): string {
  const { name } = object.metadata;
  const [namespace, owner] = isNamespaced(object) ? [object.metadata.namespace, generatedFor(object)] : ["", name];
  // The owner has the blocks of its objects in a template.
  const inOwner = own.replace(/^spec\.(?!suspend$)/, "spec.template.");
  const [target, path] = owner === undefined ? [`cres ${name} -n ${namespace}`, own] : [`ccres ${owner}`, inOwner];
  const patch = path.split(".").reduceRight((inner, key) => ({ [key]: inner }), value);
  return `kubectl patch ${target} --type merge -p '${JSON.stringify(patch)}'`;
}
