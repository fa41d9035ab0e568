import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../core/json";
import {
  type PreviousSeconds,
  type TemplateInput,
  type TemplatePatch,
  type TemplatePlan,
  type TemplateSpec,
  VOLUME_NAME,
} from "./parts";
import { isDue, planRelease, planTemplate } from "./plan";
import { created, type Managed, ownedVolumesOf, serverSideApply, US } from "./testing/apply";

const PATH = "/var/run/secrets/kubernetes.io/serviceaccount";
const SPEC: TemplateSpec = { expirationSeconds: 600, defaultToken: "Project" };
const LEAVE: TemplateSpec = { ...SPEC, defaultToken: "Leave" };

const CA = { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } };
const NAMESPACE = {
  downwardAPI: { items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }] },
};

const ELSE = `no token that is known to be for the API server at ${PATH} in`;

const API = "https://kubernetes.default.svc";

const token = (expirationSeconds: number, audience?: string) => ({
  serviceAccountToken: { path: "token", expirationSeconds, ...(audience === undefined ? {} : { audience }) },
});
const projected = (name: string, ...sources: object[]) => ({ name, projected: { defaultMode: 420, sources } });
const own = (seconds = 600, name = VOLUME_NAME) => projected(name, token(seconds), CA, NAMESPACE);
const shortened = (name: string, ...sources: object[]) => ({ name, projected: { sources } });
const container = (name: string, ...mounts: object[]) => ({
  name,
  image: "agent:1",
  ...(mounts.length === 0 ? {} : { volumeMounts: mounts }),
});
const mounting = (name: string, volume: string, mountPath = PATH) => container(name, { name: volume, mountPath });

const main = { name: "main", image: "agent:1" };
const side = { name: "side", image: "agent:1" };
const secret = { name: "keys", secret: { secretName: "agent-token" } };

function input(spec: object, over: Partial<TemplateInput> = {}): TemplateInput {
  return { template: { spec } as JsonObject, automount: undefined, ownedVolumes: [], ...over };
}

function plan(spec: object, over: Partial<TemplateInput> = {}, wanted = SPEC): TemplatePlan {
  return planTemplate(input(spec, over), wanted);
}

function patchOf(made: TemplatePlan): TemplatePatch {
  if (!isDue(made)) throw new Error(`expected a change, found ${JSON.stringify(made)}`);
  return made.patch;
}

function reasonOf(made: TemplatePlan): string {
  return made.kind === "LeftAlone" ? made.reason : made.kind;
}

/** A DaemonSet on which plans are carried out. */
class Subject {
  live: Managed;
  previous: readonly PreviousSeconds[] = [];
  automount: boolean | undefined;

  constructor(spec: object) {
    this.live = created({ spec } as JsonObject);
  }

  get input(): TemplateInput {
    return { template: this.live.template, automount: this.automount, ownedVolumes: ownedVolumesOf(this.live) };
  }

  get spec(): unknown {
    return this.live.template["spec"];
  }

  plan(spec = SPEC): TemplatePlan {
    return planTemplate(this.input, spec, this.previous);
  }

  apply(spec = SPEC): TemplatePlan {
    const made = this.plan(spec);
    if (!isDue(made)) return made;
    this.live = serverSideApply(this.live, US, { spec: made.patch });
    this.previous = made.previous;
    return made;
  }

  release(): void {
    this.live = serverSideApply(this.live, US, { spec: planRelease(this.input, this.previous) });
  }

  /** Another manager applies this with force. */
  interfere(spec: object): void {
    this.live = serverSideApply(this.live, "argocd", { spec });
  }
}

describe("a token in the template", () => {
  it.each([
    ["without expirationSeconds lives 3600 s", { path: "token" }, 3600],
    ["with an empty audience is for the API server", { path: "token", audience: "", expirationSeconds: 7200 }, 7200],
    ["with its audience is for it", { path: "token", audience: API, expirationSeconds: 86_400 }, 86_400],
    ["for a year is shortened as well", { path: "token", expirationSeconds: 31_536_000 }, 31_536_000],
  ])("%s", (_, serviceAccountToken, before) => {
    const volumes = [projected("api", { serviceAccountToken })];
    const made = plan({ containers: [mounting("main", "api")], volumes }, { apiAudiences: ["k3s", API] });
    const source = { serviceAccountToken: { ...serviceAccountToken, expirationSeconds: 600 } };
    expect(patchOf(made)).toEqual({ volumes: [shortened("api", source)] });
    expect(made).toMatchObject({ previous: [{ volume: "api", expirationSeconds: before }] });
  });

  it.each([3607, 86_400])("does not live for 3607 s, which the API server extends to a year: at most %d s", bound => {
    const wanted = { ...SPEC, expirationSeconds: bound };
    const spec = { containers: [mounting("main", "api")], volumes: [projected("api", token(3607))] };
    expect(patchOf(plan(spec, {}, wanted))).toEqual({ volumes: [shortened("api", token(3606))] });
    const [volume] = patchOf(plan({ containers: [main] }, {}, wanted)).volumes ?? [];
    expect(volume).toEqual(own(bound === 3607 ? 3606 : bound));
  });
});

