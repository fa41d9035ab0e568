import { readFileSync } from "node:fs";
import { checkSpec, readYaml, type Schema } from "../../../src/cli/schema/check";
import { PROGRAMS } from "../programs/library";
import { HAPPENINGS } from "./happenings";
import type { Happening, Plan } from "./plan";

// A plan that a person has written or edited: a mistake is named, with what was expected.

const [NUMBER, TEXT, FLAG, ANY] = [{ type: "number" }, { type: "string" }, { type: "boolean" }, {}] as const;

const oneOf = (names: readonly string[]): Schema => ({ enum: names });

const listOf = (items: Schema): Schema => ({ type: "array", items });

/** Fields that must be there, and others that may be. */
const fields = (needed: Record<string, Schema>, others: Record<string, Schema> = {}): Schema => ({
  ...{ type: "object", required: Object.keys(needed), properties: { ...needed, ...others } },
});

const WORKLOAD = fields(
  {
    ...{ namespace: TEXT, name: TEXT, program: oneOf(PROGRAMS) },
    kind: oneOf(["Deployment", "StatefulSet", "DaemonSet"]),
  },
  {
    ...{
      shard: oneOf(PROGRAMS),
      sidecar: oneOf(PROGRAMS),
      replicas: NUMBER,
      leaseSeconds: NUMBER,
      tokenSeconds: NUMBER,
    },
    ...{ renewsEverySeconds: NUMBER, graceSeconds: NUMBER, isSkipped: FLAG, isPaused: FLAG },
    ...{ updateStrategy: oneOf(["OnDelete"]), maxUnavailable: ANY, progressDeadlineSeconds: NUMBER },
    ...{ nodeSelector: ANY, budgets: listOf(ANY), serviceAccount: TEXT, changesEveryMinutes: NUMBER },
  },
);

const BINDING = fields(
  { namespace: TEXT, name: TEXT, account: TEXT, expiresMs: NUMBER, lifeMs: NUMBER, consents: FLAG },
  { annotations: ANY },
);

const HAPPENING = fields(
  { atMs: NUMBER, what: oneOf(Object.keys(HAPPENINGS)) },
  { on: TEXT, forMs: NUMBER, amount: NUMBER, text: TEXT },
);

const PLAN = fields({
  ...{ seed: NUMBER, lastsMs: NUMBER, servers: NUMBER, operators: listOf(NUMBER), nodes: NUMBER },
  workloads: listOf(WORKLOAD),
  objects: listOf(fields({ name: TEXT, spec: ANY }, { namespace: TEXT })),
  ...{ bindings: listOf(BINDING), happenings: listOf(HAPPENING) },
});

/**
 * Reads a plan from a file.
 *
 * @throws Error that names the file, the place, what was expected and what was found
 */
export function readPlan(file: string): Plan {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    throw new Error(`${file}: expected a file with a world, got none`);
  }
  const [plan] = readYaml(text, file) as [Plan];
  const mistake = checkSpec(plan, PLAN, "plan")[0] ?? plan.happenings.map(subjectOf).find(Boolean);
  if (mistake !== undefined) throw new Error(`${file}: ${mistake}`);
  return plan;
}

function subjectOf({ what, on }: Happening, index: number): string | undefined {
  const subject = HAPPENINGS[what]!.on;
  if (subject === undefined || on !== undefined) return undefined;
  return `plan.happenings[${index}]: expected the field on, the ${subject} that ${what} happens to`;
}
