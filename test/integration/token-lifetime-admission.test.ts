import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { clusterObjectView } from "../../src/cluster/read/cluster-object-view";
import { ApiWriter } from "../../src/cluster/write/writer";
import { viewIn } from "../../src/core/desired";
import { ConflictError, ForbiddenError } from "../../src/core/errors";
import { makeObject } from "../../src/core/testing/objects";
import type { ClusterKind, ClusterObjectView, DaemonSetView } from "../../src/core/views";
import { createRemedies } from "../../src/remedies/registry";
import { buildPair, buildRemoval } from "../../src/remedies/token-lifetime/admission/intents";
import { pairOf, type Pair } from "../../src/remedies/token-lifetime/admission/pair";
import { ADMISSION_API, bindingSpec, policySpec } from "../../src/remedies/token-lifetime/admission/policy";
import { DEFAULTS } from "../../src/remedies/token-lifetime/testing/scene";
import { apiOver, clientWith } from "./cluster-operator";
import { Admin, eventually } from "./cluster-world";

// The effect of the policy on pods, on a real API server: field by field, for any volumes that the API server accepts.

const BOUND = 600;
const NAME = "agent";
const POLICIES = `/apis/${ADMISSION_API}/mutatingadmissionpolicies`;
const BINDINGS = `/apis/${ADMISSION_API}/mutatingadmissionpolicybindings`;

interface Source {
  readonly serviceAccountToken?: { path: string; audience?: string; expirationSeconds?: number };
}

interface Volume {
  readonly name: string;
  readonly projected?: { readonly sources?: readonly Source[] };
}

interface Pod {
  readonly spec: { readonly volumes?: readonly Volume[] };
}

const admin = new Admin();
let namespace: string;
let other: string;
let policy: string;
const made: string[] = [];

/** A policy and its binding, under a name that only this test file uses. */
async function pair(name: string, spec: object): Promise<void> {
  made.push(`${BINDINGS}/${name}`, `${POLICIES}/${name}`);
  await admin.create(POLICIES, { metadata: { name }, spec });
  await admin.create(BINDINGS, { metadata: { name }, spec: bindingSpec(name) });
}

async function removed(paths: readonly string[]): Promise<void> {
  for (const path of paths) await admin.delete(path);
}

beforeAll(async () => {
  namespace = await admin.namespace("token-admission");
  other = await admin.namespace("token-admission-other");
  for (const where of [namespace, other]) {
    const accounts = `/api/v1/namespaces/${where}/serviceaccounts/default`;
    await eventually(
      () => admin.get(accounts).catch(() => undefined),
      account => account !== undefined,
    );
  }
  policy = namespace;
  await pair(policy, policySpec({ namespace, daemonSet: NAME, expirationSeconds: BOUND }));
  await inEffect();
});

afterAll(async () => {
  await removed(made);
  admin.connection.close();
});

const OWNER = { apiVersion: "apps/v1", kind: "DaemonSet", name: NAME, uid: "1", controller: true };

interface Made {
  readonly volumes?: readonly object[];
  /** Fields of the owner reference that differ from the default. */
  readonly owner?: object;
  readonly where?: string;
}

/** The volumes of a pod as the API server would store it. The dry run stores nothing, so no node is needed. */
async function volumesOf({ volumes, owner = {}, where = namespace }: Made): Promise<Volume[]> {
  const body = {
    metadata: { generateName: "pod-", ownerReferences: [{ ...OWNER, ...owner }] },
    spec: { containers: [{ name: "main", image: "agent:1" }], ...(volumes === undefined ? {} : { volumes }) },
  };
  const path = `/api/v1/namespaces/${where}/pods`;
  const { spec } = await admin.api.json<Pod>({
    what: "POST pods",
    method: "POST",
    path,
    query: { dryRun: "All" },
    body,
  });
  // Admission gives its volume a random name.
  return (spec.volumes ?? []).map(volume => ({ ...volume, name: volume.name.replace(/^(kube-api-access-).*/, "$1") }));
}

const secondsOf = (volumes: readonly Volume[]): (number | undefined)[] =>
  volumes.flatMap(({ projected }) =>
    (projected?.sources ?? []).flatMap(({ serviceAccountToken: token }) => (token ? [token.expirationSeconds] : [])),
  );

/** API servers apply a policy after a short delay. */
async function inEffect(): Promise<void> {
  const seconds = await eventually(
    async () => secondsOf(await volumesOf({})),
    ([first]) => first === BOUND,
  );
  expect(seconds).toEqual([BOUND]);
}

/** The expected effect of the policy on volumes, written independently of the policy's CEL. */
function expected(volumes: readonly Volume[]): Volume[] {
  const copies = structuredClone(volumes) as Volume[];
  for (const { projected } of copies) {
    for (const { serviceAccountToken: token } of projected?.sources ?? []) {
      if (token === undefined || token.audience !== undefined) continue;
      if (token.expirationSeconds === undefined || token.expirationSeconds > BOUND) token.expirationSeconds = BOUND;
    }
  }
  return copies;
}

