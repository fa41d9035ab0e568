import { expect, it } from "vitest";
import { Memories } from "./memory";

it("counts stale Leases for five minutes, and nothing of a paused object", () => {
  const memories = new Memories();
  const note = (key: string, sinceMs: number, seenMs: number): void => {
    Object.assign(memories.of(key), { workloads: 2, stale: [{ workload: "Deployment/web", sinceMs, seenMs }] });
  };
  note("team/a", 0, 600_000);
  note("team/b", 100_000, 700_000);
  expect(memories.rejections(700_000)).toEqual({ workloads: 2, watched: 4, togetherSinceMs: 0 });
  expect(memories.rejections(900_000)).toEqual({ workloads: 1, watched: 4 });
  expect(memories.rejections(1_000_000)).toEqual({ workloads: 0, watched: 4 });
  memories.pause("team/a");
  expect(memories.rejections(700_000)).toEqual({ workloads: 1, watched: 2 });
});
