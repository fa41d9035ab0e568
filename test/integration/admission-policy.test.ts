import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { guessResource } from "../../src/core/progress";
import { WELL_KNOWN } from "../../src/evidence/progress/well-known";
import { type Author, Authors, refused, type Right, RIGHTS } from "./admission-authors";
import { CHANGES, FULL } from "./admission-changes";
import { installAdmissionPolicy, removeAdmissionPolicy } from "../cluster/admission-policy";
import { shippedRules } from "../cluster/installation";
import { clientWith } from "./cluster-operator";
import { Admin, eventually } from "../cluster/admin";
import { suiteAdmin } from "./suite-lab";

// The policy on a real API server. For each remedy: an author with the necessary rights, authors who lack one of them, and the changes that an author
// without rights may make.

type Spec = Readonly<Record<string, unknown>>;

const admin = suiteAdmin();
let namespace: string;
let objects: string;
let authors: Authors;
/** May write ControllerResiliences, and has no other right. */
let unprivileged: Author;

const target = { kind: "Deployment", name: "web" };
const agent = { kind: "DaemonSet", name: "agent" };
const database = { kind: "StatefulSet", name: "database" };
const roleBinding = { kind: "RoleBinding", name: "reader" };
const clusterRoleBinding = { kind: "ClusterRoleBinding", name: "reader" };
const spec = (blocks: Spec, targets: readonly object[] = [target]): Spec => ({ targets, ...blocks });

beforeAll(async () => {
  namespace = await admin.namespace("authors");
  objects = `/apis/controller-resilience.io/v1alpha1/namespaces/${namespace}/controllerresiliences`;
  authors = new Authors(admin, namespace);
  unprivileged = await authors.with([]);
  await installAdmissionPolicy(admin);
  const before = await eventually(
    () => refusal(unprivileged, spec({ tokenRestart: {} })),
    message => message !== undefined,
  );
  expect(before).toBeDefined();
});

afterAll(async () => {
  await removeAdmissionPolicy(admin);
  authors.close();
  admin.connection.close();
});

const OBJECT = { apiVersion: "controller-resilience.io/v1alpha1", kind: "ControllerResilience" };

/** The identity of a stored object, which a write repeats. */
interface Stored {
  readonly name: string;
  readonly resourceVersion: string;
}

/** Creates an object as an administrator. */
async function stored(wanted: Spec): Promise<Stored> {
  const body = { ...OBJECT, metadata: { generateName: "old-" }, spec: wanted };
  const { name, resourceVersion } = (await admin.create<{ metadata: Stored }>(objects, body)).metadata;
  return { name, resourceVersion };
}

/** Sends a dry run of a write. Returns the API server's refusal, or undefined if it accepts the write. */
function refusal(author: Author, wanted: Spec, old?: Stored): Promise<string | undefined> {
  const body = { ...OBJECT, metadata: old ?? { name: "new" }, spec: wanted };
  if (old === undefined) return refused(author, { method: "POST", path: objects, body });
  return refused(author, { method: "PUT", path: `${objects}/${old.name}`, body });
}

/** The part of the refusal that names a missing right of an author. */
function words({ name }: Author, { verb, resource, isCluster, said = `${verb} ${resource}` }: Right): string {
  return `user ${name} may not ${said}${isCluster === true ? "" : ` in namespace ${namespace}`}, and spec.`;
}

const { evict, patchDaemonSets, readLogs } = RIGHTS;
const { updateRoleBindings, bindRoles, bindClusterRoles } = RIGHTS;
const { updateClusterRoleBindings, bindClusterRolesEverywhere } = RIGHTS;
const { readClusterRoleBindings, createFlowSchemas, listWidgets, createTokens } = RIGHTS;
const widgets = { apiVersion: "example.com/v1", kind: "Widget" };
const throttles = { requestRate: { onRunaway: "Throttle" } };