describe("a template stays unchanged", () => {
  const off = "its pods get no token: automountServiceAccountToken is false on its";
  const at = (volume: object) => ({ containers: [mounting("main", "keys")], volumes: [volume] });
  const manyOf = (volume: object) => ({
    containers: ["a", "b", "c", "d", "e"].map(one => mounting(one, "keys")),
    volumes: [volume],
  });
  const named = { containers: [main], volumes: [projected("api", token(86_400, API))] };
  const admitted = { containers: [main], volumes: [{ name: "kube-api-access-abcde", emptyDir: {} }] };

  it.each<[string, string, object, Partial<TemplateInput>?]>([
    ["DefaultTokenLeft", "defaultToken is Leave for container main and container side", { containers: [main, side] }],
    ["AutomountOff", `${off} ServiceAccount`, { containers: [main] }, { automount: false }],
    ["AutomountOff", `${off} pod template`, { containers: [main], automountServiceAccountToken: false }],
    [
      "AutomountOff",
      "the audience of its tokens is not known to be one of the API server",
      ...([named, { automount: false, apiAudiences: ["vault"] }] as const),
    ],
    ["OwnMount", `${ELSE} container main`, at(secret)],
    ["OwnMount", `${ELSE} container main`, at({ name: "keys", hostPath: { path: "/etc/keys" } })],
    ["OwnMount", `${ELSE} container main`, at({ name: "keys", emptyDir: {} })],
    ["OwnMount", `${ELSE} container main`, at(projected("keys", CA))],
    ["OwnMount", `${ELSE} container main`, at(projected("keys", token(86_400, "vault")))],
    ["OwnMount", `${ELSE} container main`, admitted],
    ["OwnMount", `${ELSE} container a and container b and container c and 2 more`, manyOf(secret)],
  ])("%s: %s, %j", (reason, cause, spec, over = {}) => {
    const wanted = reason === "DefaultTokenLeft" ? LEAVE : SPEC;
    expect(plan(spec, over, wanted)).toMatchObject({ kind: "LeftAlone", reason, cause });
  });
});

describe("Windows nodes", () => {
  const affinityTo = (os: string): object => {
    const nodeSelectorTerms = [{ matchExpressions: [{ key: "kubernetes.io/os", operator: "In", values: [os] }] }];
    return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
  };

  it.each([
    ["by the pod's operating system", { os: { name: "windows" } }],
    ["by the nodes' label", { nodeSelector: { "kubernetes.io/os": "windows" } }],
    ["by an affinity to that label", { affinity: affinityTo("windows") }],
    ["by an older label", { nodeSelector: { "beta.kubernetes.io/os": "windows" } }],
    ["by a label of Windows alone", { nodeSelector: { "node.kubernetes.io/windows-build": "10.0.20348" } }],
    ["by options of Windows", { securityContext: { windowsOptions: { hostProcess: true } } }],
  ])("stay unchanged: %s", (_, fields) => {
    const spec = { ...fields, containers: [main], volumes: [projected("api", token(3600))] };
    expect(reasonOf(plan(spec))).toBe("WindowsNodes");
    const linux = { os: { name: "linux" }, nodeSelector: {}, affinity: affinityTo("linux"), securityContext: {} };
    expect(reasonOf(plan({ ...spec, ...linux }))).toBe("Change");
  });

  it.each<[string, object]>([
    ["a label of another subject", { nodeSelector: { "maintenance-windows": "sat", "example.com/windows": "false" } }],
    ["another value", { nodeSelector: { "kubernetes.io/os": "no-windows" } }],
    ["an operating system of its own", { os: { name: "linux" }, affinity: affinityTo("windows") }],
    ["empty options of Windows", { securityContext: { windowsOptions: {} } }],
  ])("are not meant by %s", (_, fields) => {
    expect(reasonOf(plan({ ...fields, containers: [main], volumes: [projected("api", token(3600))] }))).toBe("Change");
  });

  it.each<[string, object]>([
    ["affinities", { affinity: affinityTo("windows") }],
    ["labels", { nodeSelector: { "node.kubernetes.io/windows-build": "10.0.20348" } }],
    ["options", { securityContext: { windowsOptions: { runAsUserName: "agent" } } }],
  ])("undo no change if only %s name them, as beside others", (_, fields) => {
    const subject = new Subject({ containers: [main], volumes: [projected("api", token(3600))] });
    subject.apply();
    subject.interfere(fields);
    expect(subject.plan()).toMatchObject({ kind: "Bounded" });
  });
});

