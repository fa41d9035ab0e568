import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { daemonSetView } from "../../src/cluster/read/workload-views";
import { apiWriter } from "../../src/cluster/write/writer";
import { ConflictError } from "../../src/core/errors";
import {
  type PreviousSeconds,
  type TemplateInput,
  type TemplatePatch,
  type TemplatePlan,
  VOLUME_NAME,
} from "../../src/remedies/token-lifetime/template/parts";
import { isDue, planRelease, planTemplate } from "../../src/remedies/token-lifetime/template/plan";
import { created, serverSideApply, US } from "../../src/remedies/token-lifetime/template/testing/apply";
import type { DaemonSetView } from "../../src/core/views";
import { eventually } from "../cluster/admin";
import { suiteAdmin } from "./suite-lab";

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

const admin = suiteAdmin();
const writer = apiWriter(admin.api);
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

  private constructor(readonly name: string) {}

  static async create(name: string, spec: object): Promise<Subject> {
    const subject = new Subject(name);
    await subject.applyAs("helm", spec);
    return subject;
  }

  get path(): string {
    return `/apis/apps/v1/namespaces/${namespace}/daemonsets/${this.name}`;
  }

  /** As the operator sees it. */
  async view(): Promise<DaemonSetView> {
    return daemonSetView(await admin.get(this.path))!;
  }

  async podSpec(): Promise<PodSpec> {
    return (await this.view()).template["spec"] as PodSpec;
  }

  async input(): Promise<TemplateInput> {
    const { template, ownedVolumes } = await this.view();
    return { template, automount: undefined, ownedVolumes };
  }

  async plan(): Promise<TemplatePlan> {
    return planTemplate(await this.input(), SPEC, this.previous);
  }

  /** Applies a plan as the operator does. */
  async write(patch: TemplatePatch): Promise<void> {
    const target = { apiVersion: "apps/v1", kind: "DaemonSet", namespace, name: this.name };
    const body = { spec: { template: { spec: patch } } };
    await writer.write({ verb: "apply", target, body, why: "its tokens live too long", eventReason: "TokensBounded" });
  }

  async apply(): Promise<TemplatePatch> {
    const plan = await this.plan();
    if (!isDue(plan)) throw new Error(`expected a change, found ${JSON.stringify(plan)}`);
    await this.write(plan.patch);
    this.previous = plan.previous;
    return plan.patch;
  }

  async release(): Promise<void> {
    await this.write(planRelease(await this.input(), this.previous));
  }

  /** Another manager's server-side apply. */
  async applyAs(fieldManager: string, spec: object, force = false): Promise<void> {
    const labels = { app: this.name };
    await admin.api.json({
      ...{ what: "apply", method: "PATCH", path: this.path, query: { fieldManager, force } },
      contentType: "application/apply-patch+yaml",
      body: {
        ...{ apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name: this.name } },
        spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
      },
    });
  }
}

/** A pod of that template after admission, as the DaemonSet controller would create it. */
async function podOf(spec: PodSpec, prefix: string): Promise<PodSpec> {
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

it("a change changes only the owned fields, and no order, and is made once", async () => {
  const subject = await Subject.create("rich", RICH);
  const { template: before } = await subject.view();
  const patch = await subject.apply();
  const { template, generation, ownedVolumes } = await subject.view();
  expect(patch).toMatchObject({
    volumes: [{ name: "api" }, { name: VOLUME_NAME }],
    initContainers: [{ name: "first" }, { name: "third" }],
    containers: [{ name: "side" }, { name: "last" }],
  });
  expect(subject.previous).toEqual([{ volume: "api", expirationSeconds: 3600 }]);
  // The simulation of server-side apply in the unit tests gives the same result.
  expect(template).toEqual(serverSideApply(created(before), US, { spec: patch }).template);
  const after = await subject.podSpec();
  expect(namesOf(after.initContainers)).toEqual(["first", "second", "third"]);
  expect(namesOf(after.containers)).toEqual(["main", "side", "odd", "last"]);
  expect(namesOf(after.volumes)).toEqual(["data", "api", "data2", VOLUME_NAME]);
  expect(ownedVolumes).toEqual(["api", VOLUME_NAME]);
  expect(await subject.plan()).toMatchObject({ kind: "Bounded" });
  await subject.write(patch);
  expect((await subject.view()).generation).toBe(generation);
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
    const before = await podOf(await subject.podSpec(), "before");
    const injected = namesOf(before.volumes).filter(name => name.startsWith("kube-api-access-"));
    expect(injected).toHaveLength(1);
    const lacking = { first: injected, third: injected, side: injected, last: injected };
    expect(mountsOf(before)).toEqual({ second: ["api"], main: ["api"], odd: ["data"], ...lacking });

    await subject.apply();
    const after = await podOf(await subject.podSpec(), "after");
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
    const pod = await podOf(await subject.podSpec(), "prefix");
    expect(namesOf(pod.volumes)).toEqual(["kube-api-access-own"]);
    expect(mountsOf(pod)).toEqual({ main: ["kube-api-access-own"] });
  });
});

it("another manager that forces the sources back causes drift, and owns the sources", async () => {
  const sources = (seconds: number) => ({ volumes: [{ name: "api", projected: { sources: [token(seconds)] } }] });
  const withApi = (seconds: number) => ({ ...PLAIN, containers: [container("main", at("api"))], ...sources(seconds) });
  const subject = await Subject.create("contested", withApi(3600));
  await subject.apply();
  await expect(subject.applyAs("argocd-controller", withApi(7200))).rejects.toThrow(ConflictError);
  await subject.applyAs("argocd-controller", withApi(7200), true);
  expect(await subject.view()).toMatchObject({ ownedVolumes: [], lastManager: "argocd-controller" });
  const previous = [{ volume: "api", expirationSeconds: 7200 }];
  expect(await subject.plan()).toMatchObject({ kind: "Change", patch: sources(600), previous });
});

it.each([
  ["rich-release", RICH, ["api"]],
  ["plain-release", PLAIN, []],
])("a release restores exactly the original: %s", async (name, spec, owned) => {
  const subject = await Subject.create(name, spec);
  const before = await subject.input();
  const { fingerprint } = await subject.plan();
  // The operator can begin again afterwards.
  for (let times = 0; times < 2; times++) {
    await subject.apply();
    expect(await subject.plan()).toMatchObject({ fingerprint });
    await subject.release();
    const after = await subject.input();
    expect(after.template).toEqual(before.template);
    expect(await subject.plan()).toMatchObject({ fingerprint });
    expect(after.ownedVolumes).toEqual(owned);
  }
});
