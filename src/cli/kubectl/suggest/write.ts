import { count, firstOf } from "../../../core/count";
import { stringify } from "yaml";
import { CLUSTER_KIND, GROUP, KIND, VERSION } from "../../../api/names";
import { DEFAULT_COLUMNS } from "../io";
import { safeText, wrapText } from "../lines";
import type { FoundFacts, Unprotected } from "./found";

/** Most targets of one object: its schema takes no more. */
const MAX_TARGETS = 32;

/** Names that one comment lists. */
const MAX_NAMES = 8;

/** One line of YAML with its comment, or a block of them. */
type Line = string | readonly [comment: string, line: string];

/** Writes ControllerResiliences for the unprotected workloads of one namespace, with a comment for each choice. Pure. */
export function writeObjects(namespace: string, found: FoundFacts, taken: ReadonlySet<string>): string {
  const names = new Set(taken);
  return groupsOf(found.workloads)
    .map(group => {
      const name = freeName(
        group[0]?.preset === undefined ? "controllers" : `controllers-${group[0].preset.name}`,
        names,
      );
      names.add(name);
      return objectFor(name, namespace, group, found);
    })
    .join("---\n");
}

/** Programs that a preset knows need other evidence, so they get an object of their own. */
function groupsOf(workloads: readonly Unprotected[]): Unprotected[][] {
  const byPreset = new Map<string, Unprotected[]>();
  for (const one of workloads) {
    const key = one.preset?.evidence === undefined ? "" : one.preset.name;
    byPreset.set(key, [...(byPreset.get(key) ?? []), one]);
  }
  return [...byPreset.entries()].flatMap(([key, group]) => {
    const plain = key === "" ? group.map(({ namespace, candidate }) => ({ namespace, candidate })) : group;
    return Array.from({ length: Math.ceil(plain.length / MAX_TARGETS) }, (_, i) =>
      plain.slice(i * MAX_TARGETS, (i + 1) * MAX_TARGETS),
    );
  });
}

function freeName(base: string, taken: ReadonlySet<string>): string {
  let name = base;
  for (let number = 2; taken.has(name); number++) name = `${base}-${number}`;
  return name;
}

function objectFor(name: string, namespace: string, group: readonly Unprotected[], found: FoundFacts): string {
  const daemonSets = new Set(
    group
      .filter(({ candidate }) => candidate.kind === "DaemonSet")
      .map(({ candidate }) => `${namespace}/${candidate.name}`),
  );
  const own = {
    ...found,
    longTokens: found.longTokens.filter(one => daemonSets.has(one)),
    keepTokens: found.keepTokens.filter(one => daemonSets.has(one)),
  };
  return yaml(0, [
    `apiVersion: ${GROUP}/${VERSION}`,
    `kind: ${KIND}`,
    "metadata:",
    `  name: ${name}`,
    `  namespace: ${scalar(namespace)}`,
    "spec:",
    ["Observe only reports. Change it to Enforce when the conditions say what you expect.", "  mode: Observe"],
    ["They use the Kubernetes API, and no ControllerResilience protects them.", "  targets:"],
    ...group.map(({ candidate }) => `    - { kind: ${candidate.kind}, name: ${scalar(candidate.name)} }`),
    ...blocks(own, group[0]?.preset).map(indented),
  ]);
}

