import type { BindingStatus } from "../../api/controller-resilience";
import type { Execution, Intent } from "../../core/intent";
import type { Decision } from "../../core/legacy-remedy";
import { describeUndone, undone } from "../../core/outcomes";
import { renewed } from "./build";
import { rightsFor, ruleOf } from "./rights";

/** What was carried out is noted in status; what was not is said. Pure. */
export function concludeBindings(decision: Decision, executions: readonly Execution[], now: Date): Decision {
  const done = executions.filter(({ outcome }) => outcome.result === "Executed").map(({ intent }) => intent);
  const bindings = (decision.parts?.bindings ?? []).map(entry => noted(entry, done, now));
  const concluded = { ...decision, parts: { ...decision.parts, bindings } };
  const [worst] = undone(executions);
  return worst === undefined ? concluded : hindered(concluded, worst);
}

function noted(entry: BindingStatus, done: readonly Intent[], now: Date): BindingStatus {
  const intent = done.find(({ target }) => target.kind === entry.kind && target.name === entry.name);
  if (intent?.renewal === undefined) return entry;
  const { expiryTime } = intent.renewal;
  const current: BindingStatus = { ...renewed(entry, intent.renewal, now), state: "Current", expiryTime };
  // A restored binding is another object, whose uid the next pass sees.
  if (intent.verb === "create") delete current.uid;
  return current;
}

function hindered(decision: Decision, worst: Execution): Decision {
  const { intent, outcome } = worst;
  const message = `${decision.message} Not done yet: ${describeUndone(worst)}.`;
  if (outcome.result === "Forbidden") return forbidden(decision, intent, message);
  const isRestore = intent.verb === "create";
  const isWorse = decision.status !== "True";
  return {
    ...decision,
    message,
    progressing: true,
    // A binding that waits for its renewal is still in force; one that waits to be restored is not.
    ...(isWorse ? {} : { status: isRestore ? "False" : "True", reason: isRestore ? "Restoring" : "Renewing" }),
  };
}

/** The API server knows better than the review of rights did: an admission policy, or a right that was taken away a moment ago. */
function forbidden(decision: Decision, { verb, target }: Intent, why: string): Decision {
  const entry = decision.parts?.bindings?.find(({ kind, name }) => kind === target.kind && name === target.name);
  const rights = entry === undefined ? [] : rightsFor(entry, verb === "create" ? "create" : "patch");
  const needed = rights.length === 0 ? "" : ` It takes ${rights.map(ruleOf).join(" and ")}.`;
  const reason = "RenewalForbidden";
  const message = `${why}${needed}`;
  return { ...decision, status: "False", reason, message, stalled: { reason, message } };
}
