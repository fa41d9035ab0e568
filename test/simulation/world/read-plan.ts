import { readFileSync } from "node:fs";
import { PROGRAMS } from "../programs/library";
import { HAPPENINGS } from "./happenings";
import type { Happening, Plan } from "./plan";

// A plan that a person has written or edited: every mistake is named, with what was expected.

/** What stands at a place of a plan: a type, one of some names, a list, or fields, of which those with `?` may be absent. */
type Shape =
  | "number"
  | "string"
  | "boolean"
  | "object"
  | { readonly oneOf: readonly string[] }
  | { readonly list: Shape }
  | { readonly fields: Readonly<Record<string, Shape>> };

const NAMED = { namespace: "string", name: "string" } as const;

const WORKLOAD: Shape = {
  fields: {
    ...NAMED,
    kind: { oneOf: ["Deployment", "StatefulSet", "DaemonSet"] },
    program: { oneOf: PROGRAMS },
    "sidecar?": { oneOf: PROGRAMS },
    ...{ "replicas?": "number", "leaseSeconds?": "number", "tokenSeconds?": "number" },
    ...{ "renewsEverySeconds?": "number", "graceSeconds?": "number" },
    ...{ "isSkipped?": "boolean", "isPaused?": "boolean", "updateStrategy?": { oneOf: ["OnDelete"] } },
    ...{ "maxUnavailable?": "object", "progressDeadlineSeconds?": "number", "nodeSelector?": "object" },
    ...{ "budgets?": { list: "object" }, "serviceAccount?": "string", "changesEveryMinutes?": "number" },
  },
};

const PLAN: Shape = {
  fields: {
    ...{ seed: "number", lastsMs: "number", servers: "number", operators: { list: "number" }, nodes: "number" },
    workloads: { list: WORKLOAD },
    objects: { list: { fields: { "namespace?": "string", name: "string", spec: "object" } } },
    bindings: {
      list: {
        fields: { ...NAMED, account: "string", expiresMs: "number", lifeMs: "number", consents: "boolean" },
      },
    },
    happenings: {
      list: {
        fields: {
          ...{ atMs: "number", what: { oneOf: Object.keys(HAPPENINGS) } },
          ...{ "on?": "string", "forMs?": "number", "amount?": "number", "text?": "string" },
        },
      },
    },
  },
};

/**
 * Reads a plan from a file.
 *
 * @throws Error that names the file, the place, what was expected and what was found
 */
export function readPlan(file: string): Plan {
  const plan = parse(file);
  const mistake = mistakeIn(plan, PLAN, "") ?? (plan as Plan).happenings.map(subjectOf).find(Boolean);
  if (mistake !== undefined) throw new Error(`${file}: ${mistake}`);
  return plan as Plan;
}

function parse(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    throw new Error(`${file}: expected a file with a world, got none`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${file}: expected JSON: ${(error as Error).message}`);
  }
}

/** Says what is wrong at a place; undefined if nothing is. */
function mistakeIn(value: unknown, shape: Shape, place: string): string | undefined {
  const at = place === "" ? "" : `${place}: `;
  if (typeof shape === "string") {
    // A number of pods or a percentage.
    const isRight = shape === "object" ? value !== undefined && value !== null : typeof value === shape;
    return isRight ? undefined : `${at}expected ${article(shape)}, got ${shown(value)}`;
  }
  if ("oneOf" in shape)
    return shape.oneOf.includes(value as string)
      ? undefined
      : `${at}expected one of ${shape.oneOf.join(", ")}; got ${shown(value)}`;
  if ("list" in shape) {
    if (!Array.isArray(value)) return `${at}expected a list, got ${shown(value)}`;
    return value.map((item, index) => mistakeIn(item, shape.list, `${place}[${index}]`)).find(Boolean);
  }
  return mistakeInFields(value, shape.fields, place);
}

function mistakeInFields(value: unknown, fields: Readonly<Record<string, Shape>>, place: string): string | undefined {
  const at = place === "" ? "" : `${place}: `;
  if (typeof value !== "object" || value === null) return `${at}expected fields, got ${shown(value)}`;
  const found = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(fields).map(name => name.replace("?", ""));
  const unknown = Object.keys(found).find(name => !names.includes(name));
  if (unknown !== undefined) return `${at}expected the fields ${names.join(", ")}; got "${unknown}"`;
  for (const [name, shape] of Object.entries(fields)) {
    const field = name.replace("?", "");
    if (found[field] === undefined && name.endsWith("?")) continue;
    const mistake = mistakeIn(found[field], shape, place === "" ? field : `${place}.${field}`);
    if (mistake !== undefined) return mistake;
  }
  return undefined;
}

function subjectOf({ what, on }: Happening, index: number): string | undefined {
  const subject = HAPPENINGS[what]?.on;
  return subject === undefined || on !== undefined
    ? undefined
    : `happenings[${index}]: expected "on", the ${subject} that ${what} happens to; got nothing`;
}

function article(type: string): string {
  return `${type === "object" ? "an" : "a"} ${type}`;
}

function shown(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}
