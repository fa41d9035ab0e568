import { modeOf } from "../../../../core/remedy";
import { formatDuration } from "../../../../core/time";
import type { BindingView } from "../../../../core/views";
import { type Expiry, readExpiry } from "../../../../remedies/binding-renewal/conventions";
import type { AuditFacts } from "../facts";
import type { Finding, Severity } from "../finding";

const DAY_MS = 86_400_000;

/** The postmortem's binding expired on a weekend: a week is the least time in which a person surely looks. */
const CRITICAL_MS = 7 * DAY_MS;
const WARNING_MS = 30 * DAY_MS;

/** States in status of what is renewed when its time comes. */
const RENEWED: ReadonlySet<string> = new Set(["Current", "ExpiringSoon"]);

/** Bindings that the operator does not renew, or has not renewed in time, by the time that is left, in every convention. */
export function expiringBindings({ bindings = [], objects, nowMs }: AuditFacts): Finding[] {
  const renewed = new Set(
    objects
      .filter(object => modeOf(object) === "Enforce" && !object.spec.suspend)
      .flatMap(({ metadata, status }) =>
        (status?.bindings ?? [])
          .filter(({ state, renewTime = "" }) => RENEWED.has(state) && Date.parse(renewTime) > nowMs)
          .map(({ kind, name }) => `${kind}/${kind === "RoleBinding" ? metadata.namespace : ""}/${name}`),
      ),
  );
  const left = bindings.filter(({ kind, namespace, name }) => !renewed.has(`${kind}/${namespace}/${name}`));
  return left.flatMap(binding => {
    const { earliest, malformed } = readExpiry(binding);
    if (earliest !== undefined) return [expiring(binding, earliest, nowMs)];
    return malformed.slice(0, 1).map(({ key, expected }) => ({
      ...base(binding),
      severity: "notice" as const,
      why: `its ${key} is not valid, so its enforcer never deletes it; expected ${expected}.`,
      wayOut: `Correct or remove ${key}.`,
      rank: Infinity,
    }));
  });
}

function expiring(binding: BindingView, { atMs, convention }: NonNullable<Expiry["earliest"]>, nowMs: number): Finding {
  const leftMs = atMs - nowMs;
  const accounts = binding.subjects
    .slice(0, 2)
    .map(({ kind, name, namespace }) => `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`);
  const [when, then] =
    leftMs <= 0
      ? [`expired ${formatDuration(-leftMs)} ago`, "once it is deleted, "]
      : [`expires in ${formatDuration(leftMs)}`, ""];
  return {
    ...base(binding),
    severity: severityOf(leftMs),
    why: `${when} (${convention.key}): ${then}${accounts.join(", ") || "no subject"} ${then === "" ? "then " : ""}loses ${binding.roleRef.kind} ${binding.roleRef.name}.`,
    wayOut: "Renew it, or protect the workload with bindingRenewal.",
    rank: atMs,
  };
}

function base({ kind, namespace, name }: BindingView): Pick<Finding, "check" | "kind" | "namespace" | "name"> {
  return { check: "ExpiringBinding", kind, namespace, name };
}

function severityOf(leftMs: number): Severity {
  if (leftMs < CRITICAL_MS) return "critical";
  return leftMs < WARNING_MS ? "warning" : "notice";
}
