import { arrayOf, type JsonObject, objectOf, textOf } from "../../../src/core/json";
import { readDefinition } from "../server/bootstrap";
import type { Dice } from "../time";

// Values for every field of a ControllerResilience's blocks, by its definition.

type Field = readonly [path: string, rules: JsonObject];

/** Values of fields that name something, or that no rule tells. */
const NAMED: Readonly<Record<string, readonly unknown[]>> = {
  "tokenRestart.containers": [[], ["main"], ["sidecar"], ["no-such"]],
  "tokenRestart.extraPhrases": [[], ["token has been revoked"]],
  "bindingRenewal.bindings": [[], [{ kind: "RoleBinding", name: "no-such" }]],
  "bindingRenewal.renewUntil": ["2026-01-05T08:30:00Z", "2026-01-06T00:00:00Z"],
  "tokenLifetime.windows": [
    [],
    [{ schedule: "0 3 * * 6", duration: "20m" }],
    [{ schedule: "* * * * *", duration: "10m" }],
  ],
  "stallDetection.progress": [[], [{ kind: "Application" }]],
  "stallDetection.metrics.port": ["metrics", 8080],
  "stallDetection.metrics.tokenFrom": ["no-such"],
  "stallDetection.leases": [[], [{ namespace: "team-0", name: "no-such" }]],
};

/** What the API server refuses for each of them. */
const NONSENSE: readonly unknown[] = [-1, {}, 7.5];

let known: readonly Field[] | undefined;

function allFields(): readonly Field[] {
  if (known !== undefined) return known;
  const [version] = arrayOf(objectOf(readDefinition("controllerresilience.yaml")["spec"])["versions"]);
  const { properties } = objectOf(objectOf(objectOf(version)["schema"])["openAPIV3Schema"]);
  const spec = objectOf(objectOf(properties)["spec"]);
  return (known = leavesOf(spec, "").filter(([path]) => path.includes(".")));
}

function leavesOf(rules: JsonObject, path: string): readonly Field[] {
  const inner = Object.entries(objectOf(rules["properties"]));
  if (inner.length === 0) return [[path, rules]];
  return inner.flatMap(([name, one]) => leavesOf(objectOf(one), path === "" ? name : `${path}.${name}`));
}

/** A field and a value, such as `tokenRestart.cooldown="1h"`: now and then a value that the API server refuses. */
export function drawField(dice: Dice): string {
  const [path, rules] = dice.pick(allFields());
  return `${path}=${JSON.stringify(dice.chance(0.1) ? dice.pick(NONSENSE) : dice.pick(valuesOf(path, rules)))}`;
}

function valuesOf(path: string, rules: JsonObject): readonly unknown[] {
  const items = arrayOf(objectOf(rules["items"])["enum"]);
  if (NAMED[path] !== undefined) return NAMED[path];
  if (rules["enum"] !== undefined) return arrayOf(rules["enum"]);
  if (items.length > 0) return [items, ...items.map(one => [one])];
  if (rules["type"] === "integer") return [rules["minimum"], rules["default"], rules["maximum"]];
  return durationsOf(rules);
}

/** The usual one, the shortest and the longest: a rule of the definition has them. */
function durationsOf(rules: JsonObject): readonly unknown[] {
  const [first] = arrayOf(rules["x-kubernetes-validations"]);
  const limits = (textOf(objectOf(first)["rule"]) ?? "").matchAll(/duration\('(\w+)'\)/g);
  return [rules["default"], ...[...limits].map(([, limit]) => limit)];
}
