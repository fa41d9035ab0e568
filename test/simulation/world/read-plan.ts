import { readFileSync } from "node:fs";
import { PROGRAMS } from "../programs/library";
import { HAPPENINGS } from "./happenings";
import type { Happening, Plan } from "./plan";

// A plan that a person has written or edited: every mistake is named, with what was expected.

/** Says what is wrong with a value at a place; undefined if nothing is. */
type Check = (value: unknown, place: string) => string | undefined;

function wrong(place: string, expected: string, value: unknown): string {
  const got = `${expected.includes(", ") ? ";" : ","} got ${value === undefined ? "nothing" : JSON.stringify(value)}`;
  return `${place === "" ? "" : `${place}: `}expected ${expected}${got}`;
}

const a =
  (type: "number" | "string" | "boolean"): Check =>
  (value, place) =>
    typeof value === type ? undefined : wrong(place, `a ${type}`, value);

/** Such as a number of pods or a percentage, or the spec of an object. */
const anything: Check = (value, place) =>
  value === undefined || value === null ? wrong(place, "an object", value) : undefined;

const oneOf =
  (names: readonly string[]): Check =>
  (value, place) =>
    names.includes(value as string) ? undefined : wrong(place, `one of ${names.join(", ")}`, value);

const listOf =
  (check: Check): Check =>
  (value, place) =>
    Array.isArray(value)
      ? value.map((item, at) => check(item, `${place}[${at}]`)).find(Boolean)
      : wrong(place, "a list", value);

/** Fields that must be there, and others that may be. */
const fields =
  (needed: Readonly<Record<string, Check>>, others: Readonly<Record<string, Check>> = {}): Check =>
  (value, place) => {
    if (typeof value !== "object" || value === null) return wrong(place, "fields", value);
    const found = value as Readonly<Record<string, unknown>>;
    const checks = { ...needed, ...others };
    const unknown = Object.keys(found).find(name => checks[name] === undefined);
    if (unknown !== undefined) return wrong(place, `the fields ${Object.keys(checks).join(", ")}`, unknown);
    return Object.entries(checks)
      .filter(([name]) => name in needed || found[name] !== undefined)
      .map(([name, check]) => check(found[name], place === "" ? name : `${place}.${name}`))
      .find(Boolean);
  };

const [number, text] = [a("number"), a("string")];

const WORKLOAD = fields(
  {
    ...{ namespace: text, name: text, program: oneOf(PROGRAMS) },
    kind: oneOf(["Deployment", "StatefulSet", "DaemonSet"]),
  },
  {
    ...{ sidecar: oneOf(PROGRAMS), replicas: number, leaseSeconds: number, tokenSeconds: number },
    ...{ renewsEverySeconds: number, graceSeconds: number, isSkipped: a("boolean"), isPaused: a("boolean") },
    ...{ updateStrategy: oneOf(["OnDelete"]), maxUnavailable: anything, progressDeadlineSeconds: number },
    ...{ nodeSelector: anything, budgets: listOf(anything), serviceAccount: text, changesEveryMinutes: number },
  },
);

const BINDING = fields(
  {
    ...{ namespace: text, name: text, account: text, expiresMs: number, lifeMs: number },
    consents: a("boolean"),
  },
  { annotations: anything },
);

const HAPPENING = fields(
  { atMs: number, what: oneOf(Object.keys(HAPPENINGS)) },
  { on: text, forMs: number, amount: number, text },
);

const PLAN = fields({
  ...{ seed: number, lastsMs: number, servers: number, operators: listOf(number), nodes: number },
  workloads: listOf(WORKLOAD),
  objects: listOf(fields({ name: text, spec: anything }, { namespace: text })),
  ...{ bindings: listOf(BINDING), happenings: listOf(HAPPENING) },
});

/**
 * Reads a plan from a file.
 *
 * @throws Error that names the file, the place, what was expected and what was found
 */
export function readPlan(file: string): Plan {
  const plan = parse(file);
  const mistake = PLAN(plan, "") ?? (plan as Plan).happenings.map(subjectOf).find(Boolean);
  if (mistake !== undefined) throw new Error(`${file}: ${mistake}`);
  return plan as Plan;
}

function parse(file: string): unknown {
  let content: string;
  try {
    content = readFileSync(file, "utf8");
  } catch {
    throw new Error(`${file}: expected a file with a world, got none`);
  }
  try {
    return JSON.parse(content);
  } catch (error) {
    throw new Error(`${file}: expected JSON: ${(error as Error).message}`);
  }
}

function subjectOf({ what, on }: Happening, index: number): string | undefined {
  const subject = HAPPENINGS[what]?.on;
  return subject === undefined || on !== undefined
    ? undefined
    : wrong(`happenings[${index}]`, `"on", the ${subject} that ${what} happens to`, on);
}
