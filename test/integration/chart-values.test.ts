import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import type { RoleRule } from "../../src/core/views";
import { excessOf } from "../../src/remedies/binding-renewal/role";
import { CHART, type ChartObject, RELEASE, renderChart } from "../cluster/chart";
import { helm, helmProgram } from "../lab/helm";
import { kubernetesVersion } from "../lab/kubernetes";
import packageJson from "../../package.json";

// Renders the chart with values that differ from its defaults. This needs no cluster; chart.test.ts installs the chart.

beforeAll(async () => {
  await helmProgram();
});

const objectsOf = (text: string): ChartObject[] =>
  parseAllDocuments(text).flatMap(document => (document.toJS() as ChartObject | null) ?? []);

async function render(...values: string[]): Promise<ChartObject[]> {
  return objectsOf(await renderChart(values.flatMap(value => ["--set-json", value])));
}

const ids = (objects: readonly ChartObject[]): string[] =>
  objects.map(({ kind, metadata: { name, namespace } }) => `${kind} ${namespace ?? ""}/${name}`);

interface Rule {
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  verbs: string[];
}

const rulesIn = (objects: readonly ChartObject[]): Rule[] =>
  objects.flatMap(({ kind, rules = [] }) => (/Role$/.test(kind) ? (rules as Rule[]) : []));

interface Deployment {
  spec: {
    replicas: number;
    template: {
      metadata: object;
      spec: { containers: { image: string; env: { name: string; value: string }[] }[] } & Record<string, unknown>;
    };
  };
}

function deploymentIn(objects: readonly ChartObject[]): Deployment["spec"] {
  return (objects.find(({ kind }) => kind === "Deployment") as unknown as Deployment).spec;
}

it("the chart passes lint, and has the version of package.json", async () => {
  const { code, stdout, stderr } = await helm(["lint", "--strict", CHART]);
  expect([code, stdout, stderr]).toEqual([0, expect.stringContaining("0 chart(s) failed"), ""]);
  const { stdout: chart } = await helm(["show", "chart", CHART]);
  expect(chart).toContain(`\nversion: ${packageJson.version}\n`);
  expect(chart).toContain(`\nappVersion: ${packageJson.version}\n`.replace("\n", ""));
});

describe("an option that is off", () => {
  it.each([
    ["operator.enabled=false", /^(Deployment|PodDisruptionBudget|NetworkPolicy|ResourceQuota) /],
    ["networkPolicy.enabled=false", /^NetworkPolicy /],
    ["flowSchemas.enabled=false", /^FlowSchema /],
    ["admissionPolicy.enabled=false", /^ValidatingAdmissionPolicy/],
    ["crds.enabled=false", /^CustomResourceDefinition \/(cluster)?controllerresiliences/],
    ["pepr.installed=true", /^(Namespace|CustomResourceDefinition) \/pepr/],
    ['priorityClassName=""', /^ResourceQuota /],
    ['priorityClassName="high"', /^ResourceQuota /],
  ])("%s removes its own objects, and nothing else", async (value, taken) => {
    const [all, without] = [ids(await render()), ids(await render(value))];
    expect(all.filter(id => taken.test(id)).length).toBeGreaterThan(0);
    expect(without).toEqual(all.filter(id => !taken.test(id)));
  });
});

describe("the quota", () => {
  it("is left out in kube-system, where it would count the pods of the control plane", async () => {
    const own = ids(await render());
    const shared = ids(objectsOf(await renderChart(["--namespace", "kube-system"])));
    expect(own.filter(id => id.startsWith("ResourceQuota "))).toHaveLength(1);
    expect(shared).toContain("Deployment kube-system/controller-resilience");
    expect(shared.filter(id => id.startsWith("ResourceQuota "))).toEqual([]);
  });
});