const CASES: readonly (readonly [string, Spec, readonly Right[]])[] = [
  ["nothing", spec({}), []],
  ["a restart", spec({ tokenRestart: {} }, [target, agent]), [evict]],
  ["an extra phrase", spec({ tokenRestart: { extraPhrases: ["denied"] } }), [evict, readLogs]],
  ["bindings that ask for it themselves", spec({ bindingRenewal: { extendBy: "48h" } }), []],
  [
    "a RoleBinding",
    spec({ bindingRenewal: { bindings: [roleBinding] } }),
    [updateRoleBindings, bindRoles, bindClusterRoles],
  ],
  [
    "a ClusterRoleBinding",
    spec({ bindingRenewal: { bindings: [clusterRoleBinding] } }),
    [updateClusterRoleBindings, bindClusterRolesEverywhere, readClusterRoleBindings],
  ],
  ["a shorter token", spec({ tokenLifetime: {} }, [agent]), [patchDaemonSets]],
  ["a flow", spec({ flowIsolation: throttles }), [createFlowSchemas]],
  ["a restart for a stale Lease", spec({ stallDetection: { onStall: "Restart" } }), [evict]],
  ["a report of stalls", spec({ stallDetection: {} }), []],
  ["kinds and metrics", spec({ stallDetection: { progress: [widgets], metrics: {} } }), [listWidgets]],
  ["metrics behind a token", spec({ stallDetection: { metrics: { tokenFrom: "reader" } } }), [createTokens]],
  ["restarts by metrics", spec({ stallDetection: { metrics: {}, onStall: "Restart" } }), [evict]],
  ["two remedies", spec({ tokenRestart: {}, tokenLifetime: {} }, [agent]), [evict, patchDaemonSets]],
  // In Observe mode an author needs rights only for what the operator reads.
  [
    "all remedies in Observe mode",
    { ...spec({ tokenRestart: {}, bindingRenewal: {}, flowIsolation: throttles }), mode: "Observe" },
    [],
  ],
  [
    "a phrase in Observe mode",
    { ...spec({ tokenRestart: { extraPhrases: ["denied"] } }), mode: "Observe" },
    [readLogs],
  ],
  [
    "a named binding in Observe mode",
    { ...spec({ bindingRenewal: { bindings: [clusterRoleBinding] } }), mode: "Observe" },
    [readClusterRoleBindings],
  ],
  [
    "kinds, and metrics behind a token, in Observe mode",
    { ...spec({ stallDetection: { progress: [widgets], metrics: { tokenFrom: "reader" } } }), mode: "Observe" },
    [listWidgets, createTokens],
  ],
  [
    "the same, suspended",
    { ...spec({ tokenRestart: { extraPhrases: ["denied"] }, bindingRenewal: {} }), suspend: true },
    [RIGHTS.evict, readLogs],
  ],
];

describe("an author", () => {
  it.each(CASES)("needs exactly the rights for %s", async (_, wanted, needs) => {
    expect(await refusal(await authors.with(needs), wanted)).toBeUndefined();
    for (const lacking of needs) {
      // A right in all namespaces would replace the same right in this one.
      const isSame = ({ verb, resource }: Right): boolean => verb === lacking.verb && resource === lacking.resource;
      const author = await authors.with(Object.values(RIGHTS).filter(right => !isSame(right)));
      expect(await refusal(author, wanted)).toContain(words(author, lacking));
    }
  });

  it("needs no right that these cases omit", () => {
    expect(new Set(CASES.flatMap(([, , needs]) => needs))).toEqual(new Set(Object.values(RIGHTS)));
  });

  it("needs the right in the namespace of the object", async () => {
    const other = await admin.namespace("elsewhere");
    const author = await authors.with([evict]);
    const body = { ...OBJECT, metadata: { name: "a" }, spec: spec({ tokenRestart: {} }) };
    const said = await refused(author, { method: "POST", path: objects.replace(namespace, other), body });
    expect(said).toContain(`user ${author.name} may not create pods/eviction in namespace ${other}`);
  });
});

