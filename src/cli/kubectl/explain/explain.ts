import { ConditionType, EngineReason, SUMMARIES } from "../../../api/conditions";
import type { ClusterControllerResilience } from "../../../api/cluster-controller-resilience";
import type { ControllerResilience, StatusCondition } from "../../../api/controller-resilience";
import { KIND, SKIP_ANNOTATION } from "../../../api/names";
import { type Mode, modeOf } from "../../../core/remedy";
import { matchesSelector } from "../../../core/views";
import { createRemedies } from "../../../remedies/registry";
import type { EventFacts, OperatorState } from "../reader";
import { describeMode, describeSubject, type Subject } from "../subject";
import { type Look as Plain, safeText, when, wrapText } from "../terminal";
import { evidenceOf, idOf, type Moment, timelineOf } from "./evidence";
import type { LiveSubject } from "./live";
import { type Action, actionsFor, type ExplainedCondition, whyNothing } from "./next";

/** What was read for an explanation. */
export interface ExplainFacts {
  readonly nowMs: number;
  readonly subject: Subject;
  /** The subject and what it belongs to, as the API server has it now. Absent for a ControllerResilience. */
  readonly live?: LiveSubject;
  readonly objects: readonly ControllerResilience[];
  readonly events: readonly EventFacts[];
  /** Absent if the Lease could not be read. */
  readonly operator?: OperatorState;
  /** Reads that were refused or have failed, each with its reason. */
  readonly unread: readonly string[];
}

