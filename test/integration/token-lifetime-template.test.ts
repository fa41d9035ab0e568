import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MANAGER, RESTARTED_AT_ANNOTATION } from "../../src/api/names";
import { ApiWriter } from "../../src/cluster/write/writer";
import { ConflictError } from "../../src/core/errors";
import type { JsonObject } from "../../src/core/json";
import { fingerprint } from "../../src/remedies/token-lifetime/template/fingerprint";
import {
  type PreviousSeconds,
  type TemplateInput,
  type TemplatePatch,
  type TemplatePlan,
  VOLUME_NAME,
} from "../../src/remedies/token-lifetime/template/parts";
import { planRelease, planTemplate } from "../../src/remedies/token-lifetime/template/plan";
import { applyPatch } from "../../src/remedies/token-lifetime/template/testing/apply";
import { Admin, eventually } from "./cluster-world";

// Plans for pod templates against a real API server: real server-side apply, real ownership of fields, real admission.

const PATH = "/var/run/secrets/kubernetes.io/serviceaccount";
const SPEC = { expirationSeconds: 600, defaultToken: "Project" } as const;

interface Mount {
  readonly name: string;
  readonly mountPath: string;
}

interface PodSpec {
  readonly volumes?: readonly { readonly name: string; readonly projected?: { readonly sources: readonly object[] } }[];
  readonly containers: readonly { readonly name: string; readonly volumeMounts?: readonly Mount[] }[];
  readonly initContainers?: readonly { readonly name: string; readonly volumeMounts?: readonly Mount[] }[];
}

interface ManagedFields {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly fieldsV1: JsonObject;
}

interface DaemonSet {
  readonly metadata: { readonly name: string; readonly generation: number; readonly managedFields: ManagedFields[] };
  readonly spec: { readonly template: JsonObject & { readonly spec: PodSpec } };
}

const admin = new Admin();
const writer = new ApiWriter(admin.api);
let namespace: string;

beforeAll(async () => {
  namespace = await admin.namespace("token-template");
  await admin.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: "agent" } });
});

afterAll(() => admin.connection.close());

const container = (name: string, ...volumeMounts: Mount[]) => ({ name, image: "agent:1", volumeMounts });
const at = (name: string, mountPath = PATH): Mount => ({ name, mountPath });
const token = (expirationSeconds?: number) => ({
  serviceAccountToken: { path: "token", ...(expirationSeconds === undefined ? {} : { expirationSeconds }) },
});

/** A template with all cases: order, tokens of others, mounts of others. */
const RICH = {
  serviceAccountName: "agent",
  initContainers: [container("first"), container("second", at("api")), container("third")],
  containers: [
    container("main", at("api"), at("data", "/data")),
    container("side", at("data", "/data"), at("data2", `${PATH}/`)),
    container("odd", at("data")),
    container("last"),
  ],
  volumes: [
    { name: "data", emptyDir: {} },
    {
      name: "api",
      projected: {
        sources: [
          { configMap: { name: "kube-root-ca.crt" } },
          token(),
          { serviceAccountToken: { path: "vault", audience: "vault", expirationSeconds: 7200 } },
        ],
      },
    },
    { name: "data2", hostPath: { path: "/tmp" } },
  ],
};

const PLAIN = { serviceAccountName: "agent", containers: [container("main")] };

/** A DaemonSet to which plans are applied. */
class Subject {
  previous: readonly PreviousSeconds[] = [];

  constructor(readonly name: string) {}

