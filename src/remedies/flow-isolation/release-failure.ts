import type { Execution } from "../../core/intent";
import { describeOutcome, pendingWrites } from "../../core/outcomes";

/** Says in words why a release failed, as the end of a sentence. The API server's own words are in the Events. Pure. */
export function whyNotReleased(executions: readonly Execution[]): string {
  const [worst] = pendingWrites(executions);
  // Only the next pass sees whether the cluster took the write up.
  if (worst === undefined) return "its changes do not last; find the client that reverts them";
  return whyRefused(worst) ?? whyFailed(worst);
}

/** Admission names who refused, also by a 500 where a webhook does not answer. */
function whyRefused({ outcome }: Execution): string | undefined {
  const text = describeOutcome({ outcome });
  const webhook = /webhook ("[^"]{1,253}")/.exec(text)?.[1];
  const policy = /ValidatingAdmissionPolicy '[^']{1,253}'/.exec(text)?.[0];
  const who = webhook === undefined ? policy : `admission webhook ${webhook}`;
  if (who === undefined) return undefined;
  return text.includes("denied")
    ? `${who} refused the change; correct its rules first`
    : `${who} failed; mend or remove it first`;
}

function whyFailed({ intent, outcome }: Execution): string {
  switch (outcome.result) {
    case "Forbidden":
      return `the operator lacks the right to change ${intent.target.kind}s`;
    case "Conflict":
      return "another client changes it at the same time";
    case "Limited":
      return `the change is ${describeOutcome({ outcome })}`;
    default:
      return /timed? ?out|deadline exceeded/i.test(describeOutcome({ outcome }))
        ? "the API server did not answer in time"
        : "the API server did not accept the change (see the Events of this object)";
  }
}
