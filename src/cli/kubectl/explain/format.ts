import { ConditionType } from "../../../api/conditions";
import { type Look as Plain, when, wrapText } from "../terminal";
import type { OperatorState } from "../reader";
import { describeSubject } from "../subject";
import type { Explanation, ObjectExplanation } from "./explain";
import type { Moment } from "./evidence";
import type { Action, ExplainedCondition } from "./next";

export interface Look extends Plain {
  readonly nowMs: number;
}

/** Formats an explanation for a person, in lines of at most `columns`. Pure. */
export function formatExplanation(explanation: Explanation, look: Look): string {
  const { subject, live, operator, objects, unread } = explanation;
  const lines = [
    look.paint("bold", subject),
    ...live.flatMap(note => wrapText(note, "  ", look.columns)),
    ...(operator === undefined ? [] : describeOperator(operator, look)),
    ...objects.flatMap(object => ["", ...formatObject(object, subject, look)]),
    ...(objects.length === 0 ? ["", ...formatNone(subject, unread, look)] : []),
    ...section("Not readable, so unknown", unread, look),
  ];
  return `${lines.join("\n")}\n`;
}

/** What is known of a ServiceAccount comes from status alone, which an object that is new does not have. */
const ACCOUNT_UNKNOWN =
  "No status of a ControllerResilience names this ServiceAccount. Ask about its workload: kubectl resilience explain deployment/NAME.";

function formatNone(subject: string, unread: readonly string[], { columns }: Look): string[] {
  if (unread.length === 0 && subject.startsWith("ServiceAccount ")) return wrapText(ACCOUNT_UNKNOWN, "", columns);
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
  const flags = `mode ${mode}${suspended ? ", suspended" : ""}`;
  return [
    title === subject ? `  ${flags}` : `${look.paint("bold", title)}  ${flags}`,
    ...heading("State", look),
    ...(conditions.length === 0 ? ["  none: the operator has reported nothing yet"] : []),
    ...conditions.flatMap(condition => formatCondition(shortened(condition, conditions), look)),
    ...section("Evidence", evidence, look),
    ...section(
      "Next",
      next.map(({ time, text }) => (time === undefined ? text : `${when(time, look.nowMs)}: ${text}`)),
      look,
    ),
    ...formatActions(actions, look),
    ...formatTimeline(timeline, look),
  ];
}

/** Ready repeats the message of the condition that is not as it should be. */
function shortened(condition: ExplainedCondition, all: readonly ExplainedCondition[]): ExplainedCondition {
  const { type, reason, message } = condition;
  const isRepeated = type === ConditionType.Ready && all.some(one => one.type !== type && one.message === message);
  if (!isRepeated) return condition;
  return { type, reason, message: "", status: condition.status, lastTransitionTime: condition.lastTransitionTime };
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

/** Formats a condition, with its message and help if it needs attention. */
function formatCondition(condition: ExplainedCondition, { paint, columns, nowMs }: Look): string[] {
  const { type, status, reason, message, lastTransitionTime, help } = condition;
  const isGood = status === "True" && type !== "Stalled" && type !== "Reconciling";
  const style = isGood ? "green" : status === "Unknown" ? "yellow" : "red";
  const lines = [
    `  ${paint(style, `${type} ${status}`)} ${reason}; ${status} since ${when(lastTransitionTime, nowMs)}`,
  ];
  if (!isGood && message !== "") lines.push(...wrapText(message, "    ", columns));
  if (!isGood && help !== undefined) lines.push(...wrapText(help, "    help: ", columns));
  return lines;
}

/** Formats a list with its title; nothing without items. @param lines formatted already, above the items */
function section(title: string, items: readonly string[], look: Look, lines: readonly string[] = []): string[] {
  if (items.length + lines.length === 0) return [];
  return [...heading(title, look), ...lines, ...items.flatMap(item => wrapText(item, "  - ", look.columns))];
}

function heading(title: string, { paint }: Look): string[] {
  return ["", paint("cyan", title)];
}