/** Writes a ClusterControllerResilience. Pure. @param others names of those that the cluster has */
export function writeClusterObject(found: FoundFacts, taken: ReadonlySet<string>, others: string): string {
  const namespaces = new Set(found.workloads.map(({ namespace }) => namespace));
  const presets = found.workloads.flatMap(({ preset }) =>
    preset === undefined ? [] : [`${preset.name}: ${preset.why}`],
  );
  return yaml(0, [
    ...(others === "" ? [] : [[`The cluster has already: ${others}. Rather extend that.`, ""] as const]),
    `apiVersion: ${GROUP}/${VERSION}`,
    `kind: ${CLUSTER_KIND}`,
    "metadata:",
    `  name: ${freeName("all-controllers", taken)}`,
    "spec:",
    [
      "Observe only reports. Then let it act in some namespaces with spec.enforce (docs/cluster-wide.md).",
      "  mode: Observe",
    ],
    [
      `${count(found.workloads.length, "workload")} in ${count(namespaces.size, "namespace")} ${found.workloads.length === 1 ? "uses" : "use"} the API unprotected: ${some([...namespaces])}. Exclude namespaces with excludeNamespaces.`,
      "  workloads: { discover: UsesAPI }",
    ],
    ...[...new Set(presets)].map(preset => [`Preset ${preset}`, ""] as const),
    "  template:",
    ...blocks(found, undefined).map(block => indented(indented(block))),
  ]);
}

function blocks(found: FoundFacts, preset: Unprotected["preset"]): Line[] {
  return [...tokenRestart(preset), ...bindingRenewal(found), ...tokenLifetime(found), ...others()];
}

function tokenRestart(preset: Unprotected["preset"]): Line[] {
  if (preset?.evidence === undefined)
    return [["Replaces pods whose token is persistently answered 401; all defaults.", "tokenRestart: {}"]];
  return [[preset.why, `tokenRestart: { evidence: [${preset.evidence.join(", ")}] }`]];
}

function bindingRenewal({ expiring }: FoundFacts): Line[] {
  if (expiring.length === 0) return [];
  const names = some(expiring.map(({ kind, name }) => `${kind} ${name}`));
  const roles = some([...new Set(expiring.map(({ roleRef }) => `${roleRef.kind} ${roleRef.name}`))]);
  return [
    [
      `Renews what would expire: ${names}. Enforce needs the right to bind ${roles}, granted by you (docs/remedies/binding-renewal.md).`,
      "bindingRenewal: {}",
    ],
  ];
}

/** One DaemonSet whose token must not be shortened keeps the block out: it applies to every DaemonSet of the object. */
function tokenLifetime({ longTokens, keepTokens }: FoundFacts): Line[] {
  if (longTokens.length === 0) return [];
  if (keepTokens.length > 0)
    return [
      [
        `No tokenLifetime, although ${some(longTokens)} have tokens of a long life: it would apply to ${some(keepTokens)} too, which need theirs. Use another object for it.`,
        "",
      ],
    ];
  return [[`Bounds the life of the tokens of ${some(longTokens)}.`, "tokenLifetime: {}"]];
}

function others(): Line[] {
  return [
    [
      "Gives each ServiceAccount its own flow, and reports runaways; onRunaway: Throttle would also throttle them.",
      "flowIsolation: { requestRate: { onRunaway: Report } }",
    ],
    ["Reports controllers that run and do nothing; onStall: Restart would also act.", "stallDetection: {}"],
  ];
}

function indented(line: Line): Line {
  if (typeof line === "string") return `  ${line}`;
  const [comment, text] = line;
  return [comment, text === "" ? "" : `  ${text}`];
}

/** A comment stands above its line, as deep as the line. */
function yaml(depth: number, lines: readonly Line[]): string {
  return lines
    .flatMap(line => {
      if (typeof line === "string") return [line];
      const [comment, text] = line;
      const indent = " ".repeat(text === "" ? depth : text.search(/\S/));
      const wrapped = wrapText(safeText(comment, 800), "", DEFAULT_COLUMNS - indent.length - 2);
      return [...wrapped.map(part => `${indent}# ${part}`), ...(text === "" ? [] : [text])];
    })
    .map(line => `${line}\n`)
    .join("");
}

function some(names: readonly string[]): string {
  return firstOf(names, MAX_NAMES);
}

/** A name such as `1e3` needs quotes; `no` and `0b1` too, since kubectl reads YAML 1.1. */
function scalar(text: string): string {
  return NAME.test(text) ? stringify(text, { version: "1.1" }).trim() : JSON.stringify(text);
}

const NAME = /^[a-z][a-z0-9.-]*$/;
