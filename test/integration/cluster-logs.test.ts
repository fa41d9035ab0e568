import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Api } from "../../src/cluster/http/api";
import type { Connection } from "../../src/cluster/http/connection";
import { ApiLogReader } from "../../src/cluster/read/log-reader";
import { ForbiddenError, ResilienceError, TransientError, UnauthorizedError } from "../../src/core/errors";
import type { LogChunk, LogRequest } from "../../src/core/readers";
import { FakeClock } from "../../src/core/testing/fake-clock";
import { StandInKubelet } from "../cluster/kubelet";
import { clientWith, connectionOf, RULES } from "./cluster-operator";
import { eventually, options } from "../cluster/admin";
import { keepingMetrics } from "./cluster-world";
import { suiteAdmin } from "./suite-lab";

// Logs through a real API server from a fake kubelet that answers like a real one, and hangs on command. Deadlines pass on a fake clock, so a
// slow machine is never mistaken for a kubelet that hangs.

const admin = suiteAdmin();
const kubelet = new StandInKubelet();
const DEADLINE_MS = 1_500;
const NODE = `node-${process.pid}`;
let connection: Connection;
let powerless: Connection;
let namespace: string;
let other: string;
let metrics: ReturnType<typeof keepingMetrics>;
let clock: FakeClock;
let reader: ApiLogReader;

beforeAll(async () => {
  await kubelet.start(admin, NODE);
  namespace = await admin.namespace("logs");
  other = await admin.namespace("logs");
  connection = await clientWith(admin, namespace, RULES);
  powerless = await clientWith(admin, namespace, []);
  await Promise.all([
    ...Array.from({ length: 8 }, (_, i) => createPod(namespace, `hangs-${i}`)),
    createPod(namespace, "well"),
    createPod(other, "well"),
  ]);
});

afterAll(async () => {
  for (const each of [connection, powerless, admin.connection]) each.close();
  await admin.delete(`/api/v1/nodes/${NODE}`);
  await kubelet.stop();
});

beforeEach(() => {
  metrics = keepingMetrics();
  clock = new FakeClock();
  reader = readerOver(connection);
  kubelet.answer = (_, response) => response.end("2025-01-01T00:00:00.000000000Z hello\n");
  kubelet.calls.length = 0;
});

function readerOver(access: Connection): ApiLogReader {
  return new ApiLogReader({ api: new Api(access, clock, options), clock, metrics, readDeadlineMs: DEADLINE_MS });
}

async function createPod(where: string, name: string): Promise<void> {
  await admin
    .create(`/api/v1/namespaces/${where}/serviceaccounts`, { metadata: { name: "kai" } })
    .catch(() => undefined);
  const spec = {
    nodeName: NODE,
    serviceAccountName: "kai",
    automountServiceAccountToken: false,
    containers: [{ name: "main", image: "none" }],
  };
  await admin.create(`/api/v1/namespaces/${where}/pods`, { metadata: { name }, spec });
}

const ask = (more: Partial<LogRequest> = {}): LogRequest => ({
  namespace,
  pod: "well",
  container: "main",
  previous: false,
  limitBytes: 1_000,
  ...more,
});

function kubeletSays(code: number, text: string): void {
  kubelet.answer = (_, response) => response.writeHead(code).end(text);
}

/** The text that was read. */
const itself = (chunk: LogChunk | null): Promise<LogChunk | null> => Promise.resolve(chunk);

