import type { Outcomes, Report } from "../../../src/core/remedy";
import { summarize, targetNotFound, worstFirst, type Finding } from "../../../src/remedies/kit/finding";
import type { ToyItem, ToyPlan } from "./plan";
import { type Reason, REASONS } from "./reasons";

const ALL_LABELED: Finding<Reason> = { status: "True", reason: "Labeled", sentence: "Every target has the label toy." };

export function report({ items, missing }: ToyPlan, outcomes: Outcomes): Report<Reason> {
  const isLabeled = ({ id, intents }: ToyItem): boolean =>
    intents.length === 0 || (outcomes.get(id) ?? []).some(({ outcome }) => outcome.result === "Executed");
  const unlabeled = items
    .filter(item => !isLabeled(item))
    .map(({ workload }): Finding<Reason> => {
      return { status: "False", reason: "Unlabeled", sentence: `${workload} has no label toy.`, isProgressing: true };
    });
  const findings = worstFirst<Reason, Finding<Reason>>(REASONS, [...unlabeled, ...missing.map(targetNotFound)]);
  return {
    ...summarize(findings, ALL_LABELED, rest => `Plus ${rest} more; see status.toys.`),
    lists: { toys: items.map(item => ({ workload: item.workload, labeled: isLabeled(item) })) },
  };
}