describe("the pods", () => {
  it("have the configured image, by digest if one is set", async () => {
    const image = async (...values: string[]) =>
      deploymentIn(await render(...values)).template.spec.containers[0]?.image;
    const digest = `sha256:${"0".repeat(64)}`;
    expect(await image()).toBe(`controller-resilience:${packageJson.version}`);
    expect(await image('image={"repository":"localhost:5000/c","tag":"x"}')).toBe("localhost:5000/c:x");
    expect(await image('image={"repository":"r/c","tag":"x"}')).toBe("r/c:x");
    expect(await image(`image={"repository":"r/c","tag":"x","digest":"${digest}"}`)).toBe(`r/c@${digest}`);
  });

  it("have the configured scheduling and resources", async () => {
    const asked = {
      imagePullSecrets: [{ name: "registry" }],
      priorityClassName: "high",
      nodeSelector: { a: "b" },
      tolerations: [{ operator: "Exists" }],
      affinity: { nodeAffinity: {} },
    };
    const values = Object.entries(asked).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
    const { replicas, template } = deploymentIn(await render(...values, "replicas=3", 'podAnnotations={"x":"y"}'));
    expect(replicas).toBe(3);
    expect(template.spec).toMatchObject({ ...asked, nodeSelector: { a: "b", "kubernetes.io/os": "linux" } });
    expect(template.metadata).toMatchObject({ annotations: { x: "y" } });
  });

  it("have the values in their environment", async () => {
    const rendered = await render(
      'logLevel="debug"',
      'mode="Observe"',
      "restartIntervalSeconds=30",
      "logReadsPerSecond=7",
      'namespaces=["a","b"]',
    );
    expect(deploymentIn(rendered).template.spec.containers[0]?.env).toEqual([
      { name: "RESILIENCE_WATCH_NAMESPACES", value: "a,b" },
      { name: "RESILIENCE_MODE", value: "Observe" },
      { name: "RESILIENCE_RESTART_INTERVAL_SECONDS", value: "30" },
      { name: "RESILIENCE_LOG_READS_PER_SECOND", value: "7" },
      { name: "LOG_LEVEL", value: "debug" },
    ]);
  });
});

describe("the network policy", () => {
  const spec = async (...values: string[]) =>
    (await render(...values)).find(({ kind }) => kind === "NetworkPolicy")?.["spec"] as object;

  it("allows no ingress if no peer is named", async () => {
    expect(await spec()).toMatchObject({ ingress: [] });
    const from = [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } }];
    const named = await spec(`networkPolicy.metricsFrom=${JSON.stringify(from)}`);
    expect(named).toMatchObject({ ingress: [{ from, ports: [{ protocol: "TCP", port: "health" }] }] });
  });

  it("lets Prometheus in while the chart has it scrape the pods", async () => {
    const on = "monitoring.podMonitor.enabled=true";
    const prometheus = {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } },
      podSelector: { matchLabels: { "app.kubernetes.io/name": "prometheus" } },
    };
    expect(await spec(on)).toMatchObject({ ingress: [{ from: [prometheus] }] });
    const own = [{ podSelector: { matchLabels: { a: "b" } } }];
    const named = await spec(on, `networkPolicy.metricsFrom=${JSON.stringify(own)}`);
    expect(named).toMatchObject({ ingress: [{ from: own }] });
  });

  it("lets the pods reach a receiver of notifications by its DNS name, and mounts its Secret", async () => {
    const secret = 'notifications.secretName="hook"';
    const to = [{ podSelector: { matchLabels: { app: "alertmanager" } } }];
    const values = [secret, `networkPolicy.egress=${JSON.stringify([{ to }])}`, 'notifications.format="slack"'];
    const dns = { ports: [{ port: 53 }, { port: 53 }] };
    expect(await spec(...values)).toMatchObject({ egress: [{}, { to }, dns] });
    expect(await spec(secret)).toMatchObject({ egress: [{}, dns] });
    const { spec: pod } = deploymentIn(await render(...values)).template;
    expect(pod).toMatchObject({ volumes: [{}, { name: "notify", secret: { secretName: "hook", optional: true } }] });
    expect(pod.containers[0]?.env).toContainEqual({ name: "RESILIENCE_NOTIFY_FORMAT", value: "slack" });
  });

  it("lets the pods reach metrics of other pods at the listed ports", async () => {
    const ports = [8080, "metrics"].map(port => ({ protocol: "TCP", port }));
    const to = [{ namespaceSelector: {} }];
    expect(await spec('metrics.ports=[8080,"metrics"]')).toMatchObject({ egress: [{}, { to, ports }] });
  });

  it("lets the pods reach the configured addresses, and DNS only for notifications", async () => {
    const ports = [443, 6443].map(port => ({ protocol: "TCP", port }));
    expect(await spec()).toMatchObject({ egress: [{ ports }] });
    expect(await spec('networkPolicy.apiServer.cidrs=["10.0.0.1/32"]')).toMatchObject({
      egress: [{ ports, to: [{ ipBlock: { cidr: "10.0.0.1/32" } }] }],
    });
  });
});