describe("a read", () => {
  it("sends the requested options", async () => {
    const chunk = await reader.read(
      ask({ previous: true, sinceMs: Date.parse("2025-01-01T00:00:00.500Z"), tailLines: 5 }),
      itself,
    );
    expect(chunk?.bytes.toString()).toBe("2025-01-01T00:00:00.000000000Z hello\n");
    expect(chunk?.truncated).toBe(false);
    const [call] = kubelet.calls;
    expect(call?.container).toBe("main");
    expect(Object.fromEntries(call?.query ?? [])).toMatchObject({
      limitBytes: "1000",
      previous: "true",
      sinceTime: "2025-01-01T00:00:00Z",
      tailLines: "5",
      timestamps: "true",
    });
    expect(call?.query.has("follow")).toBe(false);
    expect(metrics.counted).toEqual(["log ok"]);
  });

  it("reads no more bytes than its limit, and reports that more follow", async () => {
    kubelet.answer = (_, response) => response.end("x".repeat(1_000));
    expect(await reader.read(ask(), itself)).toMatchObject({ truncated: true });
    kubelet.answer = (_, response) => response.end("x".repeat(20_000));
    const chunk = await reader.read(ask(), itself);
    expect(chunk?.bytes).toHaveLength(1_000);
    expect(chunk?.truncated).toBe(true);
  });

  it.each<[string, () => void]>([
    [
      "a container that has not started",
      () => kubeletSays(400, 'container "main" in pod "well" is waiting to start: ContainerCreating'),
    ],
    [
      "a previous container that the kubelet has forgotten",
      () => kubeletSays(400, 'previous terminated container "main" in pod "well" not found'),
    ],
    ["a pod that the kubelet does not know", () => kubeletSays(404, 'pod "well" does not exist')],
  ])("is null for %s", async (_, say) => {
    say();
    expect(await reader.read(ask(), itself)).toBeNull();
    expect(metrics.counted).toEqual(["log absent"]);
  });

  it("is null for a pod and for a container that do not exist", async () => {
    expect(await reader.read(ask({ pod: "none" }), itself)).toBeNull();
    expect(await reader.read(ask({ container: "none" }), itself)).toBeNull();
    expect(kubelet.calls).toEqual([]);
  });

  it.each([
    ["a 400 for another reason", 400, "bad request"],
    ["a kubelet in trouble", 500, "failed to read"],
  ])("is an error for %s", async (_, code, text) => {
    kubeletSays(code, text);
    await expect(reader.read(ask(), itself)).rejects.toBeInstanceOf(ResilienceError);
    expect(metrics.counted).toEqual(["log error"]);
  });

  it("tells what a kubelet refuses to the API server from what the API server refuses to the operator", async () => {
    for (const code of [401, 403]) {
      kubeletSays(code, "no");
      await expect(reader.read(ask(), itself)).rejects.toThrow("the kubelet to the API server");
    }
    const stranger = connectionOf({ token: "none" });
    await expect(readerOver(stranger).read(ask(), itself)).rejects.toBeInstanceOf(UnauthorizedError);
    stranger.close();
  });

  it("names the right that it lacks", async () => {
    const forbidden = readerOver(powerless);
    await expect(forbidden.read(ask(), itself)).rejects.toThrow(ForbiddenError);
    await expect(forbidden.read(ask(), itself)).rejects.toThrow(/pods\/log/);
  });
});

describe("a read whose bytes are still in use", () => {
  it("keeps its slot, which bounds the memory of concurrent reads", async () => {
    kubelet.answer = (_, response) => response.end("2025-01-01T00:00:00Z well\n");
    let begun = 0;
    let end = (): void => undefined;
    const ended = new Promise<void>(resolve => (end = resolve));
    const look = (): Promise<void> => {
      begun++;
      return ended;
    };
    const [first, second] = [reader.read(ask(), look), reader.read(ask({ limitBytes: 999 }), look)];
    expect(
      await eventually(
        () => begun,
        count => count === 2,
      ),
    ).toBe(2);
    const third = expect(reader.read(ask(), look)).rejects.toThrow(/no free slot within 30 s/);
    clock.advance(30_000);
    await third;
    end();
    await Promise.all([first, second]);
    await reader.read(ask(), look);
    expect([begun, kubelet.calls.length]).toEqual([3, 3]);
  });
});

describe("pods whose kubelet hangs", () => {
  /** The number of reads of these pods that the kubelet has received, once it is as high as expected. */
  async function asked(hoped: number): Promise<number> {
    const count = (): number => kubelet.calls.filter(({ pod }) => pod.startsWith("hangs")).length;
    return eventually(count, found => found >= hoped);
  }

  async function timeouts(hoped: number): Promise<number> {
    const count = (): number => metrics.counted.filter(entry => entry === "log timeout").length;
    return eventually(count, found => found >= hoped);
  }

  it("delay no other namespace, and time out at their deadline", async () => {
    kubelet.answer = (call, response) => {
      if (call.pod.startsWith("hangs")) response.write("2025-01-01T00:00:00Z begun, never");
      else response.end("2025-01-01T00:00:00Z well\n");
    };
    const readAll = (): Promise<unknown>[] =>
      Array.from({ length: 8 }, (_, i) =>
        expect(reader.read(ask({ pod: `hangs-${i}` }), itself)).rejects.toThrow(TransientError),
      );
    const hanging = readAll();
    expect(await asked(4)).toBe(4);
    clock.advance(DEADLINE_MS - 1);
    expect((await reader.read(ask({ namespace: other }), itself))?.bytes.toString()).toContain("well");
    // At most four run at once per namespace, so there are two rounds.
    expect([await asked(4), await timeouts(0)]).toEqual([4, 0]);
    clock.advance(1);
    expect([await asked(8), await timeouts(4)]).toEqual([8, 4]);
    clock.advance(DEADLINE_MS);
    expect(await timeouts(8)).toBe(8);
    await Promise.all(hanging);

    // Now these pods are known to hang: others go first, even in their namespace.
    const again = readAll();
    expect((await reader.read(ask(), itself))?.bytes.toString()).toContain("well");
    expect(await asked(10)).toBe(10);
    for (let ended = 10; ended <= 16; ended += 2) {
      clock.advance(DEADLINE_MS);
      expect([await timeouts(ended), await asked(Math.min(16, ended + 2))]).toEqual([ended, Math.min(16, ended + 2)]);
    }
    await Promise.all(again);
  });
});
