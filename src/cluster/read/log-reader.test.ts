import { expect, it } from "vitest";
import { FakeClock, settle } from "../../core/testing/fake-clock";
import type { Answer, Api } from "../http/api";
import { ApiLogReader } from "./log-reader";

const REQUEST = { namespace: "kai", pod: "pending", container: "c", previous: false, limitBytes: 1_000 };

/** A reader of logs, and the results of its requests. */
function readerOf(send: () => Promise<Answer>): { reader: ApiLogReader; results: string[] } {
  const results: string[] = [];
  const metrics = { count: (_: string, { result }: { result?: string }) => void (result && results.push(result)) };
  return { reader: new ApiLogReader({ api: { send } as unknown as Api, clock: new FakeClock(), metrics }), results };
}

it("reads nothing of a pod without a node, for which the API server answers 204", async () => {
  const { reader, results } = readerOf(() =>
    Promise.resolve({ code: 204, retryAfterMs: undefined, body: Buffer.alloc(0) }),
  );
  expect(await reader.read(REQUEST, chunk => Promise.resolve(chunk))).toBeNull();
  expect(results).toEqual(["absent"]);
});

it("has one answer for all who ask for the same meanwhile, also if it fails", async () => {
  const answers = [200, 500, 200].map(code => ({ code, retryAfterMs: undefined, body: Buffer.from("a line\n") }));
  const { reader, results } = readerOf(() => Promise.resolve(answers.shift()!));
  const read = (limitBytes = 1_000): Promise<string | undefined> =>
    reader.read({ ...REQUEST, limitBytes }, chunk => Promise.resolve(chunk?.bytes.toString()));
  expect(await Promise.all([read(), read()])).toEqual(["a line\n", "a line\n"]);
  expect((await Promise.allSettled([read(), read()])).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await read();
  expect(results).toEqual(["ok", "error", "ok"]);
});

it("reads at most four logs of one node at a time, whatever their namespaces", async () => {
  let sent = 0;
  const { reader } = readerOf(() => {
    sent++;
    return new Promise(() => undefined);
  });
  for (let i = 0; i < 5; i++) void reader.read({ ...REQUEST, namespace: `n${i}`, node: "a" }, () => Promise.resolve());
  await settle();
  expect(sent).toBe(4);
  void reader.read({ ...REQUEST, node: "b" }, () => Promise.resolve());
  await settle();
  expect(sent).toBe(5);
});