describe("helm test", () => {
  const rendered = async (...values: string[]) => {
    const only = ["--show-only", "templates/tests/leads.yaml", "--kube-version", kubernetesVersion()];
    const { code, stdout, stderr } = await helm(["template", RELEASE, CHART, ...only, ...values]);
    return code === 0 ? objectsOf(stdout) : stderr;
  };

  it("runs a pod of the operator's image that may read the Lease, and nothing else", async () => {
    const digest = `sha256:${"0".repeat(64)}`;
    const objects = (await rendered("--set", `image.digest=${digest}`)) as ChartObject[];
    expect(objects.map(({ kind }) => kind)).toEqual(["ServiceAccount", "Role", "RoleBinding", "Pod"]);
    expect(objects.filter(({ metadata }) => !("helm.sh/hook" in (metadata.annotations ?? {})))).toEqual([]);
    const lease = { resources: ["leases"], resourceNames: ["controller-resilience"], verbs: ["get"] };
    expect(rulesIn(objects)).toEqual([{ apiGroups: ["coordination.k8s.io"], ...lease }]);
    const containers = [{ image: `controller-resilience@${digest}`, resources: { limits: { memory: "128Mi" } } }];
    expect(objects.at(-1)).toMatchObject({ spec: { automountServiceAccountToken: false, containers } });
  });

  it("runs a pod that no selector of the chart matches", async () => {
    const name = "app.kubernetes.io/name";
    expect(deploymentIn(await render()).template.metadata).toMatchObject({ labels: { [name]: RELEASE } });
    const pod = ((await rendered()) as ChartObject[]).at(-1);
    expect(pod).toMatchObject({ metadata: { labels: { [name]: `${RELEASE}-test` } } });
  });

  it("is left out without the operator, and where only manifests are rendered", async () => {
    expect(await rendered("--set", "operator.enabled=false")).toContain("could not find template");
    expect((await render()).map(({ kind }) => kind)).not.toContain("Pod");
  });
});

describe("monitoring", () => {
  it("needs no definitions of others unless it is enabled", async () => {
    const kinds = (await render()).map(({ kind }) => kind);
    for (const kind of ["PodMonitor", "PrometheusRule", "Service"]) expect(kinds).not.toContain(kind);
  });

  it("scrapes the port of the pods, and keeps the labels of their objects", async () => {
    const objects = await render("monitoring.podMonitor.enabled=true", 'monitoring.labels={"release":"p"}');
    const monitor = objects.find(({ kind }) => kind === "PodMonitor");
    const selector = { matchLabels: { "app.kubernetes.io/name": "controller-resilience" } };
    const podMetricsEndpoints = [{ port: "health", interval: "30s", honorLabels: true }];
    expect(monitor).toMatchObject({ metadata: { labels: { release: "p" } }, spec: { selector, podMetricsEndpoints } });
  });

  it("has the dashboard where Grafana's sidecar looks", async () => {
    const map = (await render("monitoring.dashboard.enabled=true")).find(({ kind }) => kind === "ConfigMap");
    expect(map?.metadata).toMatchObject({
      name: "controller-resilience-dashboard",
      labels: { grafana_dashboard: "1" },
    });
    const { "controller-resilience.json": text = "" } = map?.["data"] as Record<string, string>;
    const committed = readFileSync(join(CHART, "files", "dashboard.json"), "utf8");
    expect(JSON.parse(text)).toEqual(JSON.parse(committed));
  });

  it("has no pods to scrape without the operator", async () => {
    const off = await render("operator.enabled=false", "monitoring.podMonitor.enabled=true");
    expect(off.map(({ kind }) => kind)).not.toContain("PodMonitor");
  });
});

