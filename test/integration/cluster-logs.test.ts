import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { Connection } from "../../src/cluster/http/connection";
import { ApiLogReader } from "../../src/cluster/read/log-reader";
import { systemClock } from "../../src/cluster/system";
import { ForbiddenError, UnauthorizedError } from "../../src/core/errors";
import { StandInKubelet } from "../cluster/kubelet";
import { apiOver, clientWith, connectionOf } from "./cluster-operator";
import { suiteAdmin } from "./suite-lab";

// Who refuses to read a log: a real API server passes on what a kubelet answers. src/cluster/read/log-reader.test.ts has all else.

const admin = suiteAdmin();
const kubelet = new StandInKubelet();
const NODE = `node-${process.pid}`;
let namespace: string;
let connections: Connection[];

beforeAll(async () => {
  await kubelet.start(admin, NODE);
  namespace = await admin.namespace("logs");
  const logs = { apiGroups: [""], resources: ["pods/log"], verbs: ["get"] };
  connections = [
    await clientWith(admin, namespace, [logs]),
    await clientWith(admin, namespace, []),
    connectionOf({ token: "none" }),
  ];
  await admin.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: "kai" } });
  const containers = [{ name: "main", image: "none" }];
  const spec = { nodeName: NODE, serviceAccountName: "kai", automountServiceAccountToken: false, containers };
  await admin.create(`/api/v1/namespaces/${namespace}/pods`, { metadata: { name: "well" }, spec });
});

afterAll(async () => {
  for (const each of [...connections, admin.connection]) each.close();
  await admin.delete(`/api/v1/nodes/${NODE}`);
  await kubelet.stop();
});

beforeEach(() => kubeletSays(200, "hello"));

function kubeletSays(code: number, text: string): void {
  kubelet.answer = (_, response) => response.writeHead(code).end(text);
}

/** Reads the log as the one with the right, the one without, or a stranger. */
function read(who: "may" | "may not" | "stranger", pod = "well", container = "main"): Promise<string | undefined> {
  const api = apiOver(connections[["may", "may not", "stranger"].indexOf(who)]!);
  const reader = new ApiLogReader({ api, clock: systemClock, metrics: { count: () => undefined } });
  const request = { namespace, pod, container, previous: false, limitBytes: 1_000 };
  return reader.read(request, chunk => Promise.resolve(chunk?.bytes.toString()));
}

it("has a log, and none of what does not exist", async () => {
  expect(await read("may")).toBe("hello");
  expect([await read("may", "none"), await read("may", "well", "none")]).toEqual([undefined, undefined]);
});

it("tells what a kubelet refuses to the API server from what the API server refuses to the operator", async () => {
  for (const code of [401, 403]) {
    kubeletSays(code, "no");
    await expect(read("may")).rejects.toThrow("the kubelet to the API server");
  }
  await expect(read("stranger")).rejects.toBeInstanceOf(UnauthorizedError);
});

it("names the right that it lacks", async () => {
  const error: unknown = await read("may not").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ForbiddenError);
  expect(String(error)).toContain("pods/log");
});
