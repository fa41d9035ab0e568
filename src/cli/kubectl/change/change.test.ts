import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { whyObserved } from "../../../core/remedy";
import { main } from "../program";
import { type FakeAnswer, FakeServer, run } from "../testing/run";

const GROUP = "/apis/controller-resilience.io";
const CRES = `${GROUP}/v1alpha1/namespaces/shop/controllerresiliences`;
const LEASE = "/apis/coordination.k8s.io/v1/namespaces/controller-resilience-system/leases/controller-resilience";
const FLOW_SCHEMA = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/controller-resilience-x";

let objects: Map<string, object>;
let conflicts: number;
let writes: { path: string; query: string; body: { metadata: object } }[];

async function answer(request: IncomingMessage): Promise<FakeAnswer> {
  const [path = "", query = ""] = (request.url ?? "").split("?");
  if (request.method === "PATCH") {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    writes.push({ path, query, body: JSON.parse(text) as { metadata: object } });
    const isConflict = conflicts-- > 0;
    return isConflict
      ? { code: 409, body: { kind: "Status", code: 409, reason: "Conflict", message: "changed" } }
      : { body: {} };
  }
  const found = objects.get(path);
  return found === undefined
    ? { code: 404, body: { kind: "Status", code: 404, message: "not found" } }
    : { body: found };
}

const server = new FakeServer(answer);
let kubeconfig: string;
beforeAll(async () => (kubeconfig = await server.start()));
afterAll(() => server.stop());

const renewTime = (): string => new Date().toISOString();
const lease = (annotations: object = {}, leads = true): object => ({
  metadata: { name: "controller-resilience", uid: "l1", resourceVersion: "7", annotations },
  spec: leads ? { holderIdentity: "op", renewTime: renewTime() } : {},
});
function object(spec: object = {}, metadata: object = {}): object {
  return {
    metadata: { name: "app", namespace: "shop", uid: "u1", resourceVersion: "5", ...metadata },
    spec: { mode: "Enforce", suspend: false, targets: [], ...spec },
    status: { flows: [{ serviceAccount: "web", state: "Throttled", flowSchema: "controller-resilience-x" }] },
  };
}
function put(one: object): void {
  objects.set(`${CRES}/app`, one);
  objects.set(CRES, { metadata: {}, items: [one] });
}

beforeEach(() => {
  objects = new Map([[GROUP, { versions: [{ version: "v1alpha1" }] }]]);
  conflicts = 0;
  writes = [];
  objects.set(LEASE, lease());
  put(object({ flowIsolation: { requestRate: { onRunaway: "Throttle" } } }));
});

const call = (...args: string[]): ReturnType<typeof run> => run([...args, "--kubeconfig", kubeconfig]);

/** Answers the question on a terminal. */
async function onTerminal(reply: string, ...args: string[]): Promise<{ code: number; stderr: string }> {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const stderr = new PassThrough();
  let text = "";
  stderr.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
    if (text.includes("[y/N]")) stdin.write(`${reply}\n`);
  });
  const code = await main([...args, "--kubeconfig", kubeconfig], {
    stdin,
    stdout: new PassThrough().resume(),
    stderr,
    env: {},
  });
  return { code, stderr: text };
}

describe("a command that writes", () => {
  it("says what will happen, and refuses without a terminal", async () => {
    const { code, stderr, stdout } = await call("suspend", "app", "-n", "shop");
    expect(stderr).toMatch(/^ControllerResilience shop\/app will be suspended\. .*Expected --yes, or a terminal/);
    expect([code, stdout, writes]).toEqual([1, "", []]);
  });

  it("asks on a terminal, and takes only yes for yes", async () => {
    expect(await onTerminal("n", "suspend", "app", "-n", "shop")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("nothing was changed") as string,
    });
    expect(writes).toEqual([]);
    expect((await onTerminal("y", "suspend", "app", "-n", "shop")).code).toBe(0);
    expect(writes).toHaveLength(1);
  });

  it("changes only the object that it has read", async () => {
    const { code, stdout } = await call("suspend", "app", "-n", "shop", "--yes");
    expect([code, stdout]).toEqual([0, "ControllerResilience shop/app is suspended\n"]);
    expect(writes[0]).toMatchObject({
      path: `${CRES}/app`,
      query: "fieldManager=kubectl-resilience&fieldValidation=Strict",
      body: { metadata: { uid: "u1", resourceVersion: "5" }, spec: { suspend: true } },
    });
    conflicts = 1;
    expect((await call("suspend", "app", "-n", "shop", "--yes")).stderr).toContain("has changed meanwhile");
  });

  it("stores nothing with --dry-run", async () => {
    const { stdout } = await call("suspend", "app", "-n", "shop", "--dry-run");
    expect(stdout).toContain("(dry run: nothing was changed)");
    expect(writes[0]?.query).toContain("dryRun=All");
  });
});