describe("a second plan", () => {
  const mixed = {
    initContainers: [container("first"), mounting("second", "api"), container("third")],
    containers: [mounting("main", "keys"), container("side")],
    volumes: [secret, projected("api", token(3600), token(86_400, "vault")), { name: "data", emptyDir: {} }],
  };

  it.each([
    ["takes back a source", { volumes: [shortened("api", token(3600), token(86_400, "vault"))] }],
    ["makes the operator's token live longer", { volumes: [shortened(VOLUME_NAME, token(3607), CA, NAMESPACE)] }],
  ])("detects that another manager %s, and keeps everything else", (_, drift) => {
    const subject = new Subject(mixed);
    subject.apply();
    const wanted = subject.spec;
    subject.interfere(drift);
    expect(subject.plan().kind).toBe("Change");
    subject.apply();
    expect(subject.spec).toEqual(wanted);
    expect(subject.plan()).toMatchObject({ kind: "Bounded" });
  });

  it("leaves a source to a manager that has bounded it, and does not restore it later", () => {
    const subject = new Subject(mixed);
    subject.apply();
    subject.interfere({ volumes: [shortened("api", token(900), token(86_400, "vault"))] });
    const longer = { ...SPEC, expirationSeconds: 1200 };
    expect(patchOf(subject.apply(longer)).volumes).toEqual([own(1200)]);
    expect(subject.previous).toEqual([]);
    expect(subject.plan({ ...SPEC, expirationSeconds: 3600 })).toMatchObject({ previous: [] });
  });
});

it("another bound never extends a token whose previous lifetime is unknown", () => {
  const subject = new Subject({
    containers: [mounting("main", "api"), container("side")],
    volumes: [projected("api", token(900))],
  });
  subject.apply();
  subject.previous = [];
  const patch = patchOf(subject.apply({ ...SPEC, expirationSeconds: 1200 }));
  expect(patch.volumes).toEqual([shortened("api", token(600)), own(1200)]);
});

describe("a fingerprint", () => {
  const template = { metadata: { labels: { app: "agent" } }, spec: { containers: [main], hostNetwork: true } };
  const of = (made: object): string =>
    planTemplate({ template: made as JsonObject, automount: undefined, ownedVolumes: [] }, SPEC).fingerprint;

  it("has sixteen digits that do not depend on the order of keys", () => {
    expect(of(template)).toMatch(/^[0-9a-f]{16}$/);
    const spec = { hostNetwork: true, containers: [{ image: "agent:1", name: "main" }] };
    expect(of({ spec, metadata: template.metadata })).toBe(of(template));
  });

  it.each([
    ["another image", { ...template, spec: { ...template.spec, containers: [{ ...main, image: "agent:2" }] } }],
    ["another label", { ...template, metadata: { labels: { app: "agent2" } } }],
    ["a restart by a person", { ...template, metadata: { ...template.metadata, annotations: { restartedAt: "1" } } }],
    ["another order of containers", { ...template, spec: { ...template.spec, containers: [main, container("x")] } }],
  ])("detects %s", (_, other) => {
    expect(of(other)).not.toBe(of(template));
  });

  it("detects another lifetime of a token, but not the operator's", () => {
    const volumes = (seconds: number) => ({ spec: { ...template.spec, volumes: [projected("api", token(seconds))] } });
    expect(of(volumes(3600))).not.toBe(of(volumes(7200)));
    const subject = new Subject(volumes(3600).spec);
    const before = subject.plan().fingerprint;
    subject.apply();
    expect(subject.plan().fingerprint).toBe(before);
    subject.previous = [{ volume: "api", expirationSeconds: 7200 }];
    expect(subject.plan().fingerprint).not.toBe(before);
  });
});
