import { spellDay, spellMinute, spellSecond, utcMs } from "./calendar";
import { expiresAt, malformed, type Reading } from "./convention";
import { define } from "./define";
import { asciiDigits } from "./python-digits";

const KEY = "janitor/expires";
const EXPECTED = "a moment in UTC, such as 2006-01-02, 2006-01-02T15:04 or 2006-01-02T15:04:05Z";

// The fields of Python's strptime (python/cpython Lib/_strptime.py, TimeRE): it accepts single digits, digits of other
// scripts, and a blank before a day of one digit. Letters of the pattern match in any case.
const DAY = String.raw`(\p{Nd}{4})-(1[0-2]|0[1-9]|[1-9])-(3[01]|[12]\p{Nd}|0[1-9]|[1-9]| [1-9])`;
const MINUTE = String.raw`${DAY}[Tt](2[0-3]|[01]\p{Nd}|\p{Nd}):([0-5]\p{Nd}|\p{Nd})`;
const SECOND = String.raw`${MINUTE}:(6[01]|[0-5]\p{Nd}|\p{Nd})[Zz]`;

/** DATETIME_PATTERNS in kube_janitor/helper.py, from the coarsest to the finest, and how each is written. */
const FORMS = [
  { pattern: new RegExp(`^${DAY}$`, "u"), spell: spellDay },
  { pattern: new RegExp(`^${MINUTE}$`, "u"), spell: spellMinute },
  { pattern: new RegExp(`^${SECOND}$`, "u"), spell: spellSecond },
] as const;

/**
 * kube-janitor's `janitor/expires`: a time in UTC (hjacobs/kube-janitor kube_janitor/helper.py, parse_expiry;
 * kube_janitor/janitor.py, handle_resource_on_expiry). A date means its start. An empty value is ignored.
 *
 * strptime accepts the seconds 60 and 61, but datetime does not, nor the year 0: kube-janitor ignores both as invalid.
 */
export const janitorExpires = define({
  key: KEY,
  place: "annotations",
  isRelative: () => false,
  read(marked): Reading | null {
    const value = marked.annotations[KEY];
    if (value === undefined || value === "") return null;
    const found = parse(value);
    return found === undefined ? malformed(KEY, value, EXPECTED) : expiresAt(found.atMs);
  },
  valuesFor(marked, atMs): string[] {
    const found = parse(marked.annotations[KEY] ?? "");
    return found === undefined ? [] : FORMS.slice(found.form).map(({ spell }) => spell(atMs));
  },
});

function parse(value: string): { atMs: number; form: number } | undefined {
  for (const [form, { pattern }] of FORMS.entries()) {
    const fields = pattern
      .exec(value)
      ?.slice(1)
      .map(field => Number(asciiDigits(field)));
    if (fields === undefined) continue;
    const atMs = fields[0] === 0 ? undefined : utcMs(fields);
    return atMs === undefined ? undefined : { atMs, form };
  }
  return undefined;
}
