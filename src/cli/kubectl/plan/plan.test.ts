import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { candidate, carryOut, clusterObject, facts } from "../../../engine/cluster-wide/testing/fixtures";
import { planNamespace } from "../../../engine/cluster-wide/plan";
import { type FakeAnswer, FakeServer } from "../../../cluster/testing/fake-server";
import { run } from "../testing/run";
import { planNamespaces } from "./plan-cluster";
import { ago, answerOf, binding, meta, pod, type World, workload } from "../testing/world";
import { ownerLabels } from "../../../core/owned";
import type { ObjectMetadata } from "../../../api/controller-resilience";
import { requestNumberOf } from "../../../remedies/kit/targets";

const folder = mkdtempSync(join(tmpdir(), "plan-"));
let refused: RegExp | undefined;
let world: World;
const forbidden: FakeAnswer = { code: 403, body: { kind: "Status", code: 403, message: "forbidden" } };
/** By path, instead of the world's. */
const answers = new Map<string, FakeAnswer>();
const server = new FakeServer(request =>
  refused?.test(request.url ?? "")
    ? forbidden
    : (answers.get(request.url?.split("?")[0] ?? "") ?? answerOf(world)(request)),
);
let kubeconfig: string;
beforeAll(async () => (kubeconfig = await server.start()));
beforeEach(() => {
  refused = undefined;
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-7d", uid: "rs", controller: true };
  const labels = { app: "web", "pod-template-hash": "7d" };
  world = {
    namespaces: [{ metadata: { ...meta("shop"), namespace: undefined } }],
    pods: [pod("web-7d-1", "web", { created: 1_800, ownerReferences: [owner], labels })],
    serviceaccounts: [{ metadata: meta("web", { creationTimestamp: ago(300) }) }],
    deployments: [workload("web")],
    rolebindings: [binding("web")],
  };
  answers.clear();
  server.requests.length = 0;
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await server.stop();
});

const head = "apiVersion: controller-resilience.io/v1alpha1\nkind: ControllerResilience\n";
const web = `${head}metadata: {name: web, namespace: shop}
spec: {targets: [{kind: Deployment, name: web}], tokenRestart: {}, stallDetection: {}}
`;
const wide = `apiVersion: controller-resilience.io/v1alpha1
kind: ClusterControllerResilience
metadata: {name: all}
spec: {template: {tokenRestart: {}}}
`;

function plan(yaml: string, ...args: string[]): ReturnType<typeof run> {
  const file = join(folder, "file.yaml");
  writeFileSync(file, yaml);
  return run(["plan", "--kubeconfig", kubeconfig, "-f", file, ...args]);
}

/** 401s for ten minutes, the last one now. */
function unauthorizedLog(): string {
  const line = "E1124 reflector.go:147] Failed to watch *v1.Pod: failed to list *v1.Pod: Unauthorized";
  return Array.from(
    { length: 21 },
    (_, i) => `${new Date(Date.now() - 30_000 * (20 - i)).toISOString()} ${line}\n`,
  ).join("");
}

/** Every request but reads and reviews. */
function writes(): string[] {
  return server.requests
    .filter(({ method, url }) => method !== "GET" && url?.endsWith("reviews") !== true)
    .map(({ method, url }) => `${method ?? ""} ${url ?? ""}`);
}