const rows = (which: "narrower" | "wider") =>
  (Object.keys(CHANGES) as (keyof typeof FULL)[]).flatMap(block =>
    CHANGES[block][which].map(([field, value]) => [block, field, value] as const),
  );

describe("an author without rights", () => {
  const all = [target, agent];
  const known = new Map<string, Promise<Stored>>();

  /** Returns an object that an administrator created; each spec is created once. */
  function existing(old: Spec): Promise<Stored> {
    const key = JSON.stringify(old);
    const found = known.get(key) ?? stored(old);
    known.set(key, found);
    return found;
  }

  const change = async (old: Spec, wanted: Spec): Promise<string | undefined> =>
    refusal(unprivileged, wanted, await existing(old));
  const withBlock = (block: keyof typeof FULL, fields: Spec = {}, targets: readonly object[] = all): Spec =>
    spec({ [block]: { ...FULL[block], ...fields } }, targets);

  it.each(rows("narrower"))("may narrow %s.%s: %j", async (block, field, value) => {
    expect(await change(withBlock(block), withBlock(block, { [field]: value }))).toBeUndefined();
  });

  it.each(rows("wider"))("may not widen %s.%s: %j", async (block, field, value) => {
    const said = await change(withBlock(block), withBlock(block, { [field]: value }));
    expect(said).toContain(words(unprivileged, CHANGES[block].right));
  });

  it("may change bindingRenewal as long as it names no bindings", async () => {
    const unlisted = withBlock("bindingRenewal", { bindings: [] });
    for (const other of [{ warnBefore: "96h" }, { renewBefore: "24h" }, { extendBy: "" }, { renewUntil: null }]) {
      expect(await change(unlisted, withBlock("bindingRenewal", { bindings: [], ...other }))).toBeUndefined();
    }
    expect(await change(spec({}, all), unlisted)).toBeUndefined();
  });

  it("may add maintenance windows and leave some out, but neither change nor end them", async () => {
    const [saturday, sunday] = ["6", "0"].map(day => ({ schedule: `0 2 * * ${day}`, duration: "3h", timeZone: "UTC" }));
    const within = (...windows: unknown[]): Spec => withBlock("tokenLifetime", { windows });
    const without = withBlock("tokenLifetime");
    const both = within(saturday, sunday);
    expect(await change(without, both)).toBeUndefined();
    expect(await change(within(), both)).toBeUndefined();
    expect(await change(both, within(saturday))).toBeUndefined();
    for (const wider of [without, within(), within({ ...saturday, duration: "4h" })]) {
      expect(await change(both, wider)).toContain(words(unprivileged, CHANGES.tokenLifetime.right));
    }
  });

  it("may not begin restarts for stale Leases, nor loosen tokenRestart, which limits them", async () => {
    const reported = withBlock("stallDetection", { onStall: "Report" });
    expect(await change(reported, withBlock("stallDetection"))).toContain(words(unprivileged, evict));
    const { stallDetection, tokenRestart } = FULL;
    const limited = spec({ stallDetection, tokenRestart }, all);
    expect(await change(limited, spec({ stallDetection }, all))).toContain(words(unprivileged, evict));
    const slower = spec({ stallDetection, tokenRestart: { ...tokenRestart, cooldown: "20m" } }, all);
    expect(await change(limited, slower)).toBeUndefined();
  });

  it("may not have Leases read that it may not get, also in Observe mode", async () => {
    const lease = { verb: "get", group: "coordination.k8s.io", resource: "leases" };
    const listed = (...names: string[]): Spec => ({
      ...spec({ stallDetection: { leases: names.map(name => ({ namespace, name })) } }),
      mode: "Observe",
    });
    const eight = listed("a", "b", "c", "d", "e", "f", "g", "h");
    expect(await refusal(unprivileged, eight)).toContain(words(unprivileged, lease));
    expect(await refusal(await authors.with([lease]), eight)).toBeUndefined();
    expect(await change(eight, listed("b"))).toBeUndefined();
    expect(await change(listed("b"), eight)).toContain(words(unprivileged, lease));
    expect(await change({ ...eight, suspend: true }, eight)).toContain(words(unprivileged, lease));
  });

  it("may not have other objects looked at than before, nor others get a token, also in Observe mode", async () => {
    const observed = (stallDetection: object, targets: readonly object[] = all): Spec => ({
      ...spec({ stallDetection }, targets),
      mode: "Observe",
    });
    const kinds = (...progress: object[]): Spec => observed({ progress });
    const two = kinds(widgets, { ...widgets, due: "object.spec.size > 1" });
    expect(await change(two, kinds(widgets))).toBeUndefined();
    for (const other of [{ due: "object.spec.size > 2" }, { selector: { matchLabels: { a: "b" } } }, { for: "5m" }])
      expect(await change(two, kinds({ ...widgets, ...other }))).toContain(words(unprivileged, listWidgets));
    expect(await change({ ...two, suspend: true }, two)).toContain(words(unprivileged, listWidgets));
    const metrics = { tokenFrom: "reader", port: "metrics" };
    const sent = observed({ metrics });
    expect(await change(sent, observed({ metrics, for: "1m" }))).toBeUndefined();
    expect(await change(sent, observed({ metrics: { port: "metrics" } }))).toBeUndefined();
    for (const other of [observed({ metrics: { ...metrics, port: 1 } }), observed({ metrics }, [...all, database])])
      expect(await change(sent, other)).toContain(words(unprivileged, createTokens));
  });

  it.each(["Widget", "Policy", "Gateway", "Ingress", "Mesh", "Branch", "Box", "Endpoints"])(
    "is asked for the resource of kind %s that the operator reads",
    async kind => {
      const said = `list ${guessResource(kind)}.example.com in all namespaces`;
      const progress = [{ ...widgets, kind }];
      expect(await refusal(unprivileged, spec({ stallDetection: { progress } }))).toContain(said);
    },
  );

  it("is asked for the group of each kind that is clear without an apiVersion", async () => {
    const clear = WELL_KNOWN.filter(({ kind }) => WELL_KNOWN.filter(row => row.kind === kind).length === 1);
    for (const { kind, apiVersion } of clear) {
      const said = `list ${guessResource(kind)}.${apiVersion.split("/")[0]!} in all namespaces`;
      expect(await refusal(unprivileged, spec({ stallDetection: { progress: [{ kind }] } }))).toContain(said);
    }
  });

  it("may not have metrics justify restarts of rejected pods", async () => {
    const { tokenRestart } = FULL;
    const restarted = spec({ tokenRestart, stallDetection: {} }, all);
    const measured = spec({ tokenRestart, stallDetection: { metrics: {} } }, all);
    expect(await change(restarted, measured)).toContain(words(unprivileged, evict));
    expect(await change(measured, restarted)).toBeUndefined();
  });

  it("may not begin to throttle", async () => {
    const reported = withBlock("flowIsolation", {
      requestRate: { ...FULL.flowIsolation.requestRate, onRunaway: "Report" },
    });
    expect(await change(reported, withBlock("flowIsolation"))).toContain(words(unprivileged, createFlowSchemas));
  });

  it.each<[string, Spec]>([
    ["another phrase", withBlock("tokenRestart", { extraPhrases: ["secret"] })],
    ["other containers", withBlock("tokenRestart", { containers: ["b"] })],
    ["other workloads", withBlock("tokenRestart", {}, [...all, database])],
  ])("may not search logs for %s in Observe mode", async (_, wanted) => {
    const observed = { ...withBlock("tokenRestart"), mode: "Observe" };
    expect(await change(observed, { ...wanted, mode: "Observe" })).toContain(words(unprivileged, readLogs));
    expect(await change(observed, { ...observed, suspend: true })).toBeUndefined();
  });

  it("may not resume a suspended object in Observe mode that reads what the author may not read", async () => {
    const searched = { ...withBlock("tokenRestart"), mode: "Observe" };
    expect(await change({ ...searched, suspend: true }, searched)).toContain(words(unprivileged, readLogs));
    const shown = { ...withBlock("bindingRenewal", { bindings: [clusterRoleBinding] }), mode: "Observe" };
    expect(await change({ ...shown, suspend: true }, shown)).toContain(words(unprivileged, readClusterRoleBindings));
    expect(await change(shown, { ...shown, targets: [agent] })).toBeUndefined();
  });

  it.each(Object.keys(FULL) as (keyof typeof FULL)[])(
    "may remove %s and targets, but not add them again",
    async block => {
      const { right } = CHANGES[block];
      const [both, one] = [withBlock(block), withBlock(block, {}, [agent])];
      expect(await change(both, spec({}, all))).toBeUndefined();
      expect(await change(spec({}, all), both)).toContain(words(unprivileged, right));
      expect(await change(both, one)).toBeUndefined();
      // For bindings that are named the targets do not matter.
      const more = await change(one, both);
      if (block === "bindingRenewal") expect(more).toBeUndefined();
      else expect(more).toContain(words(unprivileged, right));
    },
  );

  it.each<[string, Spec]>([
    ["suspend", { suspend: true }],
    ["mode", { mode: "Observe" }],
  ])("may stop all remedies with %s, but not start them again", async (_, ended) => {
    const running = spec({ ...FULL, bindingRenewal: FULL.bindingRenewal }, all);
    expect(await change(running, { ...running, ...ended })).toBeUndefined();
    for (const block of Object.keys(FULL) as (keyof typeof FULL)[]) {
      const one = withBlock(block);
      expect(await change({ ...one, ...ended }, one)).toContain(words(unprivileged, CHANGES[block].right));
    }
  });

  it("may not widen a suspended object, which someone with more rights may resume, but narrow it", async () => {
    for (const block of Object.keys(FULL) as (keyof typeof FULL)[]) {
      const full = { ...withBlock(block), suspend: true };
      expect(await change({ ...spec({}, all), suspend: true }, full)).toContain(
        words(unprivileged, CHANGES[block].right),
      );
      expect(await change(full, { ...spec({}, all), suspend: true })).toBeUndefined();
    }
  });

  it("may change labels, annotations and finalizers", async () => {
    const { name } = await existing(spec(FULL, all));
    const metadata = {
      labels: { team: "a" },
      annotations: { note: "b" },
      finalizers: ["controller-resilience.io/cleanup"],
    };
    const patch = { method: "PATCH", contentType: "application/merge-patch+json", query: { dryRun: "All" } } as const;
    await unprivileged.api.json({ what: "PATCH", path: `${objects}/${name}`, body: { metadata }, ...patch });
  });
});

