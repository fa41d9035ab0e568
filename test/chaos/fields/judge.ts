import type { Plot } from "./census";
import { differences } from "../differences";
import type { Course } from "./course";
import type { Value } from "./values";

/** The final state after a value, and the states that it is compared with. */
export interface Ends {
  readonly seen: Plot;
  /** The final state of the previous value. */
  readonly before: Plot;
  /** The final state of an object that never had another value; undefined if there is none. */
  readonly fresh?: Plot | undefined;
}

/** Differences from the promised final state, by promise. */
export interface Judgement {
  readonly fresh?: readonly string[];
  readonly before?: readonly string[];
  readonly told?: readonly string[];
}

/** Compares the final state after a value with the promised state. Pure. */
export function judge(field: string, { oracle = "fresh", says }: Value, { seen, before, fresh }: Ends): Judgement {
  return {
    ...(says === undefined ? {} : { told: tells(seen, says) }),
    ...(oracle === "before" ? { before: differences(seen.made, before.made) } : {}),
    ...(oracle === "fresh" && fresh !== undefined ? { fresh: asFresh(field, seen, fresh) } : {}),
  };
}

/** A remnant of an earlier value that is correct. */
interface Stays {
  readonly field: RegExp;
  /** Matches the paths that may differ. */
  readonly place: RegExp;
  readonly why: string;
}

/** Keep this list as short as possible. */
const STAYS: readonly Stays[] = [
  {
    field: /^tokenLifetime$|^targets/,
    place: /^daemonsets.agent\.spec\.template/,
    why: "a changed template stays changed when its block or its target is removed (docs/remedies/token-lifetime.md)",
  },
  {
    field: /^tokenLifetime$/,
    place: /^status\.daemonSets\[0\]\.fingerprint/,
    why: "status loses the list with the block, and with it the record of the original template",
  },
  {
    field: /^targets/,
    place: /^status\.daemonSets: /,
    why: "status keeps the record of the original template of a DaemonSet that is no longer a target",
  },
  {
    field: /^bindingRenewal/,
    place:
      /^status\.(bindings\[\d\]\.state|conditions\[2\]\.(reason|message)): "(ExpiringSoon|Current|\w+ soon expires)/,
    why: "the expiry of a binding depends on the time and the settings of its last renewal",
  },
];

/** Differences from an object in which the field was never changed. Pure. */
export function asFresh(field: string, seen: Plot, fresh: Plot): string[] {
  const stays = STAYS.filter(one => one.field.test(field));
  const all = differences({ ...seen.told, ...seen.made }, { ...fresh.told, ...fresh.made });
  return all.filter(line => !stays.some(({ place }) => place.test(line)));
}

/** Formats a value. Pure. */
export function describeValue(
  { field, base }: Pick<Course, "field" | "base">,
  { value }: Pick<Value, "value">,
): string {
  const text = value === undefined ? "absent" : JSON.stringify(value);
  return `${field} ${text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}...` : text} (${base.name})`;
}

/** Longest value that is shown. */
const MOST_CHARACTERS = 60;

function tells({ object }: Plot, [type, reason]: readonly [string, string]): string[] {
  const conditions = object.status?.conditions ?? [];
  const found = conditions.find(condition => condition.type === type)?.reason;
  return found === reason ? [] : [`${type} says ${found ?? "nothing"}, expected ${reason}`];
}