const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });

const tokens = fc.record({
  expirationSeconds: optional(fc.constantFrom(600, 601, 3599, 3600, 3607, 86_400, 4_294_967_296)),
  audience: optional(fc.constantFrom("", "vault", "https://kubernetes.default.svc")),
});

/** Each source has its own path, as the API server requires within one volume. */
const source = (path: string): fc.Arbitrary<object> =>
  fc.oneof(
    { weight: 3, arbitrary: tokens.map(token => ({ serviceAccountToken: { path, ...token } })) },
    fc.constant({ configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path }] } }),
    fc.constant({ secret: { name: "secret", optional: true } }),
    fc.constant({ downwardAPI: { items: [{ path, fieldRef: { fieldPath: "metadata.namespace" } }] } }),
  );

const lists = fc
  .integer({ min: 0, max: 5 })
  .chain(length => fc.tuple(...Array.from({ length }, (_, i) => source(`path-${i}`))));

const volumes = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: lists.map(list => ({ projected: { sources: list } })) },
      fc.constantFrom<object>(
        { emptyDir: {} },
        { hostPath: { path: "/tmp" } },
        { secret: { secretName: "secret" } },
        { csi: { driver: "secrets-store.csi.k8s.io", readOnly: true } },
        { projected: { defaultMode: 256 } },
      ),
    ),
    { maxLength: 6 },
  )
  .map(list => list.map((volume, i) => ({ name: `volume-${i}`, ...volume })));

describe("the policy", () => {
  it("shortens longer tokens for the API server, and changes nothing else, for any volumes", async () => {
    let shortened = 0;
    await fc.assert(
      fc.asyncProperty(optional(volumes), async list => {
        const made = list === undefined ? {} : { volumes: list };
        const untouched = await volumesOf({ ...made, owner: { name: "another" } });
        const touched = await volumesOf(made);
        expect(touched).toEqual(expected(untouched));
        shortened += secondsOf(touched).filter((seconds, i) => seconds !== secondsOf(untouched)[i]).length;
      }),
      { numRuns: 300 },
    );
    expect(shortened).toBeGreaterThan(300);
  });

  it("shortens the token of the volume that admission adds, also if it is the only volume", async () => {
    const [volume] = await volumesOf({});
    expect(volume).toMatchObject({ name: "kube-api-access-", projected: { defaultMode: 420 } });
    expect(volume?.projected?.sources?.map(source => Object.keys(source)[0])).toEqual([
      "serviceAccountToken",
      "configMap",
      "downwardAPI",
    ]);
    expect(secondsOf([volume!])).toEqual([BOUND]);
  });

  it.each([
    ["another DaemonSet", { name: "agent-2" }],
    ["another kind", { kind: "StatefulSet" }],
    ["another group", { apiVersion: "example.com/v1" }],
    ["an owner that is not its controller", { controller: false }],
    ["an owner without the field `controller`", { controller: undefined }],
  ])("leaves a pod of %s alone", async (_, owner) => {
    expect(secondsOf(await volumesOf({ owner }))).toEqual([3607]);
  });

  it("leaves pods of other namespaces alone", async () => {
    expect(secondsOf(await volumesOf({ where: other }))).toEqual([3607]);
  });

  it("handles the largest number of tokens", async () => {
    const many = Array.from({ length: 100 }, (_v, i) => ({
      name: `volume-${i}`,
      projected: {
        sources: Array.from({ length: 50 }, (_s, j) => ({ serviceAccountToken: { path: `${j}` } })),
      },
    }));
    const seconds = secondsOf(await volumesOf({ volumes: many }));
    expect(seconds).toHaveLength(5001);
    expect(new Set(seconds)).toEqual(new Set([BOUND]));
  });
});

describe("together with others", () => {
  const before = made.length;
  afterEach(async () => removed(made.splice(before + 2)));

  it("shortens a token that a later policy adds", async () => {
    const token = "Object.spec.volumes.projected.sources.serviceAccountToken{path: 't', expirationSeconds: 7200}";
    const sources = `[Object.spec.volumes.projected.sources{serviceAccountToken: ${token}}]`;
    const projected = `Object.spec.volumes.projected{sources: ${sources}}`;
    const value = `Object.spec.volumes{name: "injected", projected: ${projected}}`;
    await pair(`zz-${policy}`, {
      ...policySpec({ namespace, daemonSet: NAME, expirationSeconds: BOUND }),
      matchConditions: [{ name: "once", expression: '!object.spec.volumes.exists(v, v.name == "injected")' }],
      mutations: [
        {
          patchType: "JSONPatch",
          jsonPatch: { expression: `[JSONPatch{op: "add", path: "/spec/volumes/-", value: ${value}}]` },
        },
      ],
    });
    const found = await eventually(
      () => volumesOf({}),
      list => list.some(({ name }) => name === "injected"),
    );
    expect(found.map(({ name }) => name)).toEqual(["kube-api-access-", "injected"]);
    expect(secondsOf(found)).toEqual([BOUND, BOUND]);
  });

  it("applies the shorter of two bounds", async () => {
    await pair(`aa-${policy}`, policySpec({ namespace, daemonSet: NAME, expirationSeconds: 900 }));
    await pair(`zz-${policy}`, policySpec({ namespace, daemonSet: "both", expirationSeconds: 1200 }));
    await pair(`yy-${policy}`, policySpec({ namespace, daemonSet: "both", expirationSeconds: 700 }));
    const both = await eventually(
      async () => secondsOf(await volumesOf({ owner: { name: "both" } })),
      ([first]) => first === 700,
    );
    expect(both).toEqual([700]);
    expect(secondsOf(await volumesOf({}))).toEqual([BOUND]);
  });
});

