import { floorMs, fractionNs, spellDay, spellSecond, utcMs } from "./calendar";
import { expiresAt, malformed, type Reading } from "./convention";
import { define } from "./define";
import { type Duration, LONGEST_GO_MS, spellCompound, spellWhole } from "./durations";
import { kyvernoDuration } from "./kyverno-duration";

const KEY = "cleanup.kyverno.io/ttl";
const EXPECTED = "a duration such as 90m, 24h or 7d, or a moment in UTC such as 2006-01-02 or 2006-01-02T150405Z";

/** ValueTtlDateLayout in api/kyverno/constants.go. */
const DAY = /^(\d{4})-(\d\d)-(\d\d)$/;

/** ValueTtlDateTimeLayout there. Go's `time.Parse` accepts a fraction after the seconds, although the layout has none. */
const SECOND = /^(\d{4})-(\d\d)-(\d\d)T(\d\d)(\d\d)(\d\d)(?:[.,](\d+))?Z$/;

type Found =
  | { readonly duration: Duration }
  | {
      readonly atMs: number;
      /** A value in each form: the one that was found, then finer ones. */
      readonly spellings: readonly ((atMs: number) => string)[];
    };

/**
 * Kyverno's label `cleanup.kyverno.io/ttl`: a duration from the creation of the object, otherwise a time in UTC (kyverno/kyverno
 * pkg/controllers/ttl/utils.go, parseDeletionTime; pkg/controllers/ttl/controller.go, reconcile). A zero deletes immediately.
 *
 * A duration of one unit keeps its unit if possible, in short form (`30days` becomes `45d`). Any other is written in hours, minutes and
 * seconds, which every version of Kyverno understands. All values are valid label values.
 */
export const kyvernoTtl = define({
  key: KEY,
  place: "labels",
  isRelative: marked => "duration" in (parse(marked.labels[KEY] ?? "") ?? {}),
  read(marked): Reading | null {
    const value = marked.labels[KEY];
    if (value === undefined) return null;
    const found = parse(value);
    if (found === undefined) return malformed(KEY, value, EXPECTED);
    return expiresAt("duration" in found ? marked.createdAtMs + floorMs(found.duration.ns) : found.atMs);
  },
  valuesFor(marked, atMs): string[] {
    const found = parse(marked.labels[KEY] ?? "");
    if (found === undefined) return [];
    if (!("duration" in found)) return found.spellings.map(spell => spell(atMs));
    const ms = Math.min(atMs - marked.createdAtMs, LONGEST_GO_MS);
    const { unit } = found.duration;
    return unit === undefined ? [spellCompound(ms)] : spellWhole(ms, unit);
  },
});

function parse(value: string): Found | undefined {
  const duration = kyvernoDuration(value);
  return duration === undefined ? (parseSecond(value) ?? parseDay(value)) : { duration };
}

function parseSecond(value: string): Found | undefined {
  const match = SECOND.exec(value);
  const ms = match === null ? undefined : utcMs(match.slice(1, 7).map(Number));
  if (ms === undefined) return undefined;
  return { atMs: ms + floorMs(fractionNs(match?.[7])), spellings: [spellCompact] };
}

function parseDay(value: string): Found | undefined {
  const fields = DAY.exec(value)?.slice(1).map(Number);
  const atMs = fields === undefined ? undefined : utcMs(fields);
  return atMs === undefined ? undefined : { atMs, spellings: [spellDay, spellCompact] };
}

/** `2006-01-02T150405Z`: a label value cannot contain a colon. */
function spellCompact(atMs: number): string {
  return spellSecond(atMs).replaceAll(":", "");
}
