import { expiresAt, malformed, type Marked, type Reading } from "./convention";
import { define } from "./define";
import { asUnit, MS_PER_UNIT, spellWhole, type Unit } from "./durations";
import { asciiDigits } from "./python-digits";

const KEY = "janitor/ttl";
const EXPECTED = "a whole number with s, m, h, d or w, such as 7d, or forever";

/** TTL_PATTERN in kube_janitor/helper.py: Python's `$` also matches before a line break at the end, and its `\d` any digit. */
const TTL = /^(\p{Nd}+)([smhdw])\n?$/u;

/**
 * kube-janitor's `janitor/ttl`: the time from the creation of the object (hjacobs/kube-janitor kube_janitor/helper.py, parse_ttl;
 * kube_janitor/janitor.py, handle_resource_on_ttl).
 *
 * kube-janitor never deletes with `forever` (in any case) or with zero. It ignores an empty value.
 */
export const janitorTtl = define({
  key: KEY,
  place: "annotations",
  isRelative: () => true,
  read(marked): Reading | null {
    const value = marked.annotations[KEY];
    if (value === undefined || value === "") return null;
    if (value.toLowerCase() === "forever") return { kind: "never" };
    const ttl = parse(value);
    if (ttl === undefined) return malformed(KEY, value, EXPECTED);
    return ttl.ms === 0 ? { kind: "never" } : expiresAt(marked.createdAtMs + ttl.ms);
  },
  valuesFor(marked: Marked, atMs): string[] {
    const ttl = parse(marked.annotations[KEY] ?? "");
    return ttl === undefined ? [] : spellWhole(atMs - marked.createdAtMs, ttl.unit);
  },
});

function parse(value: string): { ms: number; unit: Unit } | undefined {
  const match = TTL.exec(value);
  const unit = asUnit(match?.[2]);
  if (match === null || unit === undefined) return undefined;
  return { ms: Number(asciiDigits(match[1] ?? "")) * MS_PER_UNIT[unit], unit };
}
