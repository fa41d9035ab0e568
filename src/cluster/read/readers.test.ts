import { expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
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
