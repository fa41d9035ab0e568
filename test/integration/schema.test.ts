import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { type MaintenanceWindow, problemOf } from "../../src/remedies/token-lifetime/windows";
import { ClusterClient } from "../cluster/client";
import { kubernetesVersion } from "../lab/kubernetes";
import { suiteAdmin, suiteLab } from "./suite-lab";

// The API server's own validation errors: a user who writes a bad object learns what was expected.

const PATH = "/apis/controller-resilience.io/v1alpha1/namespaces/default/controllerresiliences";
const NAMED = { metadata: { name: "schema" } };

const client = ClusterClient.of(suiteLab());
const admin = suiteAdmin();
afterAll(() => admin.connection.close());

const SHOWS_VALUES = Number(kubernetesVersion().split(".")[1]) >= 35;

const target = { kind: "Deployment", name: "a" };
const restart = (tokenRestart: object) => ({ targets: [target], tokenRestart });
const renewal = (bindingRenewal: object) => ({ targets: [target], bindingRenewal });

const stalls = (stallDetection: object) => ({ targets: [target], stallDetection });
const kinds = (kind: object, count = 1) =>
  stalls({ progress: Array(count).fill({ apiVersion: "example.com/v1", kind: "Widget", ...kind }) });
const selecting = (selector: object) => ({ targets: [{ kind: "Deployment", selector }] });
const seventeen = Array.from({ length: 17 }, (_, i) => `k${i}`);
const metrics = (block: object) => stalls({ metrics: block });

const windows = (window: object, count = 1) => ({
  targets: [target],
  tokenLifetime: { windows: Array(count).fill({ schedule: "0 2 * * 6", duration: "3h", ...window }) },
});

/** What the API server says of a new object with this spec: the object with its defaults, or why it is refused. */
async function apply(spec: object): Promise<{ ok: boolean; said: string }> {
  const { code, body } = await admin.api.send({
    ...{ what: "create an object", method: "POST", path: PATH, query: { dryRun: "All", fieldValidation: "Strict" } },
    body: { ...{ apiVersion: "controller-resilience.io/v1alpha1", kind: "ControllerResilience" }, ...NAMED, spec },
  });
  const text = body.toString();
  return code < 300 ? { ok: true, said: text } : { ok: false, said: (JSON.parse(text) as { message: string }).message };
}

