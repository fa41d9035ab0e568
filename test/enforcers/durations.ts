// Durations as each enforcer parses them.

const MS_OF = { ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 } as const;
/** Go's own units. Kyverno also supports days and weeks, with another parser. */
const GO_UNITS = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"] as const;
/** Go uses 64-bit nanoseconds: some 292 years. */
const LONGEST_MS = 2 ** 63 / 1e6;

type Unit = keyof typeof MS_OF;

/** Milliseconds of kube-janitor's `\d+[smhdw]`; "never" for `forever` and for zero; undefined if it is neither. */
export function janitorDuration(text: string): number | "never" | undefined {
  if (text.toLowerCase() === "forever") return "never";
  const found = /^(\d+)([smhdw])$/.exec(text);
  if (!found) return undefined;
  const ms = Number(found[1]) * MS_OF[found[2] as Unit];
  return ms === 0 ? "never" : ms;
}

/** Kyverno: milliseconds of a TTL, which is a duration of Go, or else the sum of all whole numbers with a unit in it. */
export function kyvernoDuration(text: string): number | undefined {
  const ms = signedDuration(text, GO_UNITS);
  if (ms !== undefined) return ms;
  const parts = [...text.matchAll(/(\d+)\s*([A-Za-zµ]+)/g)]
    .map(([, count, unit]) => ({ count: Number(count), unit: longUnit(unit ?? "") }))
    .filter((part): part is { count: number; unit: Unit } => part.unit !== undefined);
  return parts.length === 0 ? undefined : sum(parts);
}

const LONG_NAMES: readonly (readonly [unit: Unit, names: readonly string[], stem: string])[] = [
  ["ns", ["ns"], "nano"],
  ["us", ["us", "µs"], "micro"],
  ["ms", ["ms"], "milli"],
  ["s", ["s"], "sec"],
  ["m", ["m"], "min"],
  ["h", ["h", "hr"], "hour"],
  ["d", ["d"], "day"],
  ["w", ["w", "wk"], "week"],
];

function longUnit(text: string): Unit | undefined {
  const unit = text.toLowerCase();
  return LONG_NAMES.find(([, names, stem]) => names.includes(unit) || unit.startsWith(stem))?.[0];
}

function signedDuration(text: string, units: readonly Unit[]): number | undefined {
  const unsigned = text.replace(/^[-+]/, "");
  if (unsigned === "0") return 0;
  // Longer names first, so that `ms` is not read as `m`.
  const names = [...units].sort((a, b) => b.length - a.length).join("|");
  const number = String.raw`(?:\d+\.?\d*|\.\d+)`;
  if (!new RegExp(`^(?:${number}(?:${names}))+$`).test(unsigned)) return undefined;
  const parts = [...unsigned.matchAll(new RegExp(`(${number})(${names})`, "g"))];
  const ms = sum(parts.map(([, count, unit]) => ({ count: Number(count), unit: unit as Unit })));
  return ms === undefined || !text.startsWith("-") ? ms : -ms;
}

function sum(parts: readonly { count: number; unit: Unit }[]): number | undefined {
  const ms = parts.reduce((total, { count, unit }) => total + count * MS_OF[unit], 0);
  return ms < LONGEST_MS ? ms : undefined;
}
