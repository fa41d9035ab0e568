import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHART, RELEASE } from "../cluster/chart";
import { ClusterClient } from "../cluster/client";
import { documentedCommands, follow } from "../cluster/documented";
import { OPERATOR } from "../cluster/installation";
import { inventory } from "../cluster/inventory";
import { Lab } from "../lab";
import { helmProduct, helmProgram } from "../lab/helm";
import { prometheusOperatorApi } from "../monitoring/prometheus-operator";
import { renderRules } from "../monitoring/rules";
import { OperatorProcess } from "../operator/process";
import { ownLabName } from "./suite-lab";

// The chart on a real API server: installing it beside other installations, and the objects that an upgrade, a rollback and an uninstall leave.
// It has its own lab without a node, since Helm would not adopt the objects of the suite's lab. test/e2e/chart.test.ts runs the pods.

const CRD = "controllerresiliences.controller-resilience.io";

const folder = mkdtempSync(join(tmpdir(), "chart-"));
let lab: Lab;
let client: ClusterClient;

beforeAll(async () => {
  await helmProgram();
  lab = await Lab.up({ name: ownLabName("chart"), controlPlaneOnly: true });
  client = ClusterClient.of(lab);
  await client.createNamespace("team-a");
  await client.createNamespace("team-b");
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await lab.down();
});