/** Why one object of the operator is in its state. */
export interface ObjectExplanation extends Subject {
  readonly mode: Mode;
  readonly suspended: boolean;
  readonly conditions: readonly ExplainedCondition[];
  readonly evidence: readonly string[];
  /** Why the operator does nothing; absent: it acts. */
  readonly next?: string;
  readonly actions: readonly Action[];
  /** What happened last, newest last. */
  readonly timeline: readonly Moment[];
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

/** Most moments that are shown of one object, the newest. */
const MOMENTS_SHOWN = 8;

/** Explains a subject by the ControllerResiliences that concern it. Pure. */
export function explain(facts: ExplainFacts): Explanation {
  const { subject, operator, unread } = facts;
  return {
    subject: describeSubject(subject),
    live: describeLive(facts),
    ...(operator === undefined ? {} : { operator }),
    objects: concerned(facts).map(object => explainObject(object, facts)),
    unread,
  };
}

function describeLive({ live }: ExplainFacts): string[] {
  const { notes = [], skippedBy = [] } = live ?? {};
  const skipped = `The operator does not act on ${skippedBy.join(", ")}: annotation ${SKIP_ANNOTATION}.`;
  return skippedBy.length === 0 ? [...notes] : [...notes, skipped];
}

/** Returns the objects that concern the subject. */
function concerned({ objects, live, nowMs }: ExplainFacts): readonly ControllerResilience[] {
  return live === undefined ? objects : objects.filter(object => concerns(object, live, nowMs));
}

/** Reports whether the spec or the status of an object names the subject, or what the subject belongs to. */
function concerns(object: ControllerResilience, live: LiveSubject, nowMs: number): boolean {
  const named = [...evidenceOf(object, { nowMs, acts: false }), ...timelineOf(object, [])];
  if (named.some(({ about }) => about.some(id => live.ids.includes(id)))) return true;
  if (live.namespace !== undefined && object.metadata.namespace !== live.namespace) return false;
  const isBound = object.spec.bindingRenewal?.bindings.some(({ kind, name }) =>
    live.ids.includes(idOf(kind, name, object.metadata.namespace)),
  );
  return (
    isBound === true ||
    object.spec.targets.some(({ kind, name, selector }) =>
      name === undefined
        ? live.labelled.some(
            one => one.kind === kind && selector !== undefined && matchesSelector(one.labels, selector),
          )
        : live.ids.includes(idOf(kind, name)),
    )
  );
}

function explainObject(object: ControllerResilience, facts: ExplainFacts): ObjectExplanation {
  const { nowMs, live } = facts;
  const isShown = (about: readonly string[]): boolean => live === undefined || about.some(id => live.ids.includes(id));
  const conditions = explainConditions(object);
  const { name, namespace } = object.metadata;
  const next = whyNothing(object, facts.operator?.leads !== false);
  return {
    ...{ kind: KIND, namespace, name, mode: modeOf(object), suspended: object.spec.suspend },
    conditions,
    evidence: evidenceOf(object, { nowMs, acts: next === undefined }).flatMap(({ about, text }) =>
      isShown(about) ? [safeText(text)] : [],
    ),
    ...(next !== undefined && { next }),
    actions: actionsFor(object, conditions, facts.operator),
    timeline: timelineOf(
      object,
      facts.events.filter(event => event.uids.includes(object.metadata.uid) && isShownEvent(event, live)),
    )
      .filter(({ about }) => about.includes(idOf(KIND, name)) || isShown(about))
      .slice(-MOMENTS_SHOWN),
  };
}

/** An Event about an object of the subject, and not about an earlier one of that name. */
function isShownEvent({ kind, name, uids }: EventFacts, live: LiveSubject | undefined): boolean {
  if (live === undefined || kind === KIND) return true;
  const id = idOf(kind, name);
  const uid = live.uids.get(id);
  return live.ids.includes(id) && (uid === undefined || uids.includes(uid));
}

const HELP: ReadonlyMap<string, string> = new Map(
  createRemedies().flatMap(({ condition, reasons }) =>
    Object.entries(reasons).map(([reason, { help }]) => [`${condition} ${reason}`, plain(help)] as const),
  ),
);

/** Help of the reasons that the engine gives to any condition. */
const SHARED_HELP: Readonly<Record<string, string>> = {
  [EngineReason.Suspended]: "The object is suspended: nothing is read, decided or changed.",
  [EngineReason.ObserveFailed]: "A read failed; the remedy does nothing until it succeeds.",
  [EngineReason.DecideFailed]: "This is a bug of the operator: please report it. The remedy does nothing.",
  [EngineReason.Forbidden]: "Grant the operator the right that the message names.",
};

/** Help texts are Markdown. */
function plain(help: string): string {
  return help.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1").replaceAll("`", "");
}

function isNegative(type: string): boolean {
  return type === ConditionType.Stalled || type === ConditionType.Reconciling;
}

/** Reports whether a condition needs attention, if it is shown. */
function isBad({ type, status }: Pick<StatusCondition, "type" | "status">): boolean {
  return isNegative(type) || status !== "True";
}

/** The conditions, those that need attention first. Reconciling and Stalled appear only if they say something. */
export function explainConditions({
  status,
}: Pick<ControllerResilience | ClusterControllerResilience, "status">): ExplainedCondition[] {
  const shown = (status?.conditions ?? []).filter(({ type, status: value }) => !isNegative(type) || value === "True");
  return shown
    .toSorted((a, b) => Number(isBad(b)) - Number(isBad(a)))
    .map(({ type, status: value, reason, message, lastTransitionTime }) => {
      const help = HELP.get(`${type} ${reason}`) ?? SHARED_HELP[reason];
      return { type, status: value, reason, message, lastTransitionTime, ...(help === undefined ? {} : { help }) };
    });
}

export interface Look extends Plain {
  readonly nowMs: number;
  /** No replica of the operator leads, so nobody knows whether conditions still hold. */
  readonly isStale?: boolean;
}

/** Formats an explanation for a person, in lines of at most `columns`. Pure. */
export function formatExplanation(explanation: Explanation, look: Look): string {
  const { subject, live, operator, objects, unread } = explanation;
  const lines = [
    look.paint("bold", subject),
    ...live.flatMap(note => wrapText(note, "  ", look.columns)),
    ...(operator === undefined ? [] : describeOperator(operator, look)),
    ...objects.flatMap(object => [
      "",
      ...formatObject(object, subject, { ...look, isStale: operator?.leads === false }),
    ]),
    ...(objects.length === 0 ? ["", ...formatNone(unread, look)] : []),
    ...section("Not readable, so unknown", unread, look),
  ];
  return `${lines.join("\n")}\n`;
}

function formatNone(unread: readonly string[], { columns }: Look): string[] {
  const sentence =
    unread.length > 0
      ? "No ControllerResilience that concerns it could be read."
      : "No ControllerResilience concerns it: the operator leaves it alone. To protect it, name its workload in spec.targets (docs/api.md).";
  return wrapText(sentence, "", columns);
}

/** Says whether the operator works. */
function describeOperator({ leads, renewTime, breaker, lease }: OperatorState, look: Look): string[] {
  const last = renewTime === undefined ? "" : `; Lease renewed ${when(renewTime, look.nowMs)}`;
  const state = leads ? "Operator: works" : "Operator: no replica leads, so nothing happens until one does";
  const tripped = breaker === undefined ? "" : ` Restart breaker: tripped (Lease ${lease}): ${breaker}.`;
  return wrapText(`${state}${last}.${tripped}`, "  ", look.columns);
}

function formatObject(object: ObjectExplanation, subject: string, look: Look): string[] {
  const { conditions, evidence, next, actions, timeline, mode, suspended } = object;
  const title = describeSubject(object);
  const flags = `${describeMode(mode)}${suspended ? ", suspended" : ""}`;
  return [
    title === subject ? `  ${flags}` : `${look.paint("bold", title)}  ${flags}`,
    ...heading(
      look.isStale === true && conditions.length > 0 ? "State that the last leader left; now unknown" : "State",
      look,
    ),
    ...(conditions.length === 0 ? ["  none: the operator has reported nothing yet"] : []),
    ...conditions.flatMap(condition => formatCondition(shortened(condition, conditions), look)),
    ...section("Evidence", evidence, look),
    ...section("Next", next === undefined ? [] : [next], look),
    ...formatActions(actions, look),
    ...formatTimeline(timeline, look),
  ];
}

/** Leaves out of Ready, Reconciling and Stalled what the conditions of remedies say. */
function shortened(condition: ExplainedCondition, all: readonly ExplainedCondition[]): ExplainedCondition {
  if (!SUMMARIES.includes(condition.type)) return condition;
  const told = all.filter(({ type, message }) => !SUMMARIES.includes(type) && message !== "");
  const isTold = told.some(({ message }) => message.includes(condition.message));
  const message = isTold ? "" : told.reduce((text, one) => text.replace(one.message, ""), condition.message).trim();
  return message === condition.message ? condition : { ...condition, message, help: "" };
}

/** Formats what happened, the newest last. */
export function formatTimeline(moments: readonly Moment[], look: Look): string[] {
  return section(
    "Timeline",
    moments.map(({ time, what, text }) => `${when(time, look.nowMs)} ${what}: ${text}`),
    look,
  );
}

/** A command stays on one line, so that it can be copied. */
function formatActions(actions: readonly Action[], look: Look): string[] {
  if (actions.length === 0) return [];
  const lines = actions.flatMap(({ text, command }) => [
    ...wrapText(text, "  - ", look.columns),
    ...(command === undefined ? [] : [`    ${command}`]),
  ]);
  return [...heading("What you can do", look), ...lines];
}

/** Help and messages that say no more than True. */
const CALM: ReadonlySet<string> = new Set(["No action required.", "All remedies report True."]);

/** Formats a condition, with its message unless all is well, and its help if it needs attention. */
function formatCondition(condition: ExplainedCondition, look: Look): string[] {
  const { paint, columns, nowMs, isStale = false } = look;
  const { type, status, reason, message, lastTransitionTime, help = "" } = condition;
  const isGood = !isBad(condition);
  const style = isStale || status === "Unknown" ? "yellow" : isGood ? "green" : "red";
  const told = (text: string, indent: string): string[] => (text === "" ? [] : wrapText(text, indent, columns));
  const [state, since] = isStale ? [`${type} was ${status}`, "since"] : [`${type} ${status}`, `${status} since`];
  return [
    `  ${paint(style, state)} ${reason}; ${since} ${when(lastTransitionTime, nowMs)}`,
    ...(isGood && [help, message].some(text => CALM.has(text)) ? [] : told(message, "    ")),
    ...(isGood ? [] : told(help, "    help: ")),
  ];
}

/** Formats a list with its title; nothing without items. */
function section(title: string, items: readonly string[], look: Look): string[] {
  const lines = items.flatMap(item => wrapText(item, "  - ", look.columns));
  return lines.length === 0 ? [] : [...heading(title, look), ...lines];
}

function heading(title: string, { paint }: Look): string[] {
  return ["", paint("cyan", title)];
}
