import { readFileSync, writeFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { dirname } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { Session } from "./session";
import { type FakeAnswer, FakeServer } from "../../cluster/testing/fake-server";

const server = new FakeServer(() => answers.shift() ?? { body: {} });
const answers: FakeAnswer[] = [];
let kubeconfig: string;
beforeAll(async () => (kubeconfig = await server.start()));
afterAll(() => server.stop());
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const io = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), env: {} };

it("refuses a write before it is sent", async () => {
  const session = new Session({ kubeconfig }, io);
  const request = { what: "patch pods a/b", method: "PATCH", path: "/api/v1/namespaces/a/pods/b", body: {} } as const;
  const refusal = "patch pods a/b: expected a read, got PATCH; this client only reads";
  await expect(session.api.json(request)).rejects.toThrow(refusal);
  await expect(session.api.open(request, session.ending)).rejects.toThrow(refusal);
  expect(server.requests).toEqual([]);
  session.close();
});

it("stays with its cluster when someone chooses another context and a 401 makes it read the kubeconfig again", async () => {
  const session = new Session({ kubeconfig }, io);
  writeFileSync(
    kubeconfig,
    readFileSync(kubeconfig, "utf8").replace('"current-context":"here"', '"current-context":"down"'),
  );
  answers.push({ code: 401, body: {} });
  await expect(session.get({ what: "get version", path: "/version" })).resolves.toEqual({});
  session.close();
});

it("lets no command of a page that was made in a pod act on the present context of its reader", () => {
  vi.stubEnv("HOME", dirname(kubeconfig) + "/nobody");
  vi.spyOn(KubeConfig.prototype, "loadFromDefault").mockImplementation(function (this: KubeConfig) {
    this.loadFromString(readFileSync(kubeconfig, "utf8"));
  });
  const session = new Session({ output: "html" }, io);
  expect(session.command("kubectl delete pod a")).toBe("kubectl delete pod a --context CONTEXT");
  session.close();
});
