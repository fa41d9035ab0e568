import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { WaitError } from "../../core/errors";
import { FakeClock } from "../../core/testing/fake-clock";
import type { ApiRequest } from "../http/api";
import { clusterReaders, type ReadersContext } from "./readers";

it("read the published keys again after half a minute, for a pass that may write", async () => {
  const clock = new FakeClock();
  let reads = 0;
  const api = {
    jsonOrNull: () => Promise.resolve(null),
    json: () => Promise.resolve((reads++, { keys: [{ kid: "a" }] })),
  };
  const readers = clusterReaders({ clock, api } as unknown as ReadersContext);
  for (const [afterMs, expected] of [
    [0, 1],
    [29_999, 1],
    [1, 2],
  ] as const) {
    clock.advance(afterMs);
    await readers.keyRotation();
    expect(reads).toBe(expected);
  }
});

it.each(["/metrics", "/openid/v1/jwks"])("ask each API server about the rest if none answers to %s", async broken => {
  const [clock, asked] = [new FakeClock(), [] as string[]];
  const endpoints = ["a", "b"].map(address => ({ addresses: [address] }));
  const answer = ({ path, instance }: ApiRequest, body: object): Promise<object> => {
    if (path === broken) return Promise.reject(new WaitError("busy", 60_000));
    asked.push(instance?.address ?? "any");
    return Promise.resolve(body);
  };
  const page = () => Readable.from([Buffer.from("process_start_time_seconds 1\n")]);
  const api = {
    jsonOrNull: () => Promise.resolve({ ports: [{ name: "https", port: 6443 }], endpoints }),
    json: (request: ApiRequest) => answer(request, { keys: [{ kid: "a" }] }),
    open: (request: ApiRequest) => answer(request, Object.assign(page(), { headers: {} })),
  };
  const readers = clusterReaders({ clock, api } as unknown as ReadersContext);
  for (let reads = 0; reads < 2; reads++) {
    await readers.keyRotation(0);
    await readers.requestRates(0);
    clock.advance(10_000);
  }
  expect(asked).toEqual(["a", "b", "a", "b"]);
});
