import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FakeServer } from "../../../cluster/testing/fake-server";
import { run, type Run } from "../testing/run";
import { type Report, summaryOf } from "./finding";
import { ago, answerOf, binding, meta, pod, type World, workload } from "../testing/world";

let world: World;
let logs: Record<string, string>;
let refused: string[];
let kubeconfig: string;
let unknown: RegExp | undefined;
const server = new FakeServer(request => {
  const { url = "" } = request;
  if (unknown?.test(url) === true) return { code: 403, body: {} };
  const isOwn = url === "/apis/controller-resilience.io" && world["controllerresiliences"] !== undefined;
  return isOwn ? { body: { versions: [{ version: "v1alpha1" }] } } : answerOf(world, logs, refused)(request);
});
beforeAll(async () => (kubeconfig = await server.start()));
afterAll(() => server.stop());
beforeEach(() => {
  world = { namespaces: [{ metadata: { ...meta("shop"), namespace: undefined, labels: { team: "shop" } } }] };
  logs = {};
  refused = [];
  unknown = undefined;
});

const audit = (...args: string[]): Promise<Run> => run(["audit", ...args], { KUBECONFIG: kubeconfig });

async function report(...args: string[]): Promise<Report> {
  return JSON.parse((await audit("-o", "json", ...args)).stdout) as Report;
}

/** Findings of checks that are not about protection and flows, which every controller of these tests lacks. */
async function found(...args: string[]): Promise<string[]> {
  const { findings } = await report(...args);
  return findings
    .filter(({ check }) => check !== "Unprotected")
    .map(({ severity, check, kind, name }) => `${severity} ${check} ${kind} ${name}`);
}

const account = (name: string, created: number, annotations: object = {}, more: object = {}): object => ({
  metadata: meta(name, { creationTimestamp: ago(created), annotations, ...more }),
});

