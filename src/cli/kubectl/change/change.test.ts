import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { main } from "../program";
import { type FakeAnswer, FakeServer, run } from "../testing/run";

const GROUP = "/apis/controller-resilience.io";
const CRES = `${GROUP}/v1alpha1/namespaces/shop/controllerresiliences`;

let objects: Map<string, object>;
let isConflict: boolean;
let writes: { path: string; query: string; body: { metadata: object } }[];

async function answer(request: IncomingMessage): Promise<FakeAnswer> {
  const [path = "", query = ""] = (request.url ?? "").split("?");
  if (request.method === "PATCH") {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    writes.push({ path, query, body: JSON.parse(text) as { metadata: object } });
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

function object(spec: object = {}, metadata: object = {}): object {
  return {
    metadata: { name: "app", namespace: "shop", uid: "u1", resourceVersion: "5", ...metadata },
    spec: { mode: "Enforce", suspend: false, targets: [], ...spec },
  };
}
const put = (one: object): unknown => objects.set(`${CRES}/app`, one);

beforeEach(() => {
  objects = new Map([[GROUP, { versions: [{ version: "v1alpha1" }] }]]);
  isConflict = false;
  writes = [];
  put(object());
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
    isConflict = true;
    expect((await call("suspend", "app", "-n", "shop", "--yes")).stderr).toContain("has changed meanwhile");
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
  });

  it.each([
    [{ managedFields: [{ manager: "kubectl" }, { manager: "argocd-controller" }] }, "Argo CD"],
    [{ managedFields: [{ manager: "helm-controller" }] }, "Flux"],
  ])("warn that Git may undo it: %o", async (metadata, tool) => {
    put(object({}, metadata));
    expect((await call("suspend", "app", "-n", "shop")).stderr).toContain(`${tool} manages the object, and may undo`);
  });
});