describe("plan of a ControllerResilience", () => {
  it("says what the operator would do for each target, and why, and writes nothing", async () => {
    const { code, stdout, stderr } = await plan(web);
    expect([code, stderr]).toEqual([2, ""]);
    expect(stdout).toContain("ControllerResilience shop/web  new, mode Enforce");
    expect(stdout).toContain("sees   Deployment/web: pods: 1; recreated by: Other; rejected pods: 1");
    expect(stdout).toContain("stallDetection");
    expect(Math.max(...stdout.split("\n").map(line => line.length))).toBeLessThanOrEqual(80);
    expect(writes()).toEqual([]);
  });

  it("says first what it would do, then why", async () => {
    const { stdout } = await plan(web);
    expect(stdout).toMatch(/ False Rejected\n {2}would now evict Pod shop\/web-7d-1\n {2}why {4}Pod web-7d-1 is/);
    expect(stdout.match(/is older than/g)).toHaveLength(1);
    expect(stdout).toContain("ControllersActive True Active\n  would change nothing now\n  why    Deployment/web");
  });

  it("says of each write that it is not made in mode Observe, and exits with 0", async () => {
    const { code, stdout } = await plan(web.replace("spec: {", "spec: {mode: Observe, flowIsolation: {}, "));
    expect(stdout).toContain("WouldRestart\n  not now (mode Observe), else it would evict Pod shop/web-7d-1\n");
    expect(stdout.replaceAll(/\s+/g, " ")).toContain(
      "not now (mode Observe), else it would create PriorityLevelConfiguration controller-resilience-shared",
    );
    expect(code).toBe(0);
  });

  it("says that the operator may not list a kind of progress, which it reads with the rights of the user", async () => {
    const lease = {
      metadata: { name: "controller-resilience" },
      spec: { holderIdentity: "operator", renewTime: new Date().toISOString() },
    };
    answers.set("/apis/controller-resilience.io", { body: { versions: [{ version: "v1alpha1" }] } });
    answers.set("/apis/coordination.k8s.io/v1/namespaces/controller-resilience-system/leases/controller-resilience", {
      body: lease,
    });
    answers.set("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
      ...{ code: 201, body: { status: { allowed: false } } },
    });
    answers.set("/apis/example.com/v1", { body: { resources: [{ name: "widgets", kind: "Widget" }] } });
    answers.set("/apis/example.com/v1/widgets", { body: { metadata: { resourceVersion: "1" }, items: [] } });
    const progressOf = async (kind: string): Promise<string> => {
      const progress = `stallDetection: {progress: [{apiVersion: example.com/v1, kind: ${kind}}]}`;
      return (await plan(web.replace("stallDetection: {}", progress))).stdout.replaceAll(/\s+/g, " ");
    };
    expect(await progressOf("Widget")).toContain(
      "ControllersActive Unknown Forbidden would change nothing now why Observation incomplete: list widgets: not allowed; allow it in",
    );
    expect(await progressOf("Widgit")).toContain("kind Widgit of example.com/v1 does not exist (yet)");
  });

  it("says what the operator takes back when a block goes, such as a throttle", async () => {
    const live = { targets: [{ kind: "Deployment", name: "web" }], mode: "Enforce", suspend: false, flowIsolation: {} };
    const metadata = meta("web", { finalizers: ["controller-resilience.io/cleanup"] });
    world["controllerresiliences"] = [{ metadata, spec: live, status: {} }];
    const labels = ownerLabels({ metadata: metadata as ObjectMetadata });
    const name = "controller-resilience-shop-web-0123456789abcdef";
    const spec = { priorityLevelConfiguration: { name: "controller-resilience-tar-pit" } };
    world["flowschemas"] = [{ metadata: meta(name, { namespace: undefined, labels }), spec }];
    world["prioritylevelconfigurations"] = [];
    const { code, stdout } = await plan(`${head}metadata: {name: web, namespace: shop}
spec: {targets: [{kind: Deployment, name: web}], stallDetection: {}}
`);
    expect(stdout).toContain(`would now delete FlowSchema ${name}`);
    expect(code).toBe(2);
  });

  const own = {
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ClusterControllerResilience",
    name: "all",
    uid: "c",
  };
  const taken = { mode: "Enforce", suspend: false, targets: [{ kind: "DaemonSet", name: "agent" }], tokenRestart: {} };
  it.each([
    ["which it records one pass before", undefined],
    [
      "which a generated object leaves to that of the file",
      [{ metadata: meta("all", { ownerReferences: [own] }), spec: taken }],
    ],
  ])("says that the operator changes a DaemonSet, %s", async (_, objects) => {
    const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "agent", uid: "uid-of-agent", controller: true };
    const set = workload("agent", {}, { containers: [{ name: "main" }] }) as { metadata: object; status: object };
    const scheduled = { currentNumberScheduled: 1, updatedNumberScheduled: 1, numberReady: 1, numberAvailable: 1 };
    const status = { ...set.status, ...scheduled, observedGeneration: 1 };
    world["daemonsets"] = [{ ...set, metadata: { ...set.metadata, generation: 1 }, status }];
    world["pods"] = [pod("agent-1", "agent", { ownerReferences: [owner] })];
    world["serviceaccounts"] = [{ metadata: meta("agent") }];
    if (objects !== undefined) world["controllerresiliences"] = objects;
    const { code, stdout } = await plan(`${head}metadata: {name: web, namespace: shop}
spec: {targets: [{kind: DaemonSet, name: agent}], tokenLifetime: {}}
`);
    expect(stdout).toContain("would now create or change DaemonSet shop/agent");
    expect(code).toBe(2);
  });

  it("knows that the operator tries again what is asked for in another way", async () => {
    world["daemonsets"] = [workload("agent", {}, { containers: [{ name: "main", image: "agent:1" }] })];
    const targets = [{ kind: "DaemonSet", name: "agent" }];
    const spec = (expirationSeconds: number) => ({
      targets,
      tokenLifetime: { expirationSeconds, defaultToken: "Project" },
    });
    const live = { ...spec(600), mode: "Enforce", suspend: false };
    const generation = requestNumberOf({ spec: live } as never, "tokenLifetime");
    const daemonSets = [{ name: "agent", outcome: "Contested", generation }];
    world["controllerresiliences"] = [{ metadata: meta("web", { generation: 1 }), spec: live, status: { daemonSets } }];
    const planned = (seconds: number) =>
      plan(`${head}metadata: {name: web, namespace: shop}\nspec: ${JSON.stringify(spec(seconds))}`);
    expect((await planned(600)).stdout).toContain("TokenLifetimeBounded False Contested");
    expect((await planned(1_200)).stdout).not.toContain("False Contested");
  });

  it("counts the restarts of the object that the cluster has", async () => {
    const time = new Date(Date.now() - 60_000).toISOString();
    const entry = { podUID: "u", workload: "Deployment/web", cause: "ServiceAccountRecreated", outcome: "Recovered" };
    world["controllerresiliences"] = [
      { metadata: meta("web"), spec: {}, status: { restarts: [{ ...entry, pod: "web-0", time }] } },
    ];
    const { stdout, code } = await plan(web);
    expect(stdout).toContain("ControllerResilience shop/web  exists");
    expect(stdout).toContain("False RestartDeferred");
    expect(stdout).toContain("would change nothing now");
    expect(code).toBe(0);
  });

  it("says that the breaker holds back a restart without proof, and not one with proof", async () => {
    const time = new Date().toISOString();
    const lease = {
      metadata: { name: "controller-resilience", annotations: { "controller-resilience.io/breaker": "a test" } },
      spec: { holderIdentity: "operator", renewTime: time },
    };
    const versions = { body: { versions: [{ version: "v1alpha1" }] } };
    answers.set("/apis/controller-resilience.io", versions);
    answers.set("/apis/coordination.k8s.io/v1/namespaces/controller-resilience-system/leases/controller-resilience", {
      body: lease,
    });
    expect((await plan(web)).stdout).not.toContain("not now");
    world["serviceaccounts"] = [{ metadata: meta("web") }];
    answers.set("/api/v1/namespaces/shop/pods/web-7d-1/log", { text: unauthorizedLog() });
    // One API server is no second witness.
    answers.set("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes", { body: { endpoints: [] } });
    answers.set("/metrics", { text: 'process_start_time_seconds 1\napiserver_request_total{code="200"} 1\n' });
    const { stdout, code } = await plan(web);
    expect(stdout).toContain("Operator: works; its restart breaker is tripped.");
    expect(stdout).toContain("\n  not now (the restart breaker is tripped), else it would evict Pod");
    expect(code).toBe(0);
  });

  it("does nothing for a suspended one", async () => {
    const { stdout, code } = await plan(web.replace("spec: {", "spec: {suspend: true, "));
    expect(stdout).toContain("suspended: the operator would do nothing");
    expect(code).toBe(0);
  });

  it("plans what may be read, marks the rest, and exits with 1 if nothing would be changed", async () => {
    refused = /\/pods(\?|$)/;
    const { stdout, code } = await plan(web, "-o", "json");
    const { plans, unknown } = JSON.parse(stdout) as {
      plans: { remedies: { remedy: string; reason: string; isComplete: boolean }[] }[];
      unknown: string[];
    };
    expect(plans[0]?.remedies[0]).toMatchObject({ remedy: "tokenRestart", reason: "Forbidden", isComplete: false });
    expect(unknown.join()).toContain("tokenRestart of shop/web: ");
    expect(code).toBe(1);
  });
});

