import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseObjects } from "../plan/documents";
import { COLLECTIONS, answerFor, meta } from "../plan/testing/world";
import { type FakeAnswer, FakeServer, run } from "../testing/run";

const folder = mkdtempSync(join(tmpdir(), "suggest-"));
const DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments";
const BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings";
const forbidden: FakeAnswer = { code: 403, body: { kind: "Status", code: 403, message: "forbidden" } };
let more: Record<string, readonly object[]> = {};
let refused: RegExp | undefined;
const server = new FakeServer(request => (refused?.test(request.url ?? "") ? forbidden : answerFor(request, more)));
let kubeconfig: string;
beforeAll(async () => (kubeconfig = await server.start()));
beforeEach(() => {
  more = {};
  refused = undefined;
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await server.stop();
});

const suggest = (...args: string[]): ReturnType<typeof run> => run(["suggest", "--kubeconfig", kubeconfig, ...args]);
const place = { namespace: "default", isNamespaceChosen: false };
const specOf = (yaml: string): object => (parse(yaml) as { spec: object }).spec;

/** Copies of the Deployment of the world. */
function deployments(names: readonly string[], labels: object = {}): object[] {
  const [web] = COLLECTIONS[DEPLOYMENTS] as { metadata: object; spec: object }[];
  return names.map(name => ({ ...web, metadata: { ...meta(name), labels } }));
}

describe("a suggestion for a namespace", () => {
  it("observes what uses the API, in 80 columns, and passes the schema and plan", async () => {
    const { code, stdout, stderr } = await suggest("-n", "shop");
    expect([code, stderr]).toEqual([0, ""]);
    expect(specOf(stdout)).toEqual({
      mode: "Observe",
      targets: [{ kind: "Deployment", name: "web" }],
      tokenRestart: {},
      flowIsolation: { requestRate: { onRunaway: "Report" } },
      stallDetection: {},
    });
    expect(Math.max(...stdout.split("\n").map(line => line.length))).toBeLessThanOrEqual(80);
    const file = join(folder, "suggested.yaml");
    writeFileSync(file, stdout);
    const plan = await run(["plan", "--kubeconfig", kubeconfig, "-f", file]);
    expect(plan.stderr).toBe("");
    expect(plan.stdout).toContain("ControllerResilience shop/controllers  new, only observes: mode Observe");
  });

  it("renews bindings that expire, and says which right that needs", async () => {
    const [binding] = COLLECTIONS[BINDINGS] as { metadata: object }[];
    const labels = { "cleanup.kyverno.io/ttl": "2h" };
    more = { [BINDINGS]: [{ ...binding, metadata: { ...meta("web"), labels } }] };
    const { stdout } = await suggest("-n", "shop");
    expect(specOf(stdout)).toMatchObject({ bindingRenewal: {} });
    expect(stdout.replaceAll(/\n *#/g, "")).toContain("right to bind Role web");
  });

  it("writes several objects for many workloads, and one for programs that a preset knows", async () => {
    const many = deployments(Array.from({ length: 33 }, (_, i) => `web-${i}`));
    more = { [DEPLOYMENTS]: [...many, ...deployments(["argocd"], { "app.kubernetes.io/part-of": "argocd" })] };
    const { stdout } = await suggest("-n", "shop");
    const objects = parseObjects(stdout, "-", place).map(({ object }) => object);
    expect(objects.map(({ metadata }) => metadata.name)).toEqual([
      "controllers",
      "controllers-2",
      "controllers-argo-cd",
    ]);
    expect(objects[2]?.spec).toMatchObject({ tokenRestart: { evidence: ["ServiceAccountAge"] } });
  });

  it("is JSON without comments with -o json: one object, or a List", async () => {
    const one = JSON.parse((await suggest("-n", "shop", "-o", "json")).stdout) as unknown;
    expect(one).toMatchObject({ kind: "ControllerResilience", metadata: { name: "controllers" } });
    expect((await suggest("-n", "shop", "-o", "yaml")).stdout).toBe((await suggest("-n", "shop")).stdout);
    more = { [DEPLOYMENTS]: deployments(Array.from({ length: 33 }, (_, i) => `web-${i}`)) };
    const { kind, items } = JSON.parse((await suggest("-n", "shop", "-o", "json")).stdout) as {
      kind: string;
      items: object[];
    };
    expect([kind, items.length]).toEqual(["List", 2]);
  });

  it("quotes names that YAML would take for something else", async () => {
    more = { [DEPLOYMENTS]: deployments(["0b11", "0o7", "1e3", "no", "true"]) };
    const { stdout } = await suggest("-n", "shop");
    // kubectl reads YAML 1.1, in which more words are no text.
    for (const version of ["1.1", "1.2"] as const) {
      const { spec } = parse(stdout, { version }) as { spec: { targets: { name: unknown }[] } };
      expect(spec.targets.map(({ name }) => name)).toEqual(["0b11", "0o7", "1e3", "no", "true"]);
    }
    expect(stdout).toContain('name: "0o7"');
  });

  it("suggests nothing where nothing is unprotected, and says so", async () => {
    more = { [DEPLOYMENTS]: [] };
    const { code, stdout, stderr } = await suggest("-n", "shop");
    expect([code, stdout]).toEqual([0, ""]);
    expect(stderr).toContain("nothing to suggest");
  });

  it("names what could not be read, and a namespace that does not exist", async () => {
    refused = /deployments/;
    const { code, stderr } = await suggest("-n", "shop");
    expect(stderr).toContain("not readable, so unknown: list deployments in shop: no rights (403)");
    expect(code).toBe(1);
    refused = undefined;
    more = { "/api/v1/namespaces": [] };
    expect((await suggest("-n", "gone")).stderr).toBe("Namespace gone does not exist\n");
  });
});

describe("a suggestion for the cluster", () => {
  it("is a ClusterControllerResilience in mode Observe that passes the schema", async () => {
    const { stdout } = await suggest("-A");
    const [found] = parseObjects(stdout, "-", place);
    expect(found?.kind).toBe("ClusterControllerResilience");
    expect(found?.object.spec).toMatchObject({ mode: "Observe", template: { tokenRestart: {}, stallDetection: {} } });
    expect(stdout.replaceAll(/\n *#/g, "")).toContain("1 workload in 1 namespace uses the API unprotected");
  });
});