describe("the rights", () => {
  it("hold in the listed namespaces only", async () => {
    const [everywhere, listed] = [ids(await render()), ids(await render('namespaces=["a","b"]'))];
    const name = "controller-resilience-namespaces";
    expect(everywhere.filter(id => !listed.includes(id))).toEqual([`ClusterRoleBinding /${name}`]);
    expect(listed.filter(id => !everywhere.includes(id))).toEqual([`RoleBinding a/${name}`, `RoleBinding b/${name}`]);
  });

  it("to bind are granted per role, in the namespace of the role", async () => {
    const roles = [
      { kind: "ClusterRole", name: "edit" },
      { kind: "ClusterRole", name: "edit", namespace: "team" },
      { kind: "Role", name: "edit", namespace: "team" },
    ];
    const before = ids(await render());
    const rendered = await render(`bindingRenewal.bind=${JSON.stringify(roles)}`);
    const added = rendered.filter(object => !ids([object]).every(id => before.includes(id)));
    const [wide, narrow] = ["controller-resilience-bind-clusterrole-edit", "controller-resilience-bind-role-edit"];
    expect(ids(added).sort()).toEqual([
      `ClusterRole /${wide}`,
      `ClusterRoleBinding /${wide}`,
      `Role team/${wide}`,
      `Role team/${narrow}`,
      `RoleBinding team/${wide}`,
      `RoleBinding team/${narrow}`,
    ]);
    const group = { apiGroups: ["rbac.authorization.k8s.io"], resourceNames: ["edit"] };
    const clusterRoles = { ...group, resources: ["clusterroles"] };
    const bind = { ...clusterRoles, verbs: ["bind"] };
    expect(rulesIn(added)).toEqual([bind, bind, { ...group, resources: ["roles"], verbs: ["bind", "get"] }]);
    // A Role gives no cluster-scoped object.
    const wideRules = rulesIn(rendered.filter(({ kind }) => kind === "ClusterRole"));
    expect(wideRules).toContainEqual({ ...clusterRoles, verbs: ["get"] });
    const changing = (rules: readonly Rule[]): unknown[] =>
      rules.flatMap(({ resources = [], verbs }) => (verbs.includes("patch") ? resources : []));
    expect(changing(rulesIn(rendered))).toEqual(expect.arrayContaining(["clusterrolebindings", "rolebindings"]));
    const changed = async (values: readonly object[]): Promise<unknown[]> =>
      changing(rulesIn(await render(`bindingRenewal.bind=${JSON.stringify(values)}`))).filter(one =>
        /bindings$/.test(String(one)),
      );
    expect(await changed([])).toEqual([]);
    expect(await changed(roles.slice(1))).toEqual(["rolebindings"]);
  });

  it("to bind are refused for roles that the operator renews in no binding", async () => {
    const rule = (group: string, resource: string, ...verbs: string[]): RoleRule => {
      return { apiGroups: [group], resources: [resource], verbs };
    };
    const [rbac, users] = ["rbac.authorization.k8s.io", "authentication.k8s.io"];
    const rules = [
      ...[rule(rbac, "roles", "escalate"), rule(rbac, "*", "bind"), rule("*", "clusterroles", "*")],
      ...[rule("", "users", "impersonate"), rule(users, "users", "impersonate:user-info"), rule(users, "nodes", "*")],
      ...[rule("*", "*", "get"), rule("", "pods", "*"), rule(rbac, "roles", "get"), rule("", "secrets", "get")],
    ];
    const chart = mkdtempSync(join(tmpdir(), "chart-"));
    cpSync(CHART, chart, { recursive: true });
    const asked = `{{ include "controller-resilience.excess" (list .) | empty | not }}`;
    const text = `answers:{{ range ${"`"}${JSON.stringify(rules)}${"`"} | fromJsonArray }}\n- ${asked}\n{{- end }}`;
    writeFileSync(join(chart, "templates", "asked.yaml"), text);
    const { stdout } = await helm(["template", RELEASE, chart, "--show-only", "templates/asked.yaml"]);
    rmSync(chart, { recursive: true });
    const refused = rules.map(one => excessOf([one], { kind: "RoleBinding", namespace: "team" }) !== undefined);
    expect(parse(stdout)).toEqual({ answers: refused });
    expect(refused.filter(Boolean)).toHaveLength(7);
  });

  it("to create tokens are granted for the listed ServiceAccounts, and to read kinds by whoever labels a ClusterRole", async () => {
    const tokensIn = (objects: readonly ChartObject[]) =>
      rulesIn(objects).filter(({ resources = [] }) => resources.includes("serviceaccounts/token"));
    const listed = await render('metrics.tokens=["metrics-reader"]');
    const token = { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] };
    expect(tokensIn(listed)).toEqual([{ ...token, resourceNames: ["metrics-reader"] }]);
    expect(tokensIn(await render())).toEqual([]);
    const role = listed.find(({ metadata: { name }, kind }) => kind === "ClusterRole" && name.endsWith("-progress"));
    const matchLabels = { "controller-resilience.io/aggregate-to-progress": "true" };
    expect(role).toMatchObject({ aggregationRule: { clusterRoleSelectors: [{ matchLabels }] } });
    expect(role).not.toHaveProperty("rules");
  });

  it("change no DaemonSet without tokenLifetime", async () => {
    const verbsOf = (rules: readonly Rule[]): unknown[] =>
      rules.flatMap(({ resources = [], verbs }) => (resources.includes("daemonsets") ? verbs : []));
    expect(verbsOf(rulesIn(await render()))).toContain("patch");
    expect(verbsOf(rulesIn(await render("tokenLifetime.enabled=false")))).toEqual(["get", "list", "watch"]);
  });

  it("have no wildcard, no escalation and no Secrets, whatever the values are", async () => {
    const rules = rulesIn(await render('namespaces=["a"]'));
    const words = rules.flatMap(({ apiGroups = [], resources = [], verbs }) => [...apiGroups, ...resources, ...verbs]);
    expect(words).toContain("flowschemas");
    for (const word of ["*", "escalate", "impersonate", "bind", "secrets"]) expect(words).not.toContain(word);
  });
});