describe("tokens", () => {
  it.each([
    ["critical", { created: 600, bound: true, why: "so the token that it got before is not valid." }],
    ["notice", { created: 600, bound: false, why: "no role is bound to the ServiceAccount" }],
    ["notice", { created: 86_400, bound: true, why: "The kubelet has replaced its token since" }],
  ])("of a pod that is older than its ServiceAccount are %s: %o", async (severity, { created, bound, why }) => {
    world["pods"] = [pod("web-1", "web", { created })];
    world["serviceaccounts"] = [account("web", created === 600 ? 300 : 80_000)];
    world["deployments"] = [workload("web")];
    world["rolebindings"] = bound ? [binding("web")] : [];
    const { findings } = await report();
    const finding = findings.find(({ check }) => check === "OldToken");
    expect(finding).toMatchObject({ severity, kind: "Pod", namespace: "shop", name: "web-1" });
    expect(finding?.why).toContain(why);
  });

  it.each([
    ["rolebindings", "notice", "whether a role is bound to the ServiceAccount is unknown"],
    ["deployments", "critical", "so the token that it got before is not valid."],
  ])("are judged by what could be read, without %s", async (kind, severity, why) => {
    world["pods"] = [pod("web-1", "web", { created: 600 })];
    world["serviceaccounts"] = [account("web", 300)];
    world["deployments"] = [workload("web")];
    world["rolebindings"] = [binding("web")];
    unknown = new RegExp(`/${kind}\\?`);
    const finding = (await report()).findings.find(({ check }) => check === "OldToken");
    expect(finding).toMatchObject({ severity, why: expect.stringContaining(why) as string });
  });

  it("of a younger pod, or one that has ended, are no finding", async () => {
    const ended = { ...pod("job-1", "gone"), status: { phase: "Succeeded" } };
    world["pods"] = [pod("web-1", "web", { created: 100 }), ended];
    world["serviceaccounts"] = [account("web", 300)];
    expect(await found()).toEqual([]);
  });

  const failure = (message: string, seconds: number): object => ({
    ...{ metadata: meta("web-1.1"), reason: "FailedMount", message, lastTimestamp: ago(seconds) },
    involvedObject: { kind: "Pod", namespace: "shop", name: "web-1", uid: "uid-of-web-1" },
  });
  const NO_TOKEN = 'MountVolume.SetUp failed for volume "kube-api-access-4x" : failed to fetch token: ';

  it.each([
    [
      "denied",
      `${NO_TOKEN}serviceaccounts "web" is forbidden: no tokens here`,
      60,
      "gets none: the API server denies it, last 1m",
    ],
    [
      "expired",
      'MountVolume.SetUp failed for volume "t" : token "web"/"shop"/[]string(nil)/600/v1.BoundObjectReference{} expired and refresh failed: context deadline exceeded',
      60,
      "gets none: the request fails, last 1m",
    ],
    ["failed", `${NO_TOKEN}context deadline exceeded`, 60, "gets none: the request fails, last 1m"],
  ])("that the kubelet does not get are critical: %s", async (_, message, seconds, why) => {
    world["pods"] = [pod("web-1", "web", { created: 100 })];
    world["serviceaccounts"] = [account("web", 300)];
    world["events"] = [failure(message, seconds)];
    const { findings } = await report();
    const finding = findings.find(({ check }) => check === "FailedToken");
    expect(finding).toMatchObject({ severity: "critical", kind: "Pod", namespace: "shop", name: "web-1" });
    expect(finding?.why).toContain(why);
  });

  it.each<[string, object, string]>([
    ["about another volume", failure('MountVolume.SetUp failed for volume "c" : configmap "c" not found', 60), "web-1"],
    ["long ago", failure(`${NO_TOKEN}context deadline exceeded`, 1200), "web-1"],
    ["of an earlier pod of this name", failure(`${NO_TOKEN}context deadline exceeded`, 60), "web-2"],
  ])("are fine after a failure %s", async (_, event, name) => {
    world["pods"] = [pod(name, "web", { created: 100 })];
    world["serviceaccounts"] = [account("web", 300)];
    world["events"] = [event];
    expect(await found()).toEqual([]);
  });

  it("have one finding if the ServiceAccount is missing", async () => {
    world["pods"] = [pod("web-1", "web")];
    world["events"] = [failure(`${NO_TOKEN}serviceaccounts "web" not found`, 60)];
    expect(await found()).toEqual(["critical MissingServiceAccount Pod web-1"]);
  });

  it("of the operator's own pods are a finding only for who asks for its namespace", async () => {
    const own = pod("controller-resilience-1", "web") as { metadata: object };
    world["pods"] = [{ ...own, metadata: { ...own.metadata, namespace: "controller-resilience-system" } }];
    expect(await found()).toEqual([]);
    const asked = await found("-n", "controller-resilience-system");
    expect(asked).toEqual(["critical MissingServiceAccount Pod controller-resilience-1"]);
  });

  it("of the operator end it, so it is not called unprotected", async () => {
    const namespace = "controller-resilience-system";
    const own = (name: string): object => ({ metadata: meta(name, { namespace }) });
    world["namespaces"] = [{ metadata: meta(namespace, { namespace: undefined }) }];
    world["deployments"] = [{ ...workload("web"), ...own("web") }];
    world["serviceaccounts"] = [own("web")];
    world["clusterrolebindings"] = [
      { ...binding("web"), subjects: [{ kind: "ServiceAccount", namespace, name: "web" }] },
    ];
    expect((await report("-n", namespace)).findings).toEqual([]);
  });

  it("name the owner that recreated the ServiceAccount", async () => {
    world["pods"] = [pod("web-1", "web", { created: 600 })];
    world["serviceaccounts"] = [account("web", 300, {}, { ownerReferences: [{ kind: "App", name: "a", uid: "o" }] })];
    const { findings } = await report();
    expect(findings[0]?.why).toContain("(its owner App a does it, or is itself recreated by a hook)");
  });

  it("name the hook that recreated the ServiceAccount", async () => {
    world["pods"] = [pod("web-1", "web", { created: 600 })];
    world["serviceaccounts"] = [account("web", 300, { "helm.sh/hook": "pre-upgrade" })];
    world["deployments"] = [workload("web")];
    const { findings } = await report();
    expect(findings.find(({ check }) => check === "OldToken")?.why).toContain("a Helm hook does it: helm.sh/hook");
    const hook = findings.find(({ check }) => check === "RecreatedByHook");
    expect(hook?.why).toContain("each helm upgrade of its release");
    expect(hook?.wayOut).toContain("so that Helm updates it in place (once with helm upgrade --take-ownership)");
    Object.assign(world["serviceaccounts"][0]!, { automountServiceAccountToken: false });
    expect(await found()).not.toContain("warning RecreatedByHook ServiceAccount web");
  });
});

