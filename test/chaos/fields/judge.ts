import type { Plot } from "./census";
import { differences } from "../differences";
import type { Course } from "./course";
import type { Value } from "./values";

/** The end that a value has come to, and what it is held against. */
export interface Ends {
  readonly seen: Plot;
  /** The end of the value before. */
  readonly before: Plot;
  /** The end of an object that never had another value; undefined where there is none. */
  readonly fresh?: Plot | undefined;
}

/** What is wrong about the end that a value has come to, by what was promised. */
export interface Judgement {
  readonly fresh?: readonly string[];
  readonly before?: readonly string[];
  readonly told?: readonly string[];
}

/** Holds the end of a value against what it has to be. Pure. */
export function judge(field: string, { oracle = "fresh", says }: Value, { seen, before, fresh }: Ends): Judgement {
  return {
    ...(says === undefined ? {} : { told: tells(seen, says) }),
    ...(oracle === "before" ? { before: differences(seen.made, before.made) } : {}),
    ...(oracle === "fresh" && fresh !== undefined ? { fresh: asFresh(field, seen, fresh) } : {}),
  };
}

/** Something that rightly stays as it was when a field is changed. */
interface Stays {
  readonly field: RegExp;
  /** Of the places that differ. */
  readonly place: RegExp;
  readonly why: string;
}

/** As few as can be. */
const STAYS: readonly Stays[] = [
  {
    field: /^tokenLifetime$|^targets/,
    place: /^daemonsets.agent\.spec\.template/,
    why: "a template that was changed stays as it is when its block or its target goes (docs/remedies/token-lifetime.md)",
  },
  {
    field: /^tokenLifetime$/,
    place: /^status\.daemonSets\[0\]\.fingerprint/,
    why: "with the block its list in status goes, and with that what stood in the template before",
  },
  {
    field: /^targets/,
    place: /^status\.daemonSets: /,
    why: "what stood in the template of a DaemonSet that is no target any more is remembered",
  },
  {
    field: /^bindingRenewal/,
    place:
      /^status\.(bindings\[\d\]\.state|conditions\[2\]\.(reason|message)): "(ExpiringSoon|Current|\w+ soon expires)/,
    why: "when a binding ends depends on when it was renewed, and by what",
  },
  {
    field: /^bindingRenewal$|^bindingRenewal\.bindings/,
    place: /^status\.bindings\[\d\]\.lifeSeconds/,
    why: "a binding that was out of the spec is new when it comes back: its life is what its expiry says then",
  },
];

/** Differences from an object in which the field never was anything else. Pure. */
export function asFresh(field: string, seen: Plot, fresh: Plot): string[] {
  const stays = STAYS.filter(one => one.field.test(field));
  const all = differences({ ...seen.told, ...seen.made }, { ...fresh.told, ...fresh.made });
  return all.filter(line => !stays.some(({ place }) => place.test(line)));
}

/** A value for people. Pure. */
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