  static async create(name: string, spec: object): Promise<Subject> {
    const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets`;
    await send("POST", path, { fieldManager: "helm", body: daemonSet(name, spec) });
    return new Subject(name);
  }

  get path(): string {
    return `/apis/apps/v1/namespaces/${namespace}/daemonsets/${this.name}`;
  }

  read(): Promise<DaemonSet> {
    return admin.get<DaemonSet>(this.path);
  }

  async input(): Promise<TemplateInput> {
    const { metadata, spec } = await this.read();
    return { template: spec.template, automount: undefined, ownedVolumes: ownedVolumes(metadata.managedFields) };
  }

  async plan(spec: Parameters<typeof planTemplate>[1] = SPEC): Promise<TemplatePlan> {
    return planTemplate(await this.input(), spec, this.previous);
  }

  /** Applies a plan as the operator does. */
  async write(patch: TemplatePatch): Promise<void> {
    const target = { apiVersion: "apps/v1", kind: "DaemonSet", namespace, name: this.name };
    const body = { spec: { template: { spec: patch } } };
    await writer.write({ verb: "apply", target, body, why: "its tokens live too long", eventReason: "TokensBounded" });
  }

  async apply(spec: Parameters<typeof planTemplate>[1] = SPEC): Promise<TemplatePatch> {
    const plan = await this.plan(spec);
    if (plan.kind !== "Change") throw new Error(`expected a change, found ${JSON.stringify(plan)}`);
    await this.write(plan.patch);
    this.previous = plan.previous;
    return plan.patch;
  }

  async release(): Promise<void> {
    await this.write(planRelease(await this.input(), this.previous));
  }

  /** Another manager's server-side apply. */
  async applyAs(manager: string, spec: object, force = false): Promise<void> {
    const contentType = "application/apply-patch+yaml";
    const body = daemonSet(this.name, spec);
    await send("PATCH", this.path, { fieldManager: manager, force, contentType, body });
  }

  /** Another manager's patch of the pods' spec. */
  async patchAs(manager: string, spec: object): Promise<void> {
    const contentType = "application/merge-patch+json";
    await send("PATCH", this.path, { fieldManager: manager, contentType, body: { spec: { template: { spec } } } });
  }

  async fields(manager: string): Promise<ManagedFields[]> {
    return (await this.read()).metadata.managedFields.filter(entry => entry.manager === manager);
  }

  /** Another write of the operator that is no apply. */
  async restart(): Promise<void> {
    const annotations = { [RESTARTED_AT_ANNOTATION]: "2025-01-01T00:00:00Z" };
    await admin.patch(this.path, { spec: { template: { metadata: { annotations } } } });
  }
}

function daemonSet(name: string, spec: object): object {
  const labels = { app: name };
  const template = { metadata: { labels }, spec };
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name },
    spec: { selector: { matchLabels: labels }, template },
  };
}

/** A write with an explicit field manager. The default would be the user agent, which is the operator's name. */
async function send(
  method: "POST" | "PATCH",
  path: string,
  {
    fieldManager,
    force = false,
    ...rest
  }: { fieldManager: string; force?: boolean; contentType?: string; body: object },
): Promise<void> {
  const query = { fieldManager, ...(force ? { force } : {}) };
  await admin.api.json({ what: `${method} ${path}`, method, path, query, ...rest });
}

/** The volumes whose sources the operator owns, as the adapter has to read them from managedFields. */
function ownedVolumes(managedFields: readonly ManagedFields[]): string[] {
  // Other patches, such as a restart of a workload, are stored under the same manager as `Update`.
  const entries = managedFields.filter(({ manager, operation }) => manager === MANAGER && operation === "Apply");
  return entries.flatMap(({ fieldsV1 }) => {
    const volumes = ["f:spec", "f:template", "f:spec", "f:volumes"].reduce(fieldOf, fieldsV1);
    return Object.keys(volumes).flatMap(key => {
      if (!key.startsWith("k:")) return [];
      const sources = "f:sources" in fieldOf(fieldOf(volumes, key), "f:projected");
      return sources ? [(JSON.parse(key.slice(2)) as { name: string }).name] : [];
    });
  });
}

function fieldOf(fields: JsonObject, key: string): JsonObject {
  return (fields[key] ?? {}) as JsonObject;
}

/** A pod of that template after admission, as the DaemonSet controller would create it. */
async function podOf({ spec }: DaemonSet["spec"]["template"], prefix: string): Promise<PodSpec> {
  const pod = { metadata: { generateName: `${prefix}-` }, spec };
  return (await admin.create<{ spec: PodSpec }>(`/api/v1/namespaces/${namespace}/pods`, pod)).spec;
}

function mountsOf({ initContainers = [], containers }: PodSpec): Record<string, string[]> {
  const all = [...initContainers, ...containers];
  return Object.fromEntries(
    all.map(({ name, volumeMounts = [] }) => [
      name,
      volumeMounts.filter(({ mountPath }) => mountPath === PATH).map(mount => mount.name),
    ]),
  );
}

const namesOf = (list: readonly { readonly name: string }[] = []): string[] => list.map(({ name }) => name);

describe("a change", () => {
  it("changes only the owned fields, and no order", async () => {
    const subject = await Subject.create("rich", RICH);
    const before = (await subject.read()).spec.template;
    const patch = await subject.apply();
    const after = (await subject.read()).spec.template;
    expect(patch).toMatchObject({
      volumes: [{ name: "api" }, { name: VOLUME_NAME }],
      initContainers: [{ name: "first" }, { name: "third" }],
      containers: [{ name: "side" }, { name: "last" }],
    });
    expect(subject.previous).toEqual([{ volume: "api", expirationSeconds: 3600 }]);
    // The simulation of server-side apply in the unit tests gives the same result.
    expect(after).toEqual(applyPatch(before, [], patch).template);
    expect(namesOf(after.spec.initContainers)).toEqual(["first", "second", "third"]);
    expect(namesOf(after.spec.containers)).toEqual(["main", "side", "odd", "last"]);
    expect(namesOf(after.spec.volumes)).toEqual(["data", "api", "data2", VOLUME_NAME]);
    expect(after.spec.volumes?.[1]).toEqual({
      name: "api",
      projected: {
        defaultMode: 420,
        sources: [
          { configMap: { name: "kube-root-ca.crt" } },
          token(600),
          { serviceAccountToken: { path: "vault", audience: "vault", expirationSeconds: 7200 } },
        ],
      },
    });
  });

  it("is applied once: the next plan is empty, and applying it again raises no generation", async () => {
    const subject = await Subject.create("twice", RICH);
    const patch = await subject.apply();
    const { metadata } = await subject.read();
    expect(metadata.generation).toBe(2);
    expect(await subject.plan()).toEqual({ kind: "Bounded" });
    await subject.write(patch);
    expect((await subject.read()).metadata.generation).toBe(2);
  });

  it("makes the operator the owner of exactly these fields", async () => {
    const subject = await Subject.create("owned", RICH);
    await subject.apply();
    await subject.restart();
    const all = await subject.fields(MANAGER);
    expect(all.map(({ operation }) => operation)).toEqual(["Apply", "Update"]);
    const entries = all.slice(0, 1);
    const mounted = { [`k:{"mountPath":"${PATH}"}`]: { ".": {}, "f:mountPath": {}, "f:name": {}, "f:readOnly": {} } };
    const item = (name: string) => ({ [`k:{"name":"${name}"}`]: { "f:name": {}, ".": {}, "f:volumeMounts": mounted } });
    expect(entries[0]).toMatchObject({ operation: "Apply", apiVersion: "apps/v1", fieldsType: "FieldsV1" });
    expect(entries[0]?.subresource).toBeUndefined();
    expect(entries[0]?.fieldsV1).toEqual({
      "f:spec": {
        "f:template": {
          "f:spec": {
            "f:volumes": {
              'k:{"name":"api"}': { ".": {}, "f:name": {}, "f:projected": { "f:sources": {} } },
              [`k:{"name":"${VOLUME_NAME}"}`]: {
                ".": {},
                "f:name": {},
                "f:projected": { "f:defaultMode": {}, "f:sources": {} },
              },
            },
            "f:initContainers": { ...item("first"), ...item("third") },
            "f:containers": { ...item("side"), ...item("last") },
          },
        },
      },
    });
    expect((await subject.input()).ownedVolumes).toEqual(["api", VOLUME_NAME]);
  });

  it("follows the spec in both directions, using owned fields only", async () => {
    const subject = await Subject.create("raised", RICH);
    await subject.apply();
    await subject.apply({ ...SPEC, expirationSeconds: 1200 });
    const volumes = (await subject.read()).spec.template.spec.volumes!;
    expect(volumes[1]?.projected?.sources[1]).toEqual(token(1200));
    expect(volumes[3]?.projected?.sources[0]).toEqual(token(1200));
    await subject.apply({ ...SPEC, defaultToken: "Leave" });
    expect(namesOf((await subject.read()).spec.template.spec.volumes)).toEqual(["data", "api", "data2"]);
    expect(await subject.plan({ ...SPEC, defaultToken: "Leave" })).toMatchObject({ reason: "DefaultTokenLeft" });
  });
});

describe("admission", () => {
  it("mounts the default token into pods of the original template, not of the changed one", async () => {
    const accounts = `/api/v1/namespaces/${namespace}/configmaps/kube-root-ca.crt`;
    const found = await eventually(
      () => admin.get(accounts).catch(() => undefined),
      value => value !== undefined,
    );
    expect(found).toBeDefined();
    const subject = await Subject.create("admitted", RICH);
    const before = await podOf((await subject.read()).spec.template, "before");
    const injected = namesOf(before.volumes).filter(name => name.startsWith("kube-api-access-"));
    expect(injected).toHaveLength(1);
    const lacking = { first: injected, third: injected, side: injected, last: injected };
    expect(mountsOf(before)).toEqual({ second: ["api"], main: ["api"], odd: ["data"], ...lacking });

    await subject.apply();
    const after = await podOf((await subject.read()).spec.template, "after");
    expect(namesOf(after.volumes)).toEqual(["data", "api", "data2", VOLUME_NAME]);
    const ours = { first: [VOLUME_NAME], third: [VOLUME_NAME], side: [VOLUME_NAME], last: [VOLUME_NAME] };
    expect(mountsOf(after)).toEqual({ second: ["api"], main: ["api"], odd: ["data"], ...ours });

    // Except for its token life and its name, the operator's volume equals admission's.
    const theirs = before.volumes?.find(({ name }) => name === injected[0]);
    const own = after.volumes?.find(({ name }) => name === VOLUME_NAME);
    const sources = [token(600), ...(theirs?.projected?.sources.slice(1) ?? [])];
    expect(theirs?.projected?.sources[0]).toEqual(token(3607));
    expect(own).toEqual({ ...theirs, name: VOLUME_NAME, projected: { ...theirs?.projected, sources } });
    const mountIn = ({ containers }: PodSpec) => containers[3]?.volumeMounts?.[0];
    expect(mountIn(after)).toEqual({ ...mountIn(before), name: VOLUME_NAME });
  });

  it("treats a volume of the template as its own if the name has its prefix", async () => {
    const volumes = [{ name: "kube-api-access-own", projected: { sources: [token(3600)] } }];
    const subject = await Subject.create("prefix", { ...PLAIN, volumes });
    expect(await subject.apply()).toEqual({
      volumes: [{ name: volumes[0]?.name, projected: { sources: [token(600)] } }],
    });
    const pod = await podOf((await subject.read()).spec.template, "prefix");
    expect(namesOf(pod.volumes)).toEqual(["kube-api-access-own"]);
    expect(mountsOf(pod)).toEqual({ main: ["kube-api-access-own"] });
  });
});

describe("another manager", () => {
  const sources = (seconds: number) => ({ volumes: [{ name: "api", projected: { sources: [token(seconds)] } }] });
  const withApi = (seconds: number) => ({ ...PLAIN, containers: [container("main", at("api"))], ...sources(seconds) });

  it("that forces the sources back causes drift, and owns the sources", async () => {
    const subject = await Subject.create("contested", withApi(3600));
    await subject.apply();
    expect(await subject.plan()).toEqual({ kind: "Bounded" });
    await expect(subject.applyAs("argocd-controller", withApi(7200))).rejects.toThrow(ConflictError);
    await subject.applyAs("argocd-controller", withApi(7200), true);
    expect((await subject.input()).ownedVolumes).toEqual([]);
    expect(await subject.plan()).toMatchObject({
      kind: "Change",
      patch: sources(600),
      previous: [{ volume: "api", expirationSeconds: 7200 }],
    });
  });

  it("that updates the sources without apply owns them as well", async () => {
    const subject = await Subject.create("updated", withApi(3600));
    await subject.apply();
    await subject.patchAs("kubectl-edit", sources(3600));
    expect((await subject.input()).ownedVolumes).toEqual([]);
    expect((await subject.plan()).kind).toBe("Change");
  });

  it("can't remove a container in which the operator owns a mount by server-side apply", async () => {
    const subject = new Subject("removed");
    await subject.applyAs("argocd-controller", { ...PLAIN, containers: [container("main"), container("side")] });
    await subject.apply();
    await expect(subject.applyAs("argocd-controller", PLAIN, true)).rejects.toThrow(/image: Required value/);
    // An update can: kubectl apply, Helm and kustomize send the list without that container.
    const { spec } = await subject.read();
    const containers = [...spec.template.spec.containers.filter(one => one.name !== "side")];
    await subject.patchAs("helm", { containers });
    expect(namesOf((await subject.read()).spec.template.spec.containers)).toEqual(["main"]);
    expect(await subject.plan()).toEqual({ kind: "Bounded" });
  });
});

describe("a release", () => {
  it.each([
    ["rich-release", RICH],
    ["plain-release", PLAIN],
  ])("restores exactly the original: %s", async (name, spec) => {
    const subject = await Subject.create(name, spec);
    const before = await subject.input();
    const print = fingerprint(before, []);
    await subject.apply();
    expect(fingerprint(await subject.input(), subject.previous)).toBe(print);
    await subject.release();
    const after = await subject.input();
    expect(after.template).toEqual(before.template);
    expect(fingerprint(after, subject.previous)).toBe(print);
    expect(after.ownedVolumes).toEqual(name === "rich-release" ? ["api"] : []);

    // The operator can begin again afterwards.
    await subject.apply();
    expect(fingerprint(await subject.input(), subject.previous)).toBe(print);
    await subject.release();
    expect((await subject.input()).template).toEqual(before.template);
  });

  it("leaves the sources without an owner after the operator's entry is removed from managedFields", async () => {
    const subject = await Subject.create("disowned", RICH);
    const before = (await subject.read()).spec.template;
    await subject.apply();
    await subject.release();
    const { metadata } = await subject.read();
    const managedFields = metadata.managedFields.filter(({ manager }) => manager !== MANAGER);
    await admin.patch(subject.path, { metadata: { managedFields } });
    expect((await subject.input()).ownedVolumes).toEqual([]);
    const after = await subject.read();
    expect(after.spec.template).toEqual(before);
    expect(after.metadata.generation).toBe(3);
  });
});