describe("the operator's writes", () => {
  const made = (uid: string): ReturnType<typeof makeObject> => {
    const object = makeObject(`${namespace}/it`);
    return { ...object, metadata: { ...object.metadata, uid } };
  };
  const rules = createRemedies()
    .flatMap(({ permissions }) => permissions)
    .filter(({ apiGroup }) => apiGroup === "admissionregistration.k8s.io")
    .map(({ apiGroup, resource, verbs }) => ({ apiGroups: [apiGroup], resources: [resource], verbs }));
  let owner: ReturnType<typeof makeObject>;
  let writer: ApiWriter;

  beforeAll(async () => {
    owner = made("0b0e5f5a-0000-4000-8000-000000000001");
    writer = new ApiWriter(apiOver(await clientWith(admin, namespace, rules)));
  });

  async function viewsOf(kind: ClusterKind, path: string): Promise<ClusterObjectView[]> {
    const { items } = await admin.get<{ items: object[] }>(path);
    return items.flatMap(item => clusterObjectView(kind, item) ?? []);
  }

  /** The policy and binding as the remedy sees them. */
  async function seen(): Promise<Pair> {
    const admission = {
      policies: await viewsOf("MutatingAdmissionPolicy", POLICIES),
      bindings: await viewsOf("MutatingAdmissionPolicyBinding", BINDINGS),
    };
    return pairOf({ namespace, name: "written" } as DaemonSetView, { owner, admission }, DEFAULTS);
  }

  const states = async (): Promise<string[]> => (await seen()).halves.map(({ state }) => state.is);
  const intents = async () => buildPair(await seen(), "written", owner, "test");

  async function write(by = writer): Promise<void> {
    for (const intent of await intents()) await by.write(intent);
  }

  it("create a policy and a binding that are read back unchanged, with the declared permissions only", async () => {
    expect(await states()).toEqual(["missing", "missing"]);
    await write();
    expect(await states()).toEqual(["right", "right"]);
    expect(await intents()).toEqual([]);
  });

  it("restore an object that another client has changed, only under its uid", async () => {
    const { name } = await seen();
    await admin.patch(`${POLICIES}/${name}`, { spec: { reinvocationPolicy: "Never" } });
    expect(await states()).toEqual(["different", "right"]);
    const [outdated] = await intents();
    await admin.patch(`${POLICIES}/${name}`, { spec: { failurePolicy: "Fail" } });
    await expect(writer.write(outdated!)).rejects.toThrow(ConflictError);
    await write();
    expect(await states()).toEqual(["right", "right"]);
  });

  it("delete only objects that were read before", async () => {
    const views = (await seen()).halves.flatMap(({ state }) => viewIn(state) ?? []);
    const [binding, policy] = buildRemoval(views, "test");
    const successor = { ...binding!, target: { ...binding!.target, uid: "00000000-0000-4000-8000-000000000000" } };
    await expect(writer.write(successor)).rejects.toThrow(ConflictError);
    await writer.write(binding!);
    await writer.write(policy!);
    expect(await states()).toEqual(["missing", "missing"]);
  });

  it("never adopt an existing object of that name", async () => {
    const early = await intents();
    const { name } = await seen();
    await pair(name, policySpec({ namespace, daemonSet: "theirs", expirationSeconds: 700 }));
    expect(await states()).toEqual(["foreign", "foreign"]);
    expect(await intents()).toEqual([]);
    for (const intent of early) await expect(writer.write(intent)).rejects.toThrow(ConflictError);
    expect(await states()).toEqual(["foreign", "foreign"]);
  });

  it("are refused without the right to create, also by server-side apply", async () => {
    owner = made("0b0e5f5a-0000-4000-8000-000000000002");
    const fewer = rules.map(rule => ({ ...rule, verbs: rule.verbs.filter(verb => verb !== "create") }));
    const weak = new ApiWriter(apiOver(await clientWith(admin, namespace, fewer)));
    const [create] = await intents();
    await expect(weak.write(create!)).rejects.toThrow(ForbiddenError);
    await expect(weak.write({ ...create!, verb: "apply" })).rejects.toThrow(ForbiddenError);
  });
});