describe("the policy", () => {
  it("checks every field of the schema except one without effect", () => {
    const text = readFileSync(join(__dirname, "../../crds/controllerresilience.yaml"), "utf8");
    const crd = parse(text) as { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } };
    const blocks = crd.spec.versions[0]!.schema.openAPIV3Schema.properties!["spec"]!.properties!;
    const common = ["mode", "suspend", "targets"];
    expect(Object.keys(blocks).filter(block => !common.includes(block))).toEqual(Object.keys(FULL));
    const tried = (block: keyof typeof FULL) => CHANGES[block].wider.map(([field]) => field);
    const missing = (Object.keys(FULL) as (keyof typeof FULL)[]).flatMap(block => {
      const fields = Object.keys(blocks[block]!.properties!);
      return fields.filter(field => !tried(block).includes(field)).map(field => `${block}.${field}`);
    });
    const requestRate = blocks["flowIsolation"]!.properties!["requestRate"]!.properties!;
    expect(Object.keys(requestRate).toSorted()).toEqual(Object.keys(FULL.flowIsolation.requestRate).toSorted());
    // Warnings change nothing. The other fields have tests of their own above, or can only be narrowed from the full object.
    const elsewhere = ["tokenRestart.extraPhrases", "stallDetection.onStall", "stallDetection.progress"];
    const oneWay = ["tokenLifetime.windows"];
    expect(missing.toSorted()).toEqual([...elsewhere, ...oneWay, "bindingRenewal.warnBefore"].toSorted());
  });

  it("lets the operator write, although it has few of these rights", async () => {
    const wanted = spec({ bindingRenewal: {}, flowIsolation: throttles }, [target]);
    const { name } = await stored(wanted);
    const operator = new Admin(await clientWith(admin, namespace, shippedRules()));
    try {
      const path = `${objects}/${name}`;
      await operator.patch(path, { metadata: { finalizers: ["controller-resilience.io/cleanup"] } });
      const now = await operator.get<object>(path);
      const status = { observedGeneration: 1, conditions: [] };
      await operator.api.json({ what: "status", method: "PUT", path: `${path}/status`, body: { ...now, status } });
      await operator.patch(path, { metadata: { finalizers: null } });
    } finally {
      operator.connection.close();
    }
  });

  it("stays within the cost limit for the largest objects that the schema accepts", async () => {
    const labels = (seed: string) =>
      Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`key-${i}`, `${seed}-${i}`]));
    const targets = Array.from({ length: 32 }, (_, i) => ({
      kind: "Deployment",
      selector: { matchLabels: labels(`${i}`) },
    }));
    const bindings = Array.from({ length: 64 }, (_, i) => ({ ...roleBinding, name: `${"binding-".repeat(25)}${i}` }));
    const extraPhrases = Array.from({ length: 16 }, (_, i) => `${"phrase ".repeat(25)}${i}`);
    const large = (order: <T>(list: readonly T[]) => T[], cooldown: string): Spec =>
      spec(
        {
          ...FULL,
          tokenRestart: { extraPhrases: order(extraPhrases), cooldown },
          bindingRenewal: { bindings: order(bindings) },
        },
        order(targets),
      );
    const old = await stored(large(list => [...list], "10m"));
    // The reversed order is the most expensive one to search.
    const reversed = large(list => list.toReversed(), "20m");
    expect(await refusal(unprivileged, reversed, old)).toBeUndefined();
  });

  it("stays within the cost limit when it checks every right", async () => {
    const leases = Array.from("abcdefgh", name => ({ namespace, name }));
    const kind = (due: string) => ({ ...widgets, due: due.repeat(1_000), for: "6h" });
    const most = (letters: string): Spec =>
      spec({
        ...{ tokenRestart: { extraPhrases: ["denied"] }, tokenLifetime: {}, flowIsolation: throttles },
        bindingRenewal: { bindings: [roleBinding, clusterRoleBinding] },
        stallDetection: {
          ...{ onStall: "Restart", leases, metrics: { tokenFrom: "reader" } },
          progress: Array.from(letters, kind),
        },
      });
    const getLeases = { verb: "get", group: "coordination.k8s.io", resource: "leases" };
    const author = await authors.with([...Object.values(RIGHTS), getLeases]);
    expect(await refusal(author, most("abcdefgh"))).toBeUndefined();
    const old = await stored(most("abcdefgh"));
    expect(await refusal(unprivileged, most("hgfedcba"), old)).toBeUndefined();
    expect(await refusal(author, most("ijklmnop"), old)).toBeUndefined();
  });

  it.each(["", "-progress", "-cluster"])("passes the API server's type check against the schema: %j", async name => {
    const path = `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/controller-resilience${name}`;
    const read = () => admin.get<{ status?: { typeChecking?: { expressionWarnings?: object[] } } }>(path);
    const { status } = await eventually(read, found => found.status?.typeChecking !== undefined);
    expect(status?.typeChecking).toEqual({});
  });
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}