it("plan of a ClusterControllerResilience says what it selects, what it would create, and what that would do", async () => {
  const { code, stdout } = await plan(wide);
  expect(stdout).toContain("selects 1 workload in 1 namespace\n");
  expect(stdout).toMatch(/would {4}create ControllerResilience all: \S+\s+selects 1 workload of this namespace/);
  expect(stdout).toContain("ControllerResilience shop/all  new, only observes: mode Observe");
  expect(stdout).toContain("\n  not now (mode Observe), else it would evict Pod shop/web-7d-1\n");
  expect([code, writes()]).toEqual([2, []]);
});

const UNREAD = ["namespaces", "deployments", "serviceaccounts", "rolebindings", "controllerresiliences"];

it.each(UNREAD)(
  "plan of a ClusterControllerResilience concludes nothing from %s that it could not read",
  async kind => {
    const owner = { apiVersion: "controller-resilience.io/v1alpha1", kind: "ClusterControllerResilience", name: "all" };
    const generated = meta("all", { ownerReferences: [{ ...owner, uid: "uid-of-all", controller: true }] });
    const targets = [{ kind: "Deployment", name: "web" }];
    world["clustercontrollerresiliences"] = [{ metadata: meta("all", { namespace: undefined }), spec: {} }];
    world["controllerresiliences"] = [{ metadata: generated, spec: { targets, tokenRestart: {} } }];
    answers.set("/apis/controller-resilience.io", { body: { versions: [{ version: "v1alpha1" }] } });
    expect((await plan(wide)).stdout).toContain("would    patch ControllerResilience all");
    refused = new RegExp(`/${kind}\\?`);
    const { code, stdout } = await plan(wide, "-n", "shop");
    expect(stdout).not.toContain("would ");
    expect(stdout).toMatch(new RegExp(`INCOMPLETE: not readable, so unknown\n  - list ${kind}.*: no rights`));
    expect(code).toBe(1);
  },
);

