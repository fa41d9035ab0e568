import { AT_ONCE_MS, type Assessment } from "./assessment";
import { buildChange } from "./build";
import { aimOf, changesOf, entryOf, fingerprintOf, isRelease, MAX_CHANGES, nameOf, type Case } from "./case";
import {
  bounded,
  leftAlone,
  missingAccount,
  obstacle,
  rolling,
  ROLLING_MS,
  skipped,
  waitingFor,
  warningOf,
} from "./checks";
import { reverted, reverting } from "./revert";
import { withWatch } from "./watch";

type Check = (given: Case) => Assessment | undefined;

/** The first that has something to say decides. */
const CHECKS: readonly Check[] = [
  // Somebody asked for it to be left alone.
  skipped,
  // Its pods are answered 401 since: first of all, take it back.
  reverting,
  // It was taken back, and nothing has changed that would make the next try any better.
  reverted,
  // Nothing to bound, or nothing that can be.
  leftAlone,
  // A changed template would replace no pod.
  onDelete,
  // It has the bound; have its pods?
  rolling,
  bounded,
  // Somebody else wants it otherwise.
  contested,
  // One change at a time, and not into trouble that is there already.
  waiting,
  // Observe only reports.
  wouldChange,
  // What stood there before has to stand in status first, or nobody could put it back.
  planned,
];

/** What the checks say of a DaemonSet; if none of them does, its template is changed. */
export function assess(given: Case): Assessment {
  for (const check of CHECKS) {
    const assessment = check(given);
    if (assessment !== undefined) return withWatch(assessment, given);
  }
  return withWatch(change(given), given);
}

function onDelete(given: Case): Assessment | undefined {
  const { own, plan } = given;
  if (plan.kind !== "Change" || own.view.updateStrategy !== "OnDelete") return undefined;
  const sentence = `${nameOf(given)} is left alone: its updateStrategy is OnDelete, so a changed template would replace no pod; via: Admission does.`;
  return {
    status: "False",
    reason: "OnDeleteStrategy",
    sentence,
    entry: entryOf(given, "LeftAlone"),
    isStalled: true,
  };
}

function contested(given: Case): Assessment | undefined {
  const { view } = given.own;
  if (changesOf(given) < MAX_CHANGES) return undefined;
  const who = view.lastManager === undefined ? "" : `; field manager ${view.lastManager} wrote the DaemonSet last`;
  const sentence = `${nameOf(given)}: the change was made ${MAX_CHANGES} times, and taken back each time${who}. It is not made again before this object changes: let Git leave the field alone, or set via: Admission, which changes no DaemonSet (docs/remedies/token-lifetime.md).`;
  return {
    status: "False",
    reason: "FieldContested",
    sentence,
    entry: entryOf(given, "Contested"),
    isStalled: true,
  };
}

function waiting(given: Case): Assessment | undefined {
  if (isRelease(given)) return waitingToGiveBack(given);
  const why = obstacle(given);
  return why === undefined ? undefined : waitingFor(given, why);
}

function waitingToGiveBack(given: Case): Assessment | undefined {
  const why = missingAccount(given);
  if (why === undefined) return undefined;
  return waitingFor(given, why, `What was put into the template of ${nameOf(given)} is to be given back`);
}

function planned(given: Case): Assessment | undefined {
  const { record } = given.own;
  // By generation and template one who dies after the change is known to have made it.
  const isSame = record?.generation === given.facts.generation && record.fingerprint === fingerprintOf(given);
  if (record?.outcome === "Planned" && isSame) return undefined;
  const sentence = `${nameOf(given)} is about to be changed, so that ${aimOf(given)}.${warningOf(given)}`;
  return {
    status: "False",
    reason: "Planned",
    sentence,
    entry: entryOf(given, "Planned"),
    isProgressing: true,
    recheckAfterMs: AT_ONCE_MS,
  };
}

function wouldChange(given: Case): Assessment | undefined {
  if (given.facts.mode === "Enforce") return undefined;
  const sentence = `${nameOf(given)} would be changed now, so that ${aimOf(given)}.${warningOf(given)}`;
  const entry = entryOf(given, "Waiting");
  return { ...change(given), status: "False", reason: "WouldChange", sentence, entry, isProgressing: false };
}

function change(given: Case): Assessment {
  const { own, plan } = given;
  const why = `${nameOf(given)} is changed, so that ${aimOf(given)}; the DaemonSet replaces its pods at its own pace.${warningOf(given)}`;
  return {
    status: "False",
    reason: "Rolling",
    sentence: why,
    entry: entryOf(given, "Planned"),
    ...(plan.kind === "Change" ? { intents: [buildChange(own.view, plan.patch, why)] } : {}),
    isProgressing: true,
    recheckAfterMs: ROLLING_MS,
  };
}