describe("suspend and resume", () => {
  it("have nothing to do if it is so already", async () => {
    expect(await call("resume", "app", "-n", "shop")).toEqual({
      code: 0,
      stdout: "nothing to do: ControllerResilience shop/app is not suspended\n",
      stderr: "",
    });
    put(object({ suspend: true }));
    const { code, stdout } = await call("suspend", "app", "-n", "shop", "--yes");
    expect([code, stdout]).toEqual([0, "nothing to do: ControllerResilience shop/app is suspended already\n"]);
    expect(writes).toEqual([]);
  });

  it("name what does not exist", async () => {
    expect((await call("suspend", "gone", "-n", "shop", "--yes")).stderr).toBe(
      "ControllerResilience shop/gone does not exist\n",
    );
    expect((await call("suspend", "pod/a", "-n", "shop", "--yes")).stderr).toContain("expected NAME or ccres/NAME");
    expect(writes).toEqual([]);
  });

  it("refuse a generated object, whose owner would undo the change", async () => {
    put(object({}, { ownerReferences: [{ kind: "ClusterControllerResilience", name: "app" }] }));
    const { code, stderr } = await call("suspend", "app", "-n", "shop", "--yes");
    expect([code, writes]).toEqual([1, []]);
    expect(stderr).toContain("kubectl resilience suspend ccres/app");
    put(object({}, { labels: { "controller-resilience.io/generated-for": "all" } }));
    expect((await call("suspend", "app", "-n", "shop", "--yes")).stderr).toContain("suspend ccres/all");
  });

  it.each([
    [{ managedFields: [{ manager: "kubectl" }, { manager: "argocd-controller" }] }, "Argo CD"],
    [{ managedFields: [{ manager: "helm-controller" }] }, "Flux"],
  ])("warn that Git may undo it: %o", async (metadata, tool) => {
    put(object({}, metadata));
    expect((await call("suspend", "app", "-n", "shop")).stderr).toContain(`${tool} manages the object, and may undo`);
  });
});

describe("breaker reset", () => {
  const tripped = { "controller-resilience.io/breaker": "2026-01-01: 5 workloads" };

  it("removes the annotation, also while the holder renews the Lease", async () => {
    objects.set(LEASE, lease(tripped));
    conflicts = 2;
    const { code, stderr } = await call("breaker", "reset", "--yes");
    expect([code, writes.length]).toEqual([0, 3]);
    expect(stderr).toContain("5 workloads");
    expect(writes[2]?.body.metadata).toMatchObject({ annotations: { "controller-resilience.io/breaker": null } });
  });

  it("has nothing to reset if it is not tripped, and asks nothing", async () => {
    const nothing = {
      code: 0,
      stdout:
        "nothing to reset: the restart breaker is not tripped (Lease controller-resilience-system/controller-resilience)\n",
      stderr: "",
    };
    expect(await call("breaker", "reset")).toEqual(nothing);
    expect(await call("breaker", "reset", "--yes")).toEqual(nothing);
    expect(writes).toEqual([]);
  });

  it("is an error without a Lease", async () => {
    objects.delete(LEASE);
    const { code, stderr } = await call("breaker", "reset", "--yes");
    expect([code, stderr, writes]).toEqual([1, expect.stringContaining("does not exist"), []]);
  });
});

describe("release", () => {
  it("tells a working operator by the spec, which would restore the FlowSchema", async () => {
    const { code, stderr, stdout } = await call("release", "web", "-n", "shop", "--yes");
    expect(code).toBe(0);
    expect(stderr).toContain("will release every throttled flow of ControllerResilience shop/app within seconds: web.");
    expect(stdout).toContain('"onRunaway":"Throttle"');
    expect(writes[0]).toMatchObject({
      path: `${CRES}/app`,
      body: { metadata: { resourceVersion: "5" }, spec: { flowIsolation: { requestRate: { onRunaway: "Report" } } } },
    });
  });

  const putFlowSchema = (labels: Record<string, string>): void => {
    objects.set(LEASE, lease({}, false));
    const annotations = { "controller-resilience.io/priority-levels": "usual,controller-resilience-tar-pit" };
    const names = { name: "controller-resilience-x", uid: "f1", resourceVersion: "9" };
    objects.set(FLOW_SCHEMA, { metadata: { ...names, labels, annotations } });
  };

  it("changes no FlowSchema that the operator has not made, whatever status names", async () => {
    putFlowSchema({ "app.kubernetes.io/managed-by": "Helm" });
    const { code, stderr } = await call("release", "sa/web", "-n", "shop", "--yes");
    expect([code, writes]).toEqual([1, []]);
    expect(stderr).toBe(
      "FlowSchema controller-resilience-x, which status names, was not made by the operator; it is not changed\n",
    );
  });

  it("changes the FlowSchema while no operator works", async () => {
    putFlowSchema({ "app.kubernetes.io/managed-by": "controller-resilience" });
    const { code, stderr } = await call("release", "sa/web", "-n", "shop", "--yes");
    expect([code, stderr]).toEqual([0, expect.stringContaining("no operator works")]);
    expect(writes[0]).toMatchObject({
      path: FLOW_SCHEMA,
      body: { metadata: { uid: "f1" }, spec: { priorityLevelConfiguration: { name: "usual" } } },
    });
  });

  it.each(["OperatorObserves", "NamespaceSkipped"] as const)(
    "changes the FlowSchema while the operator only observes: %s",
    async mode => {
      putFlowSchema({ "app.kubernetes.io/managed-by": "controller-resilience" });
      objects.set(LEASE, lease());
      const { status, ...rest } = object({ flowIsolation: { requestRate: { onRunaway: "Throttle" } } }) as {
        status: object;
      };
      put({ ...rest, status: { ...status, mode } });
      const { code, stderr } = await call("release", "web", "-n", "shop", "--yes");
      expect([code, stderr]).toEqual([0, expect.stringContaining(`the operator would not: ${whyObserved(mode)}.`)]);
      expect(writes[0]).toMatchObject({ path: FLOW_SCHEMA });
    },
  );

  it("names what is throttled, if the ServiceAccount is not", async () => {
    expect((await call("release", "db", "-n", "shop", "--yes")).stderr).toBe(
      "ServiceAccount db of shop is not throttled; throttled are: web\n",
    );
    expect(writes).toEqual([]);
  });
});