it("plan of a ClusterControllerResilience says what stays protected until a person allows to remove it", () => {
  const owner = clusterObject("all", { excludeNamespaces: ["web"] });
  const candidates = Array.from({ length: 11 }, (_, number) => candidate(`Deployment/w${number}`));
  const objects = carryOut([], planNamespace(facts({ candidates })));
  const found = (some: number) =>
    planNamespaces(
      owner,
      [facts({ candidates: candidates.slice(0, some), objects, clusterObjects: [owner] })],
      new Date(),
    );
  expect(found(11)).toMatchObject({ kept: 11, namespaces: [], generated: [{ exists: true }] });
  expect(found(10)).toMatchObject({ kept: 0, namespaces: [{ writes: [{ verb: "delete" }] }], generated: [] });
});

describe("bad input of plan", () => {
  it.each([
    ["", "expected a ControllerResilience or a ClusterControllerResilience, got an empty file"],
    ["---\n- 1", "file.yaml: expected an object with apiVersion and kind, got a list\n"],
    ["hello", "file.yaml: expected an object with apiVersion and kind, got a single value\n"],
    [
      "kind: a\nb: [",
      "file.yaml: expected YAML or JSON, got an error in line 2, column 5: Flow sequence in block collection must be sufficiently indented and end with a ]\n",
    ],
    ["a: *b", "file.yaml: expected YAML or JSON, got an error: Unresolved alias"],
    ["kind: ConfigMap", 'expected kind ControllerResilience or ClusterControllerResilience, got "ConfigMap"'],
    [head.replace("v1alpha1", "v9"), "expected apiVersion controller-resilience.io/v1alpha1, got"],
    [`${head}metadata: {name: A_B}`, 'metadata.name: expected a name such as web-1, got "A_B"'],
    [`${head}metadata: {name: web}`, "web: expected the field spec"],
    [
      web.replace("tokenRestart: {}", "tokenRestart: {cooldown: 1s}"),
      "tokenRestart.cooldown: expected a duration between",
    ],
  ])("is named: %s", async (yaml, sentence) => {
    const { code, stdout, stderr } = await plan(yaml);
    expect(stderr).toContain(sentence);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect([code, stdout, server.requests.length]).toEqual([1, "", 0]);
  });

  it("is named for a missing file, a missing flag and another namespace", async () => {
    const call = (...args: string[]): ReturnType<typeof run> => run(["plan", "--kubeconfig", kubeconfig, ...args]);
    expect((await call("-f", "/nonexistent")).stderr).toBe("failed to read /nonexistent: ENOENT\n");
    expect((await call()).stderr).toContain("required option '-f, --filename <file>' not specified");
    expect((await plan(web, "-n", "other")).stderr).toContain("expected the namespace of -n, other, got another");
  });
});

it("plan of a ClusterControllerResilience leaves out the namespace of the operator, wherever that is", async () => {
  const { stdout } = await plan(wide, "--operator-namespace", "shop");
  expect(stdout).toContain("namespaces not selected: 1 OperatorNamespace");
  expect(stdout).not.toContain("create ControllerResilience");
});

it("plan of a ClusterControllerResilience in one namespace does not say what only all namespaces show: whether workloads stay", async () => {
  const names = Array.from({ length: 11 }, (_, number) => `w${number}`);
  const owner = { apiVersion: "controller-resilience.io/v1alpha1", kind: "ClusterControllerResilience", name: "all" };
  const generated = (namespace: string): object => ({
    metadata: meta("all", { namespace, ownerReferences: [{ ...owner, uid: "uid-of-all", controller: true }] }),
    spec: { targets: names.map(name => ({ kind: "Deployment", name })), tokenRestart: {} },
  });
  world["deployments"] = names.map(name => workload(name));
  world["clustercontrollerresiliences"] = [{ metadata: meta("all", { namespace: undefined }), spec: {} }];
  world["controllerresiliences"] = [generated("shop")];
  answers.set("/apis/controller-resilience.io", { body: { versions: [{ version: "v1alpha1" }] } });
  const narrow = wide.replace("spec: {", "spec: {excludeNamespaces: [shop], ");
  const { code, stdout } = await plan(narrow, "-n", "shop");
  expect(stdout).not.toContain("until a person allows");
  expect(stdout).toContain("whether 11 workloads may lose protection now: all namespaces show that");
  expect(code).toBe(2);
});