describe("Leases", () => {
  const lease = (name: string, holderIdentity: string, renewed: number, leaseDurationSeconds = 1): object => ({
    metadata: meta(name),
    spec: { holderIdentity, leaseDurationSeconds, renewTime: ago(renewed) },
  });

  it("are stale if their running holder does not renew them while they are watched", async () => {
    const cut = `${"web-".repeat(16)}x`;
    world["pods"] = ["web-1", cut, "app-1"].map(name => pod(name, "web"));
    world["serviceaccounts"] = [account("web", 86_400)];
    world["leases"] = [
      lease("stale", "web-1_ab", 60),
      lease("suffix", "web-1-external-controller", 60),
      lease("cut", `${cut.slice(0, 63)}_ab`, 60),
      lease("gone", "web-2_ab", 60),
      lease("fresh", "web-1", -300),
    ];
    expect(await found()).toEqual(["cut", "stale", "suffix"].map(name => `critical StaleLease Lease ${name}`));
  });

  it.each<[string, (look: number) => object[]]>([
    [
      "their holder has just started, or renews another one: it may have finished with them",
      look => [lease("old", "web-1_ab", 60), lease("young", "young-1_ab", 900, 60), lease("works", "web-1_ab", -look)],
    ],
    ["the clock of their holder's node is late", look => [lease("skewed", "web-1", 120 - look)]],
  ])("are not stale if %s", async (_, leases) => {
    world["pods"] = [pod("web-1", "web"), pod("young-1", "web", { created: 3 })];
    world["serviceaccounts"] = [account("web", 86_400)];
    let looks = 0;
    Object.defineProperty(world, "leases", { get: () => leases(looks++) });
    expect(await found()).toEqual([]);
    expect(looks).toBe(2);
  });
});

it("bindings are sorted by the time that is left, in every convention, and a skipped one is a notice", async () => {
  const inDays = (days: number): string => ago(-days * 86_400);
  world["rolebindings"] = [
    binding("a", { annotations: { "janitor/expires": inDays(20) } }),
    binding("b", { annotations: { "controller-resilience.io/expires-at": inDays(2) } }),
    binding("c", { annotations: { "controller-resilience.io/expires-at": inDays(-1) } }),
    binding("d", { annotations: { "janitor/ttl": "forever" } }),
    binding("e", { annotations: { "janitor/ttl": "soon" } }),
    binding("f", { annotations: { "janitor/expires": inDays(2), "controller-resilience.io/skip": "true" } }),
  ];
  expect(await found()).toEqual([
    "critical ExpiringBinding RoleBinding uses-c",
    "critical ExpiringBinding RoleBinding uses-b",
    "warning ExpiringBinding RoleBinding uses-a",
    "notice ExpiringBinding RoleBinding uses-f",
    "notice ExpiringBinding RoleBinding uses-e",
  ]);
  expect((await audit("-o", "json")).stdout).not.toContain('"rank"');
  const wide = { namespace: undefined, annotations: { "janitor/expires": inDays(2) } };
  world["clusterrolebindings"] = [binding("g", wide), { ...binding("h", wide), subjects: [] }];
  expect((await found("-n", "shop")).join()).toMatch(/ClusterRoleBinding uses-g(?!.*Cluster)/);
});

it("bindings that the operator may renew, which could not be read, are notices until they expire", async () => {
  const expiresIn = (seconds: number) => ({ annotations: { "controller-resilience.io/expires-at": ago(-seconds) } });
  world["rolebindings"] = [binding("a", expiresIn(86_400)), binding("b", expiresIn(-60))];
  unknown = /controller-resilience/;
  expect(await found()).toEqual([
    "critical ExpiringBinding RoleBinding uses-b",
    "notice ExpiringBinding RoleBinding uses-a",
  ]);
  expect((await report()).findings.find(({ name }) => name === "uses-a")?.wayOut).toBe(
    "Extend it where it is defined if that access is still needed, unless the operator does: which bindings it renews could not be read.",
  );
});

