import { SUMMARIES } from "../../../api/conditions";
import type { OperatorState } from "../reader";
import { describeMode, describeSubject } from "../subject";
import { type Look as Plain, when, wrapText } from "../terminal";
import { type ExplainedCondition, type Explanation, isBad, type ObjectExplanation } from "./explain";

/** How an explanation looks. */
export interface Look extends Plain {
  readonly nowMs: number;
  /** No replica of the operator leads, so conditions may no longer hold. */
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
    ...(objects.length === 0 ? ["", ...formatNone(subject, unread, look)] : []),
    ...section("Not readable, so unknown", unread, look),
  ];
  return `${lines.join("\n")}\n`;
}

function formatNone(subject: string, unread: readonly string[], { columns }: Look): string[] {
  if (unread.length > 0) return wrapText("No ControllerResilience that concerns it could be read.", "", columns);
  const wayOut = /^(Cluster)?RoleBinding /.test(subject)
    ? "It has no expiry, or is of no target of one with bindingRenewal (docs/remedies/binding-renewal.md)."
    : "To protect it, name its workload in spec.targets (docs/api.md).";
  return wrapText(`No ControllerResilience concerns it: the operator leaves it alone. ${wayOut}`, "", columns);
}

/** Says whether the operator works. */
function describeOperator({ leads, renewTime, breaker, lease }: OperatorState, look: Look): string[] {
  const last = renewTime === undefined ? "" : `; Lease renewed ${when(renewTime, look.nowMs)}`;
  const none =
    renewTime === undefined
      ? ` in ${lease.split("/")[0] ?? ""}; if it is in another namespace, use --operator-namespace`
      : ", so nothing happens until one does";
  const state = leads ? "Operator: works" : `Operator: no replica leads${none}`;
  const tripped = breaker === undefined ? "" : ` Restart breaker: tripped (Lease ${lease}): ${breaker}.`;
  return wrapText(`${state}${last}.${tripped}`, "  ", look.columns);
}

function formatObject(object: ObjectExplanation, subject: string, look: Look): string[] {
  const { conditions, evidence, actions, timeline, mode, enforced, suspended } = object;
  const title = describeSubject(object);
  const flags = `${enforced ?? describeMode(mode)}${suspended ? ", suspended" : ""}`;
  return [
    title === subject ? `  ${flags}` : `${look.paint("bold", title)}  ${flags}`,
    ...heading(
      look.isStale === true && conditions.length > 0 ? "State that the last leader left; now unknown" : "State",
      look,
    ),
    ...(conditions.length === 0 ? ["  none: the operator has reported nothing yet"] : []),
    ...conditions.flatMap(condition => formatCondition(shortened(condition, conditions), look)),
    ...section("Evidence", evidence, look),
    ...(actions.length === 0 ? [] : heading("What you can do", look)),
    // A command stays on one line, so that it can be copied.
    ...actions.flatMap(({ text, command }) => [...wrapText(text, "  - ", look.columns), `    ${command}`]),
    ...section(
      "Timeline",
      timeline.map(({ time, reason, note }) => `${when(time, look.nowMs)} ${reason}: ${note}`),
      look,
    ),
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

/** The message of Ready that says no more than True. */
const CALM = "All remedies report True.";

/** Formats a condition with its message, which may name what the operator cannot tell, and its help if it needs attention. */
function formatCondition(condition: ExplainedCondition, look: Look): string[] {
  const { paint, columns, nowMs, isStale = false } = look;
  const { type, status, reason, message, lastTransitionTime, help = "" } = condition;
  const isGood = !isBad(condition);
  const style = isStale || status === "Unknown" ? "yellow" : isGood ? "green" : "red";
  const told = (text: string, indent: string): string[] => (text === "" ? [] : wrapText(text, indent, columns));
  const [state, since] = isStale ? [`${type} was ${status}`, "since"] : [`${type} ${status}`, `${status} since`];
  return [
    `  ${paint(style, state)} ${reason}; ${since} ${when(lastTransitionTime, nowMs)}`,
    ...(message === CALM ? [] : told(message, "    ")),
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
