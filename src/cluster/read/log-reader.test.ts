import { expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import type { Answer, Api } from "../http/api";
import { ApiLogReader } from "./log-reader";

it("reads nothing of a pod without a node, for which the API server answers 204", async () => {
  const answer: Answer = { code: 204, retryAfterMs: undefined, body: Buffer.alloc(0) };
  const results: string[] = [];
  const metrics = { count: (_: string, { result }: { result?: string }) => void (result && results.push(result)) };
  const api = { send: () => Promise.resolve(answer) } as unknown as Api;
  const reader = new ApiLogReader({ api, clock: new FakeClock(), metrics });
  const request = { namespace: "kai", pod: "pending", container: "c", previous: false, limitBytes: 1_000 };
  expect(await reader.read(request, chunk => Promise.resolve(chunk))).toBeNull();
  expect(results).toEqual(["absent"]);
});