describe("the schema refuses", () => {
  it.each<[string, object, string]>([
    ["an empty list of targets", { targets: [] }, "should have at least 1 items"],
    [
      "1,025 targets",
      { targets: Array.from({ length: 1_025 }, (_, i) => ({ kind: "Deployment", name: `a${i}` })) },
      "must have at most 1024 items",
    ],
    [
      "33 targets with a selector",
      { targets: Array.from({ length: 33 }, () => ({ kind: "Deployment", selector: { matchLabels: { a: "b" } } })) },
      "expected at most 32 targets with a selector",
    ],
    ["a Job", { targets: [{ kind: "Job", name: "a" }] }, 'supported values: "Deployment", "StatefulSet", "DaemonSet"'],
    ["other evidence", stalls({ evidence: ["Hunch"] }), 'supported values: "Lease", "Forbidden", "LeaderLoss"'],
    ["a short time", stalls({ for: "59s" }), "expected a duration between 1m and 6h"],
    ["a Lease's path", stalls({ leases: [{ namespace: "a", name: "b/c" }] }), "expected a name of lower-case letters"],
    ["any group's kind", stalls({ progress: [{ kind: "Cluster" }] }), "expected apiVersion, which only kinds such as"],
    ["nine kinds", kinds({}, 9), "must have at most 8 items"],
    ["a kind that is a resource", kinds({ kind: "widgets" }), "expected a kind of letters and digits that begins with"],
    ["a group without a version", kinds({ apiVersion: "example.com" }), "expected a group and a version, such as"],
    ["an empty rule for what is due", kinds({ due: "" }), "at least 1 chars"],
    ["a long rule for what is due", kinds({ due: "a".repeat(1_025) }), "may not be more than 1024"],
    ["a short time for a kind", kinds({ for: "4m" }), '"4m": expected a duration between 5m and 6h'],
    ["an empty selector of a kind", kinds({ selector: {} }), "leave out selector for all objects of the kind"],
    ["nothing to look for", stalls({ evidence: [], progress: [] }), "expected evidence, progress or metrics"],
    ["port 0", metrics({ port: 0 }), "expected the name of a port, such as metrics, or a number between 1 and 65535"],
    ["a port as text", metrics({ port: "8080/metrics" }), "expected the name of a port, such as metrics"],
    ["a port that is a fraction", metrics({ port: 1.5 }), "integer"],
    ["another scheme", metrics({ scheme: "http" }), 'supported values: "HTTP", "HTTPS"'],
    ["a token from elsewhere", metrics({ tokenFrom: "monitoring/reader" }), "expected the name of a ServiceAccount"],
    ["a target without either", { targets: [{ kind: "Deployment" }] }, "expected exactly one of name and selector"],
    [
      "a target with both",
      { targets: [{ ...target, selector: { matchLabels: { a: "b" } } }] },
      "expected exactly one of name and selector",
    ],
    ["no selector", { targets: [{ kind: "Deployment", selector: {} }] }, "expected at least one label or expression"],
    ["an invalid name", { targets: [{ kind: "Deployment", name: "A_b" }] }, "expected a name of lower-case letters"],
    [
      "In without values",
      { targets: [{ kind: "Deployment", selector: { matchExpressions: [{ key: "a", operator: "In" }] } }] },
      "expected values with In and NotIn",
    ],
    ["a long key of a label", selecting({ matchLabels: { ["k".repeat(318)]: "a" } }), "keys of at most 317 characters"],
    ["17 labels", selecting({ matchLabels: Object.fromEntries(seventeen.map(key => [key, "a"])) }), "at most 16 items"],
    [
      "17 values of a label",
      selecting({ matchExpressions: [{ key: "a", operator: "In", values: seventeen }] }),
      "must have at most 16 items",
    ],
    ["an unknown mode", { targets: [target], mode: "Maybe" }, 'supported values: "Enforce", "Observe"'],
    ["a word for a boolean", { targets: [target], suspend: "yes" }, "boolean"],
    ["an unknown field", restart({ ocasions: 3 }), 'unknown field "spec.tokenRestart.ocasions"'],
    ["a rumour", restart({ evidence: ["Rumour"] }), 'supported values: "Logs", "ServiceAccountAge", "SandboxEvents"'],
    ["no evidence at all", restart({ evidence: [] }), "should have at least 1 items"],
    ["17 windows", windows({}, 17), "must have at most 16 items"],
    ["a schedule of four fields", windows({ schedule: "0 2 * *" }), "expected a cron schedule of five fields"],
    ["a schedule by nickname", windows({ schedule: "@daily" }), "expected a cron schedule of five fields"],
    ["a short window", windows({ duration: "9m" }), '"9m": expected a duration between 10m and 168h'],
    ["an offset as time zone", windows({ timeZone: "+02:00" }), "expected an IANA time zone, such as Europe/Berlin"],
    ["a duration with an unknown unit", restart({ cooldown: "5x" }), '"5x": expected a duration between 30s and 24h'],
    ["a negative duration", restart({ cooldown: "-5m" }), '"-5m": expected a duration between 30s and 24h'],
    ["an empty duration", restart({ cooldown: "" }), "expected a duration between 30s and 24h"],
    ["too long a duration", restart({ cooldown: "99999999999999999999h" }), "expected a duration between 30s and 24h"],
    ["a cooldown that is too short", restart({ cooldown: "10s" }), '"10s": expected a duration between 30s and 24h'],
    ["a minDuration below its bound", restart({ minDuration: "9s" }), "expected a duration between 10s and 10m"],
    ["a minDuration as long as 15m", restart({ minDuration: "15m" }), "expected a duration between 10s and 10m"],
    ["no restarts", restart({ maxRestarts: 0 }), "greater than or equal to 1"],
    ["no pod down", restart({ maxUnavailable: 0 }), "greater than or equal to 1"],
    ["a phrase of blanks", restart({ extraPhrases: ["    "] }), "expected a phrase that is not only white space"],
    ["a phrase of two characters", restart({ extraPhrases: ["no"] }), "at least 3 chars"],
    ["an invalid date", renewal({ renewUntil: "tomorrow" }), "must be of type date-time"],
    [
      "renewing before warning",
      renewal({ renewBefore: "200h" }),
      "found renewBefore 200h and warnBefore 168h, expected renewBefore to be no longer than warnBefore",
    ],
    [
      "a token life that Kubernetes would refuse",
      { targets: [target], tokenLifetime: { expirationSeconds: 599 } },
      "greater than or equal to 600",
    ],
  ])("%s", async (_sentence, spec, words) => {
    const { ok, said } = await apply(spec);
    // Older API servers name the type of a value that breaks a rule, not the value.
    expect(said).toContain(SHOWS_VALUES ? words : words.replace(/^"[^"]*": /, '"string": '));
    expect(ok).toBe(false);
  });
});

describe("the schema accepts", () => {
  it("the example of maintenance windows", async () => {
    const page = readFileSync(join(__dirname, "..", "..", "docs", "remedies", "token-lifetime.md"), "utf8");
    const example = /```yaml\n(.*?)```/s.exec(page)?.[1] ?? "";
    const { spec } = parse(example) as { spec: { tokenLifetime: { windows: MaintenanceWindow[] } } };
    expect(await apply({ targets: [target], ...spec })).toMatchObject({ ok: true });
    expect(problemOf(spec.tokenLifetime.windows, Date.parse("2025-01-01T00:00:00Z"))).toBeUndefined();
    const { said } = await apply(windows({ schedule: "*/30 1-5,22 1 JAN MON-FRI" }));
    expect(JSON.parse(said)).toMatchObject({ spec: { tokenLifetime: { windows: [{ timeZone: "UTC" }] } } });
  });

  it("all four blocks, empty, and fills in every default", async () => {
    const { ok, said } = await apply({
      targets: [target],
      tokenRestart: {},
      bindingRenewal: {},
      tokenLifetime: {},
      flowIsolation: {},
    });
    expect(ok, said).toBe(true);
    const { spec } = JSON.parse(said) as { spec: Record<string, unknown> };
    expect(spec).toEqual({
      mode: "Enforce",
      suspend: false,
      targets: [target],
      tokenRestart: {
        evidence: ["Logs", "ServiceAccountAge", "SandboxEvents"],
        minDuration: "60s",
        containers: [],
        cooldown: "10m",
        maxRestarts: 3,
        maxUnavailable: 1,
      },
      bindingRenewal: { bindings: [], warnBefore: "168h", renewBefore: "24h", extendBy: "" },
      tokenLifetime: {
        ...{ expirationSeconds: 600, defaultToken: "Project" },
      },
      flowIsolation: {
        requestRate: { threshold: 100, for: "30s", onRunaway: "Report", release: "5m" },
      },
    });
  });

  it("kinds and metrics, and fills in their defaults", async () => {
    const kind = { kind: "Widget", apiVersion: "example.com/v1" };
    const selector = { matchExpressions: [{ key: "shard", operator: "In", values: ["a"] }] };
    const progress = [
      { ...kind, due: "object.spec.size > 1", selector },
      ...Array.from({ length: 7 }, () => ({ ...kind, for: "6h" })),
    ];
    const { ok, said } = await apply(stalls({ progress, metrics: { port: 8443, tokenFrom: "metrics.reader" } }));
    expect(ok, said).toBe(true);
    expect((JSON.parse(said) as { spec: object }).spec).toMatchObject({
      stallDetection: {
        evidence: ["Lease", "Forbidden", "LeaderLoss"],
        ...{ for: "5m", onStall: "Report", leases: [] },
        progress: [{ ...kind, for: "15m", selector }, ...progress.slice(1)],
        metrics: { port: 8443, tokenFrom: "metrics.reader" },
      },
    });
    expect(await apply(stalls({ evidence: [], progress: [{ kind: "Application" }] }))).toMatchObject({ ok: true });
    for (const port of [1, 65_535, "https", "a".repeat(15)])
      expect(await apply(metrics({ port }))).toMatchObject({ ok: true });
  });

  it("a selector, and every bound at its edge", async () => {
    const { ok, said } = await apply({
      targets: [{ kind: "DaemonSet", selector: { matchExpressions: [{ key: "app", operator: "Exists" }] } }],
      tokenRestart: {
        minDuration: "10m",
        cooldown: "24h",
        maxRestarts: 20,
        extraPhrases: ["401", "(".repeat(256)],
      },
      bindingRenewal: { renewUntil: "2027-01-01T00:00:00Z", extendBy: "720h" },
    });
    expect(ok, said).toBe(true);
  });
});

it.each(["emergency-quarantine.yaml", "emergency-quarantine-user.yaml"])(
  "the API server takes %s of the runbook as it is",
  async file => {
    const text = readFileSync(join(__dirname, "..", "..", "docs", "examples", file), "utf8")
      .replaceAll("NAMESPACE,", "default,")
      .replaceAll("SERVICEACCOUNT", "other")
      .replaceAll("USERNAME", "kai@example.com");
    const { items } = JSON.parse(await client.output(["apply", "--dry-run=server", "-o", "json", "-f", "-"], text)) as {
      items: object[];
    };
    const wanted = parseAllDocuments(text).map(one => one.toJS() as { kind: string; spec: object });
    expect(items).toMatchObject(wanted.map(({ kind, spec }) => ({ kind, spec })));
  },
);

it("documents the API in kubectl explain", async () => {
  // The API server publishes the schema of a definition some seconds after it serves the kind.
  const text = async () => (await client.kubectl(["explain", "cres.spec.tokenRestart.cooldown"])).stdout;
  await client.until("the text", async () => (await text()).includes("It doubles while restarts"));
});

describe("repeated server-side apply, as by Argo CD and Flux", () => {
  const blocks = ["tokenRestart", "bindingRenewal", "tokenLifetime", "flowIsolation", "stallDetection"];
  const metadata = { namespace: "default", name: "again" };
  const object = (spec: object) => ({
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ControllerResilience",
    metadata,
    spec,
  });
  const empty = Object.fromEntries(blocks.map(block => [block, {}]));
  const read = () => client.resilience(metadata.namespace, metadata.name);

  it("keeps an empty block and its defaults after every apply", async () => {
    await client.apply([object({ targets: [target], ...empty })]);
    const first = await read();
    for (let i = 0; i < 3; i++) await client.apply([object({ targets: [target], ...empty })]);
    const again = await read();
    expect(again.spec).toEqual(first.spec);
    expect(again.metadata.generation).toBe(first.metadata.generation);
    for (const block of blocks) expect(again.spec).toHaveProperty(block);
  });

  it("removes a block that is no longer applied", async () => {
    await client.apply([object({ targets: [target], tokenRestart: {} })]);
    const { spec } = await read();
    expect(spec).toHaveProperty("tokenRestart");
    for (const block of blocks.slice(1)) expect(spec).not.toHaveProperty(block);
  });
});