it("bindings that the operator would renew are told while none leads", async () => {
  const expires = ago(-2 * 86_400);
  world["rolebindings"] = [binding("a", { annotations: { "controller-resilience.io/expires-at": expires } })];
  const bindings = [{ kind: "RoleBinding", name: "uses-a", state: "Current", renewTime: ago(-86_400) }];
  const spec = { mode: "Enforce", targets: [], bindingRenewal: {} };
  world["controllerresiliences"] = [{ metadata: meta("web"), spec, status: { bindings } }];
  world["clustercontrollerresiliences"] = [];
  const lease = (renewed: number): object => ({
    metadata: meta("controller-resilience", { namespace: "controller-resilience-system" }),
    spec: { holderIdentity: "a", renewTime: ago(renewed) },
  });
  world["leases"] = [lease(2)];
  expect(await found()).toEqual([]);
  world["leases"] = [lease(3_600)];
  for (const n of [[], ["-n", "shop"]])
    expect(await found(...n)).toEqual(["critical ExpiringBinding RoleBinding uses-a"]);
  refused = ["leases"];
  expect(await found()).toEqual([]);
});

describe("--logs", () => {
  const lines = (text: string, count: number): string =>
    Array.from({ length: count }, (_, i) => `${ago(25 * (count - i))} ${text}\n`).join("");

  beforeEach(() => {
    world["deployments"] = [workload("web")];
    world["serviceaccounts"] = [account("web", 86_400)];
    world["rolebindings"] = [binding("web")];
    world["pods"] = ["rejected", "denied", "fine"].map(name => pod(name, "web"));
    logs = {
      rejected: lines('E1120 reflector.go:227] "Failed to watch" err="failed to list *v1.Pod: Unauthorized"', 10),
      denied: lines(
        'pods is forbidden: User "system:serviceaccount:shop:web" cannot list resource "pods" secret-word',
        10,
      ),
      fine: lines("all is well", 10),
    };
  });

  it("finds controllers that the API server answers 401 or 403 now, and prints nothing of their logs", async () => {
    expect(await found("--logs")).toEqual(["critical RejectedNow Pod rejected", "warning ForbiddenNow Pod denied"]);
    for (const format of ["json", "yaml"])
      expect((await audit("--logs", "-o", format)).stdout).not.toMatch(/secret-word|reflector/);
  });

  it.each(["jane@example.com", "system:serviceaccount:kube-system:argocd-manager"])(
    "advises no right for a request that was denied to another: %s",
    async user => {
      logs["denied"] = lines(`pods is forbidden: User \\"${user}\\" cannot list resource \\"pods\\"`, 10);
      expect(await found("--logs")).toEqual(["critical RejectedNow Pod rejected"]);
    },
  );

  it("takes nothing that a log shipper prints for another pod for the shipper's own", async () => {
    const shipped = (log: string): string =>
      lines(JSON.stringify({ log, kubernetes: { pod_name: "other", namespace_name: "shop" } }), 10);
    logs = {
      rejected: shipped("failed to list *v1.Pod: Unauthorized"),
      denied: shipped('pods is forbidden: User "system:serviceaccount:shop:web" cannot list resource "pods"'),
    };
    expect(await found("--logs")).toEqual([]);
  });

  it("takes the 401s of others in the log of Argo CD for no evidence, as the operator does", async () => {
    const labels = { "app.kubernetes.io/part-of": "argocd" };
    world["pods"] = [pod("rejected", "web", { created: 600, labels })];
    expect(await found("--logs")).toEqual([]);
    world["serviceaccounts"] = [account("web", 30)];
    expect(await found("--logs")).toEqual(["warning OldToken Pod rejected"]);
  });

  it("is sure of a token that is older than its ServiceAccount after one 401", async () => {
    const text = 'E1120 reflector.go:227] "Failed to watch" err="failed to list *v1.Pod: Unauthorized"';
    world["pods"] = [pod("rejected", "web", { created: 600 })];
    world["serviceaccounts"] = [account("web", 30)];
    logs = { rejected: `${ago(5)} ${text}\n` };
    expect(await found()).toEqual(["warning OldToken Pod rejected"]);
    expect(await found("--logs")).toEqual(["critical OldToken Pod rejected", "warning RejectedNow Pod rejected"]);
    const { findings } = await report("--logs");
    expect(findings[1]?.why).toBe("the log of container main shows 1 occasion of 401.");
  });

  it("says what to do in the same words beside another finding of the pod, and for 401s that persist", async () => {
    const ways = async (): Promise<(string | undefined)[][]> =>
      (await report("--logs")).findings
        .filter(({ kind }) => kind === "Pod")
        .map(({ check, wayOut, command }) => [check, wayOut, command]);
    const text = 'E1120 reflector.go:227] "Failed to watch" err="failed to list *v1.Pod: Unauthorized"';
    const command = "kubectl describe pod rejected -n shop";
    const restart = ["Restart it if its owner replaces it, or let tokenRestart do it. Look first:", command];
    world["pods"] = [pod("rejected", "web", { created: 600 })];
    expect(await ways()).toEqual([["RejectedNow", ...restart]]);
    [logs, world["serviceaccounts"]] = [{ rejected: `${ago(5)} ${text}\n` }, [account("web", 30)]];
    expect(await ways()).toEqual([
      ["OldToken", ...restart],
      ["RejectedNow", ...restart],
    ]);
    world["serviceaccounts"] = [];
    const create = ["Create the ServiceAccount, then restart it if its owner replaces it. Look first:", command];
    expect(await ways()).toEqual([
      ["MissingServiceAccount", ...create],
      ["RejectedNow", ...create],
    ]);
  });

  it("finds 403s of a ServiceAccount whose last binding is gone, and reads no log of others that nothing binds", async () => {
    world["rolebindings"] = [];
    world["pods"] = [pod("denied", "web"), pod("rejected", "default")];
    world["serviceaccounts"] = [account("web", 86_400), account("default", 86_400)];
    const { findings } = await report("--logs");
    expect(findings.map(({ check, name }) => `${check} ${name}`)).toEqual(["ForbiddenNow denied"]);
    expect(findings[0]?.why).toContain(
      "ServiceAccount web lacks a right: no ClusterRoleBinding names it, nor a RoleBinding here.",
    );
  });

  it("finds 401s of pods whose owner is of a kind that it does not know", async () => {
    world["deployments"] = [];
    world["pods"] = [pod("rejected", "web")];
    expect(await found("--logs")).toEqual(["critical RejectedNow Pod rejected"]);
  });

  it("reads first the logs of what is known to use the API, if there are too many", async () => {
    world["serviceaccounts"] = [account("web", 86_400), account("other", 86_400)];
    world["pods"] = [...Array.from({ length: 500 }, (_, i) => pod(`a-${i}`, "other")), pod("rejected", "web")];
    const { findings, unread } = await report("--logs");
    expect(findings.map(({ check, name }) => `${check} ${name}`)).toContain("RejectedNow rejected");
    expect(unread).toContain("read 1 more log: one audit reads 500; use -n");
  });

  it("reads none without it", async () => {
    expect(await found()).toEqual([]);
    expect(server.requests.filter(({ url }) => url?.includes("/log"))).not.toHaveLength(0);
    server.requests.length = 0;
    await audit();
    expect(server.requests.filter(({ url }) => url?.includes("/log"))).toHaveLength(0);
  });
});

