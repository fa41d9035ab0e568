import { PassThrough } from "node:stream";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Session } from "./session";
import { FakeServer } from "./testing/run";

const server = new FakeServer(() => ({ body: {} }));
let kubeconfig: string;
beforeAll(async () => (kubeconfig = await server.start()));
afterAll(() => server.stop());

it("refuses a write before it is sent", async () => {
  const io = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), env: {} };
  const session = new Session({ kubeconfig }, io);
  const request = { what: "patch pods a/b", method: "PATCH", path: "/api/v1/namespaces/a/pods/b", body: {} } as const;
  const refusal = "patch pods a/b: expected a read, got PATCH; this client only reads";
  await expect(session.api.json(request)).rejects.toThrow(refusal);
  await expect(session.api.open(request, session.ending)).rejects.toThrow(refusal);
  expect(server.requests).toEqual([]);
  session.close();
});