/** Runs Helm and returns its output; by default in the operator's namespace. */
async function helm(args: readonly string[], namespace: string = OPERATOR.namespace): Promise<string> {
  const { code, stdout, stderr } = await lab.helm([...args, "--namespace", namespace]);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

const install = (...args: string[]) => helm(["install", RELEASE, CHART, "--create-namespace", ...args]);
const exists = async (kind: string, name: string): Promise<boolean> =>
  (await client.output(["get", kind, name, "-o", "name", "--ignore-not-found"])).trim() !== "";

/** Asks the API server whether the operator has a right. */
async function may(...question: string[]): Promise<boolean> {
  const as = `--as=system:serviceaccount:${OPERATOR.namespace}:${OPERATOR.serviceAccount}`;
  return (await lab.kubectl(["auth", "can-i", ...question, as])).stdout.trim() === "yes";
}

/** The chart as of a later release: its definition prints one more column. */
function laterChart(): string {
  const chart = join(folder, "chart");
  cpSync(CHART, chart, { recursive: true });
  const path = join(chart, "files", "controllerresilience.yaml");
  const column = "{ name: Later, type: string, jsonPath: .spec.mode }";
  const text = readFileSync(path, "utf8").replace(
    "additionalPrinterColumns:",
    match => `${match}\n        - ${column}`,
  );
  writeFileSync(path, text);
  return chart;
}

const columns = (): Promise<string> =>
  client.output(["get", "crd", CRD, "-o", "jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}"]);

describe("the manifests that are rendered from the chart", () => {
  it("are installed and completely deleted with kubectl, as documented", async () => {
    const before = await inventory(client);
    const [apply = ""] = documentedCommands("install.md", "With kubectl").split("kubectl rollout");
    await follow(lab, apply);
    await client.until("2 pods", async () => (await client.pods(OPERATOR.namespace, RELEASE)).length === 2);
    for (const heading of ["Uninstall", "With kubectl", "Pepr's store"]) {
      await follow(lab, documentedCommands("uninstall.md", heading));
    }
    expect((await inventory(client)).filter(object => !before.includes(object))).toEqual([]);
  });

  it("are adopted by Helm, as documented", async () => {
    const before = await inventory(client);
    const [apply = ""] = documentedCommands("install.md", "With kubectl").split("kubectl rollout");
    await follow(lab, apply);
    // As the page says of Helm 3.
    const flags = helmProduct().version.startsWith("v3.") ? / --force-conflicts/ : "";
    await follow(lab, documentedCommands("install.md", "From kubectl to Helm").replace(flags, ""));
    expect(await helm(["list"])).toContain("deployed");
    for (const heading of ["Uninstall", "With Helm", "Pepr's store"]) {
      await follow(lab, documentedCommands("uninstall.md", heading));
    }
    expect((await inventory(client)).filter(object => !before.includes(object))).toEqual([]);
  });
});

describe("a release", () => {
  it("creates pods that the level `restricted` admits, and prints the first steps", async () => {
    await client.output(["create", "namespace", OPERATOR.namespace]);
    const level = "pod-security.kubernetes.io/enforce=restricted";
    await client.output(["label", "namespace", OPERATOR.namespace, level]);
    expect(await install()).toContain("kind: ControllerResilience");
    const pods = await client.until("2 pods", async () => {
      const found = await client.pods(OPERATOR.namespace, "controller-resilience");
      return found.length === 2 && found;
    });
    expect(pods.map(({ spec }) => spec.volumes?.map(({ name }) => name))).toEqual([["identity"], ["identity"]]);
  });

  it("refuses a second operator in the cluster, whatever its name and namespace", async () => {
    const beside = ["--set", "crds.enabled=false"];
    const words = "controller-resilience is in this cluster already (namespace controller-resilience-system, release";
    await expect(helm(["install", RELEASE, CHART, ...beside], "team-a")).rejects.toThrow(words);
    await expect(helm(["install", "other", CHART, ...beside])).rejects.toThrow(words);
    expect(await exists("deployment", RELEASE)).toBe(false);
  });

  it("upgrades the definition, and a rollback reverts it", async () => {
    expect(await columns()).not.toContain("Later");
    await helm(["upgrade", RELEASE, laterChart(), "--reuse-values"]);
    expect(await columns()).toContain("Later");
    await helm(["rollback", RELEASE]);
    expect(await columns()).not.toContain("Later");
  });

  it("keeps the objects when it is uninstalled, and reconciles them after a new installation", async () => {
    const targets = [{ kind: "Deployment", name: "web" }];
    await client.protect("team-a", "web", { targets, tokenRestart: {} });
    await helm(["uninstall", RELEASE]);
    expect(await exists("clusterrole", RELEASE)).toBe(false);
    expect(await client.resilience("team-a", "web")).toMatchObject({ spec: { targets } });
    await install();
    expect(await client.resilience("team-a", "web")).toMatchObject({ spec: { targets } });
    await helm(["uninstall", RELEASE]);
  });
});

describe("a cluster with the Prometheus Operator", () => {
  const commands = (heading: string) => documentedCommands("observability.md", heading);
  const get = (kind: string): Promise<{ spec: object }> =>
    client.json(["get", kind, RELEASE, "-n", OPERATOR.namespace]);

  beforeAll(async () => {
    await client.apply(await prometheusOperatorApi());
    await install();
  });

  afterAll(() => helm(["uninstall", RELEASE]));

  it("accepts the monitoring that is turned on as documented, and lets Prometheus in", async () => {
    await client.until("the kinds to be served", async () => {
      const found = await lab.kubectl(["get", "podmonitors,prometheusrules", "-A"]);
      return found.code === 0;
    });
    await follow(lab, commands("With the Prometheus Operator"));
    expect((await get("podmonitor")).spec).toMatchObject({ podMetricsEndpoints: [{ port: "health" }] });
    const docs = "https://git.example.com/platform/controller-resilience/blob/main/";
    const rules = await renderRules(`monitoring.prometheusRule.runbookBaseUrl="${docs}"`);
    expect((await get("prometheusrule")).spec).toMatchObject(rules);
    expect((await get("networkpolicy")).spec).toMatchObject({ ingress: [{ from: [{ podSelector: {} }] }] });
    expect(await follow(lab, commands("Dashboard"))).toContain(`${RELEASE}-dashboard`);
    await follow(lab, commands("With a Prometheus of your own"));
    const { spec } = (await get("networkpolicy")) as { spec: { ingress: { from: object[] }[] } };
    const namespace = { "kubernetes.io/metadata.name": "monitoring" };
    expect(spec.ingress[0]?.from).toEqual([{ namespaceSelector: { matchLabels: namespace } }]);
  });
});

describe("a cluster with Pepr", () => {
  it("needs pepr.installed=true, which keeps Pepr's objects unchanged", async () => {
    const label = "app.kubernetes.io/part-of";
    await client.output(["label", "crd", "peprstores.pepr.dev", `${label}-`]);
    await expect(install()).rejects.toThrow("Pepr is in this cluster already: set pepr.installed=true");
    await install("--set", "pepr.installed=true");
    await helm(["uninstall", RELEASE]);
    expect(await exists("crd", "peprstores.pepr.dev")).toBe(true);
    await client.output(["label", "crd", "peprstores.pepr.dev", `${label}=controller-resilience`]);
  });
});

describe("a release for some namespaces, with a role to bind", () => {
  const group = "rbac.authorization.k8s.io";
  const BIND_EDIT = ["bind", `clusterroles.${group}/edit`];

  beforeAll(async () => {
    const roles = JSON.stringify([
      { kind: "ClusterRole", name: "edit" },
      { kind: "ClusterRole", name: "view", namespace: "team-a" },
      { kind: "Role", name: "web", namespace: "team-a" },
    ]);
    await install("--set", "namespaces={team-a}", "--set-json", `bindingRenewal.bind=${roles}`);
    // API servers apply new rights after a short delay.
    await client.until("the rights", async () => (await may("patch", CRD, "-n", "team-a")) && may(...BIND_EDIT));
  });

  afterAll(() => helm(["uninstall", RELEASE]));

  it("grants rights in these namespaces only", async () => {
    for (const question of [
      ["create", "pods", "--subresource=eviction"],
      ["patch", "daemonsets.apps"],
      ["patch", CRD],
      ["get", "pods", "--subresource=log"],
      ["patch", "rolebindings.rbac.authorization.k8s.io"],
    ]) {
      const answers = [await may(...question, "-n", "team-a"), await may(...question, "-n", "team-b")];
      expect([question, ...answers]).toEqual([question, true, false]);
    }
  });

  it("grants the right to bind these roles only", async () => {
    expect(await may(...BIND_EDIT)).toBe(true);
    expect(await may("bind", `clusterroles.${group}/admin`)).toBe(false);
    expect(await may("bind", `clusterroles.${group}/view`, "-n", "team-a")).toBe(true);
    for (const [name, isReadable] of [
      ["edit", true],
      ["view", true],
      ["admin", false],
    ] as const)
      expect([name, await may("get", `clusterroles.${group}/${name}`)]).toEqual([name, isReadable]);
    expect(await may("bind", `roles.${group}/web`, "-n", "team-a")).toBe(true);
    expect(await may("bind", `roles.${group}/web`, "-n", "team-b")).toBe(false);
    expect(await may("bind", `clusterroles.${group}/cluster-admin`)).toBe(false);
  });

  it("lets the operator reconcile the objects of these namespaces, and no others", async () => {
    const remedies = { tokenRestart: {}, bindingRenewal: {}, tokenLifetime: {}, flowIsolation: {} };
    const spec = { targets: [{ kind: "Deployment", name: "worker" }], ...remedies };
    for (const namespace of ["team-b", "team-a"]) await client.protect(namespace, "worker", spec);
    // The API server answers 429 for a moment after a kind was installed or changed.
    for (const kind of ["peprstores.pepr.dev", CRD, "clustercontrollerresiliences.controller-resilience.io"])
      await client.until(`${kind} to be served`, async () => (await lab.kubectl(["get", kind, "-A"])).code === 0);
    const kubeconfig = await lab.serviceAccountKubeconfig(OPERATOR.namespace, OPERATOR.serviceAccount);
    const operator = OperatorProcess.start({ kubeconfig, args: ["--watch-namespaces", "team-a"] });
    try {
      await operator.ready();
      // The operator sees an object in its list at the start, and later in a change.
      await client.until("a status", async () => (await client.resilience("team-a", "worker")).status);
      for (const namespace of ["team-b", "team-a"])
        await client.protect(namespace, "worker", { ...spec, mode: "Observe" });
      const { conditions = [] } = await client.until("a status of the second generation", async () => {
        const { status } = await client.resilience("team-a", "worker");
        return status?.observedGeneration === 2 && status;
      });
      expect(conditions.map(({ reason }) => reason)).not.toContain("Forbidden");
      expect(conditions.map(({ type }) => type)).toContain("FlowsIsolated");
      expect((await client.resilience("team-b", "worker")).status).toEqual({ observedGeneration: -1 });
      expect(operator.complaints()).toEqual([]);
    } finally {
      await operator.stop();
    }
  });
});