describe("an invalid value", () => {
  it.each([
    ["replicas=0", "at '/replicas': minimum: got 0, want 1"],
    ['replicas="two"', "at '/replicas': got string, want integer"],
    ["replica=3", "additional properties 'replica' not allowed"],
    ['logLevel="loud"', "at '/logLevel': value must be one of 'debug', 'info', 'warn', 'error'"],
    ['namespaces=["team-*"]', "at '/namespaces/0': 'team-*' does not match pattern"],
    ['image.repository="r/c:1.2"', "at '/image/repository': 'r/c:1.2' does not match pattern"],
    ['monitoring.prometheusRule.runbookBaseUrl="git.example.com"', "at '/monitoring/prometheusRule/runbookBaseUrl'"],
    ['image.digest="abc"', "at '/image/digest': 'abc' does not match pattern"],
    ['networkPolicy.apiServer.cidrs=["10.0.0.1"]', "at '/networkPolicy/apiServer/cidrs/0': '10.0.0.1' does not match"],
    ['metrics.tokens=["*"]', "at '/metrics/tokens/0': '*' does not match pattern"],
    ["metrics.ports=[0]", "at '/metrics/ports/0'"],
    ['bindingRenewal.bind=[{"kind":"ClusterRole","name":"*"}]', "at '/bindingRenewal/bind/0/name': '*' does not match"],
    ['bindingRenewal.bind=[{"kind":"Role","name":"web"}]', "at '/bindingRenewal/bind/0': missing property 'namespace'"],
    ['bindingRenewal.bind=[{"kind":"ClusterRole","name":"cluster-admin"}]', "may bind it is cluster-admin itself"],
  ])("is refused by name: %s", async (value, words) => {
    await expect(render(value)).rejects.toThrow(words);
  });
});

describe("a cluster that is too old", () => {
  const renderFor = (version: string, ...args: string[]) => renderChart(["--kube-version", version, ...args]);

  it("is refused, and the message names the value to change", async () => {
    await expect(renderFor("v1.28.9")).rejects.toThrow("chart requires kubeVersion: >=1.29.0-0");
    await expect(renderFor("v1.29.1")).rejects.toThrow(
      "This is Kubernetes v1.29.1, and a ValidatingAdmissionPolicy needs 1.30: upgrade, or set admissionPolicy.enabled=false",
    );
  });

  it("is accepted with that value", async () => {
    await expect(renderFor("v1.29.1", "--set", "admissionPolicy.enabled=false")).resolves.toContain("kind: Deployment");
  });
});
