import { describe, expect, it } from "vitest";
import { ForbiddenError, ResilienceError, TransientError } from "../../core/errors";
import type { LogChunk, LogRequest } from "../../core/readers";
import { FakeClock, settle } from "../../core/testing/fake-clock";
import { type Answer, type Api, type ApiRequest, TimeoutError } from "../http/api";
import { ApiLogReader } from "./log-reader";

const REQUEST = { namespace: "kai", pod: "well", container: "main", previous: false, limitBytes: 1_000 };
const DEADLINE_MS = 10_000;

const itself = (chunk: LogChunk | null): Promise<LogChunk | null> => Promise.resolve(chunk);
const answerOf = (code: number, text: string): Answer => ({ code, retryAfterMs: undefined, body: Buffer.from(text) });

/** An API server's refusal, as its answer. */
const refusal = (code: number, reason: string, message: string): Answer =>
  answerOf(code, JSON.stringify({ kind: "Status", code, reason, message }));

/** A reader of logs, its requests, and their results. `send` answers at once, or hangs. */
function readerOf(send: (request: ApiRequest) => Answer | "hangs") {
  const [requests, results]: [ApiRequest[], string[]] = [[], []];
  const clock = new FakeClock();
  const api = {
    send: (request: ApiRequest): Promise<Answer> => {
      requests.push(request);
      const answer = send(request);
      if (answer !== "hangs") return Promise.resolve(answer);
      return new Promise((_, reject) => clock.after(request.deadlineMs ?? 0, () => reject(new TimeoutError("slow"))));
    },
  };
  const metrics = { count: (_: string, { result }: { result?: string }) => void (result && results.push(result)) };
  const reader = new ApiLogReader({ api: api as unknown as Api, clock, metrics });
  const read = (more: Partial<LogRequest> = {}) => reader.read({ ...REQUEST, ...more }, itself);
  return { reader, read, requests, results, clock };
}

describe("a read", () => {
  it("sends the requested options", async () => {
    const { read, requests, results } = readerOf(() => answerOf(200, "2025-01-01T00:00:00Z hello\n"));
    const chunk = await read({ previous: true, sinceMs: Date.parse("2025-01-01T00:00:00Z"), tailLines: 5 });
    expect(chunk).toEqual({ bytes: Buffer.from("2025-01-01T00:00:00Z hello\n"), truncated: false });
    const sinceTime = "2025-01-01T00:00:00.000Z";
    expect(requests).toMatchObject([
      {
        path: "/api/v1/namespaces/kai/pods/well/log",
        query: { container: "main", limitBytes: 1_000, previous: true, sinceTime, tailLines: 5, timestamps: true },
      },
    ]);
    expect(requests[0]?.query).not.toHaveProperty("follow");
    expect(results).toEqual(["ok"]);
  });

  it.each([1_000, 20_000])("of %d bytes returns no more than its limit, and reports that more follow", async bytes => {
    const { read, results } = readerOf(() => answerOf(200, "x".repeat(bytes)));
    expect(await read()).toEqual({ bytes: Buffer.from("x".repeat(1_000)), truncated: true });
    expect(results).toEqual(["truncated"]);
  });

  it.each([
    ["a pod without a node", answerOf(204, "")],
    ["a pod that does not exist", refusal(404, "NotFound", 'pods "well" not found')],
    ["a container that does not exist", refusal(400, "BadRequest", "container main is not valid for pod well")],
    [
      "a container that has not started",
      refusal(400, "BadRequest", 'container "main" in pod "well" is waiting to start: ContainerCreating'),
    ],
    [
      "a previous container that the kubelet has forgotten",
      refusal(400, "BadRequest", 'previous terminated container "main" in pod "well" not found'),
    ],
  ])("is null for %s", async (_, answer) => {
    const { read, results } = readerOf(() => answer);
    expect(await read()).toBeNull();
    expect(results).toEqual(["absent"]);
  });

  it.each([
    ["a 400 for another reason", refusal(400, "BadRequest", "bad request"), ResilienceError, ""],
    ["a kubelet in trouble", refusal(500, "InternalError", "failed to read"), ResilienceError, ""],
    ["a right that it lacks, which it names", refusal(403, "Forbidden", "no"), ForbiddenError, "pods/log"],
  ])("is an error for %s", async (_, answer, type, words) => {
    const { read, results } = readerOf(() => answer);
    const error: unknown = await read().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(type);
    expect(String(error)).toContain(words);
    expect(results).toEqual(["error"]);
  });

  it("has one answer for all who ask for the same meanwhile, also if it fails", async () => {
    const answers = [200, 500, 200].map(code => answerOf(code, "a line\n"));
    const { read, results } = readerOf(() => answers.shift()!);
    const two = () => Promise.allSettled([read(), read()]);
    expect((await two()).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
    expect((await two()).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await read();
    expect(results).toEqual(["ok", "error", "ok"]);
  });

  it("whose bytes are still in use keeps its slot, which bounds the memory of concurrent reads", async () => {
    const { reader, requests, clock } = readerOf(() => answerOf(200, "well\n"));
    let end = (): void => undefined;
    const used = new Promise<void>(resolve => (end = resolve));
    const inUse = (limitBytes: number) => reader.read({ ...REQUEST, limitBytes }, () => used);
    const first = [1_000, 999, 998, 997].map(inUse);
    const fifth = expect(inUse(996)).rejects.toThrow(/no free slot within 30 s/);
    await clock.run(30_000);
    await fifth;
    end();
    await Promise.all(first);
    await inUse(996);
    expect(requests).toHaveLength(5);
  });
});

it("reads at most four logs of one node at a time, whatever their namespaces", async () => {
  const { read, requests } = readerOf(() => "hangs");
  for (let i = 0; i < 5; i++) void read({ namespace: `n${i}`, node: "a" });
  await settle();
  expect(requests).toHaveLength(4);
  void read({ node: "b" });
  await settle();
  expect(requests).toHaveLength(5);
});

it("pods whose kubelet hangs delay no other namespace, and time out at their deadline", async () => {
  const { read, requests, results, clock } = readerOf(({ path }) =>
    path.includes("hangs") ? "hangs" : answerOf(200, "well\n"),
  );
  const sent = (): number => requests.filter(({ path }) => path.includes("hangs")).length;
  const timeouts = (): number => results.filter(result => result === "timeout").length;
  const hanging = Array.from({ length: 8 }, (_, i) =>
    expect(read({ pod: `hangs-${i}` })).rejects.toThrow(TransientError),
  );
  await clock.run(DEADLINE_MS - 1);
  expect(await read({ namespace: "other" })).not.toBeNull();
  // At most four run at once per namespace, so there are two rounds.
  expect([sent(), timeouts()]).toEqual([4, 0]);
  await clock.run(1);
  await settle();
  expect([sent(), timeouts()]).toEqual([8, 4]);
  await clock.run(DEADLINE_MS);
  await Promise.all(hanging);
  expect(timeouts()).toBe(8);
});
