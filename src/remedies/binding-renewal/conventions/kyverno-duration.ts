import { asUnit, type Duration, goDuration, int64 } from "./durations";

/** The names of each unit; `prefix` matches every name that begins with it: `days` and `dayz` are days. */
const NAMES: readonly { readonly ns: bigint; readonly names: readonly string[]; readonly prefix: string }[] = [
  { ns: 1n, names: ["ns"], prefix: "nano" },
  { ns: 1_000n, names: ["us", "\u00b5s"], prefix: "micro" },
  { ns: 1_000_000n, names: ["ms"], prefix: "milli" },
  { ns: 1_000_000_000n, names: ["s"], prefix: "sec" },
  { ns: 60_000_000_000n, names: ["m"], prefix: "min" },
  { ns: 3_600_000_000_000n, names: ["h", "hr"], prefix: "hour" },
  { ns: 86_400_000_000_000n, names: ["d"], prefix: "day" },
  { ns: 604_800_000_000_000n, names: ["w", "wk"], prefix: "week" },
];

/** Matches only at the start of a run of digits, so that no run is tried twice; the blanks are those of Go's `\s`. */
const PART = /(?<!\d)(\d+)[\t\n\f\r ]*([A-Za-z\u00b5]+)/g;

/**
 * Parses a duration as Kyverno does: `strfmt.ParseDuration` of kubernetes/kube-openapi (pkg/validation/strfmt/duration.go), which
 * differs from go-openapi's original. It accepts every duration of Go's `time.ParseDuration`. Otherwise it adds up all whole numbers
 * with a unit, in any case and anywhere in the text, and skips unknown text if it knows one unit: `1.5d` is five days. A sum beyond an
 * int64 wraps around; a single number beyond it makes the text invalid.
 */
export function kyvernoDuration(text: string): Duration | undefined {
  return goDuration(text) ?? anywhere(text);
}

function anywhere(text: string): Duration | undefined {
  let ns = 0n;
  let last: (typeof NAMES)[number] | undefined;
  const parts = [...text.matchAll(PART)];
  for (const [, digits = "", word = ""] of parts) {
    const amount = int64(digits);
    if (amount === undefined) return undefined;
    const name = word.toLowerCase();
    const unit = NAMES.find(({ names, prefix }) => names.includes(name) || name.startsWith(prefix));
    ns += amount * (unit?.ns ?? 0n);
    last = unit ?? last;
  }
  if (last === undefined) return undefined;
  return { ns: BigInt.asIntN(64, ns), unit: parts.length === 1 ? asUnit(last.names[0]) : undefined };
}