describe("the report", () => {
  beforeEach(() => {
    world["pods"] = [pod("web-1", "gone")];
    world["serviceaccounts"] = [account("<script>", 86_400, { "helm.sh/hook": "pre-upgrade" })];
    world["deployments"] = [workload("web", {}, { serviceAccountName: "<script>" })];
  });

  it("is text in 80 columns, worst first, and the exit code is 2", async () => {
    const { stdout, code } = await audit();
    expect(stdout).toMatch(/^CRITICAL {2}Pod shop\/web-1 {2}MissingServiceAccount\n {2}why {2}its ServiceAccount gone/);
    expect(stdout).toMatch(/\nAudit of http:\S+: found 1 critical, 1 warning\.\n$/);
    expect(Math.max(...stdout.split("\n").map(line => line.length))).toBeLessThanOrEqual(80);
    expect(code).toBe(2);
  });

  it("counts with a plural that is right", () => {
    const notice = {
      severity: "notice",
      check: "Unprotected",
      kind: "Pod",
      namespace: "shop",
      why: "",
      wayOut: "",
    } as const;
    const findings = ["a", "b"].map(name => ({ ...notice, name }));
    const report: Report = { server: "s", logs: false, time: "", unread: [], findings };
    expect(summaryOf(report)).toBe("Audit of s: found 2 notices.");
    expect(summaryOf({ ...report, findings: findings.slice(1) })).toBe("Audit of s: found 1 notice.");
  });

  it("counts as findings what is as severe as --fail-on", async () => {
    world["pods"] = [];
    expect((await audit()).code).toBe(2);
    expect((await audit("--fail-on", "critical")).code).toBe(0);
  });

  it("passes on no control characters of annotations, which a terminal would obey", async () => {
    world["serviceaccounts"] = [account("web", 86_400, { "helm.sh/hook": "pre-upgrade,\u001b[2J" })];
    world["deployments"] = [workload("web")];
    // A RoleBinding may have any name without "/" and "%".
    const expires = { name: "a\u001b[2J\r\nb\u202e", annotations: { "janitor/expires": ago(-60) } };
    world["rolebindings"] = [binding("web", expires)];
    for (const format of [["-o", "yaml"], ["-o", "html"], []]) {
      const { stdout } = await audit(...format);
      expect(stdout).toMatch(/RecreatedByHook|ServiceAccounts recreated by Helm/);
      expect(stdout).toMatch(/RoleBinding shop\/a \[2J b|name: "?a \[2J b|<span>a \[2J b/);
      expect(stdout).not.toMatch(/[\u001b\r\u202e]|\\e\[2J/);
    }
  });

  it("has commands on lines of their own, to be copied", async () => {
    const { stdout } = await audit();
    expect(stdout).toMatch(
      /\n {2}do {3}Create the ServiceAccount, then restart it if its owner replaces it\. Look\n {7}first:\n {7}kubectl describe pod web-1 -n shop\n\n/,
    );
    expect((await report()).findings).toContainEqual(
      expect.objectContaining({ command: "kubectl describe pod web-1 -n shop" }),
    );
  });

  it("is a page that names the context and the namespace, with commands to copy, and that may load nothing", async () => {
    const { stdout, code } = await audit("-o", "html", "-n", "shop");
    expect(code).toBe(2);
    expect(stdout).toContain("<h1>here</h1>");
    expect(stdout).toContain("<p>namespace shop of http://127.0.0.1:");
    expect(stdout).toContain("<code>kubectl describe pod web-1 -n shop --context here</code>");
    expect(stdout).toContain("<span>&#60;script&#62;</span>");
    expect(stdout).not.toMatch(/<script|src=|href=|url\(|style=/);
    const [, style = ""] = /<style>([^]*)<\/style>/.exec(stdout) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    expect(stdout).toContain(
      `"default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'">\n<meta name="viewport"`,
    );
    const there = await audit("-o", "html", "--context", "there", "--kubeconfig", kubeconfig, "-A");
    expect(there.stdout).toMatch(/<h1>there<\/h1>\n<p>all namespaces of /);
    // The page is sent to others.
    expect(there.stdout).toContain("<code>kubectl describe pod web-1 -n shop --context there</code>");
    expect(there.stdout).not.toContain(kubeconfig);
  });

  it("groups findings on the page by severity and check, and those with the same reason in one row", async () => {
    world["pods"] = ["a-1", "a-2", "b-1"].map(name => pod(name, name.startsWith("a") ? "lost" : "gone"));
    // A role is bound to one of two ServiceAccounts that are younger than their pods.
    world["pods"].push(pod("old-1", "old", { created: 600 }), pod("old-2", "unused", { created: 600 }));
    world["serviceaccounts"]?.push(account("old", 300), account("unused", 300));
    world["deployments"]?.push(workload("old"));
    world["rolebindings"] = [binding("old")];
    const { stdout } = await audit("-o", "html");
    const groups = stdout.split("<section ").slice(1);
    expect(groups.map(group => /^class="(\w+)"><h2>(.*) <span>(.*)<\/span><\/h2>/.exec(group)?.slice(1))).toEqual([
      ["critical", "Pods older than their ServiceAccount", "1 critical"],
      ["critical", "Pods without their ServiceAccount", "3 critical"],
      ["warning", "ServiceAccounts recreated by Helm or Argo CD hooks", "1 warning"],
      ["notice", "Pods older than their ServiceAccount", "1 notice"],
      ["notice", "Workloads that use the API and are unprotected", "1 notice"],
    ]);
    const rows = groups[1]!.split("<article>").slice(1);
    expect(rows.map(row => [...row.matchAll(/<span>([ab]-\d)<\/span>/g)].map(([, name]) => name))).toEqual([
      ["a-1", "a-2"],
      ["b-1"],
    ]);
    expect(rows[0]).toMatch(
      /<code>kubectl describe pod a-1 -n shop .*<\/code><code>kubectl describe pod a-2 -n shop .*<\/code>/,
    );
    expect(stdout).toContain(
      '<li class="critical"><b>4</b> critical</li><li class="warning"><b>1</b> warning</li><li class="notice"><b>2</b> notices</li>',
    );
  });

  it("says on the page that nothing was found, and what was not looked at", async () => {
    world = {};
    const { stdout } = await audit("-o", "html");
    expect(stdout).toContain('<section class="well"><h2>No problem found</h2>');
    expect(stdout).toContain('<li class="none"><b>0</b> critical</li>');
    expect(stdout).toContain("No logs were read: with <code>--logs</code>");
    expect((await audit("-o", "html", "--logs")).stdout).not.toContain("No logs were read");
    refused = ["leases"];
    const { stdout: partial } = await audit("-o", "html");
    expect(partial).toContain(
      "<h2>Incomplete <span>1 read failed</span></h2>\n<ul><li>list leases: no rights (403)</li>",
    );
    expect(partial).toContain("<h2>No problem found in what could be read</h2>");
  });

  it("is none for a namespace that does not exist", async () => {
    world["namespaces"] = [];
    const { code, stdout, stderr } = await audit("-n", "shpo");
    expect([code, stdout, stderr]).toEqual([1, "", "namespace shpo does not exist\n"]);
  });

  it("says what was refused, goes on, and is no success if nothing was found because of that", async () => {
    refused = ["leases"];
    const { stdout, code: codeOfFindings } = await audit();
    expect(stdout).toContain("INCOMPLETE: some reads were refused");
    expect(stdout).toContain("- list leases: no rights (403)\n");
    world = {};
    expect([codeOfFindings, (await audit()).code]).toEqual([2, 1]);
    refused = [];
    expect((await audit()).code).toBe(0);
    refused = ["pods", "deployments", "statefulsets", "daemonsets", "rolebindings", "clusterrolebindings"];
    const { code, stderr } = await audit();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^nothing could be read: list \w+: no rights \(403\); ask .*\n$/);
  });

  it("goes on, and says so, where it may not ask what is served", async () => {
    unknown = /^\/apis(\/controller-resilience\.io)?$/;
    for (const plural of ["controllerresiliences", "clustercontrollerresiliences"]) world[plural] = [];
    const { findings, unread } = await report();
    expect(findings.map(({ check }) => check)).toContain("MissingServiceAccount");
    expect(unread.toSorted()).toEqual([
      "get apis/controller-resilience.io: no rights (403)",
      "get apis: no rights (403)",
    ]);
  });

  it("calls nothing unprotected where it may not read what protects", async () => {
    world["deployments"] = [workload("web")];
    world["serviceaccounts"] = [account("web", 86_400)];
    world["rolebindings"] = [binding("web")];
    const checks = async () => (await report()).findings.map(({ check }) => check);
    expect(await checks()).toContain("Unprotected");
    unknown = /controller-resilience/;
    expect(await checks()).not.toContain("Unprotected");
  });

  it("takes 10,000 pods", async () => {
    world["pods"] = Array.from({ length: 10_000 }, (_, i) => pod(`web-${i}`, "web"));
    world["serviceaccounts"] = [account("web", 86_400)];
    expect(await found()).toEqual([]);
  });
});
