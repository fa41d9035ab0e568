import { describe, expect, it } from "vitest";
import type { PodMetricsTrack } from "../../core/pod-metrics";
import { workload } from "../../core/testing/views";
import { followPage } from "../../evidence/metrics/page";
import { pageOf } from "../../evidence/metrics/testing/page";
import { DEFAULTS } from "../stall-detection/testing/scene";
import { Scene } from "./testing/scene";

type Requests = NonNullable<Parameters<typeof pageOf>[0]["requests"]>;

/** A program that logs nothing and serves metrics, which are read every half minute. */
function silent(requests: (second: number) => Partial<Requests>, hasMetrics = true): Scene {
  const scene = new Scene();
  if (hasMetrics) scene.object.spec.stallDetection = { ...DEFAULTS, metrics: {} };
  const tracks = new Map<string, PodMetricsTrack>();
  const startMs = scene.clock.monotonicMs();
  scene.podMetrics = ({ uid }) => {
    const nowMs = scene.clock.monotonicMs();
    const known = tracks.get(uid);
    if (known !== undefined && nowMs - known.readMs < 30_000) return { track: known };
    const counts = { gets: 1, puts: 1, accepted: 9, ...requests((nowMs - startMs) / 1_000) };
    const track = followPage(known, pageOf({ requests: counts }), nowMs);
    tracks.set(uid, track);
    return { track };
  };
  return scene;
}

describe("401s that a pod counts itself", () => {
  it("lead to a restart though it logs nothing", async () => {
    const scene = silent(second => ({ unauthorized: second }));
    expect((await scene.passes(29)).intents).toEqual([]);
    const pass = await scene.passes(1);
    // Nothing shows that it has ever been accepted.
    expect(pass.intents).toMatchObject([{ verb: "evict", restart: { cause: "Unknown", workedMs: 0 } }]);
    expect(pass.message).toMatch(/Pod web-5d-a got 401 responses on 3 or more occasions over 2m or more/);
  });

  it("show how long the pod worked if it was accepted in between", async () => {
    const scene = silent(second => ({ unauthorized: Math.max(0, second - 100), accepted: Math.min(second, 100) }));
    expect((await scene.passes(60)).intents).toMatchObject([{ restart: { workedMs: 3_750_000 } }]);
  });

  it("lead to none while requests are accepted, when they end, or without the block", async () => {
    const end = (second: number): number => Math.min(second, 60);
    for (const scene of [
      silent(second => ({ unauthorized: second, accepted: second })),
      silent(second => ({ unauthorized: end(second) })),
      silent(second => ({ unauthorized: second, hosts: 2 })),
      silent(second => ({ unauthorized: second }), false),
    ])
      expect((await scene.passes(60)).intents).toEqual([]);
  });

  it("lead to none if the spec leaves out 401s, such as of a program that passes on the tokens of others", async () => {
    const scene = silent(second => ({ unauthorized: second }));
    scene.object.spec.tokenRestart!.evidence = ["ServiceAccountAge"];
    expect((await scene.passes(60)).intents).toEqual([]);
  });

  it("lead to none of a program that is known to have those of others", async () => {
    const scene = silent(second => ({ unauthorized: second }));
    scene.workloadList = [workload({ logsForeign401s: true })];
    expect((await scene.passes(60)).intents).toEqual([]);
  });

  it("count against a successor, too", async () => {
    const scene = silent(second => ({ unauthorized: second }));
    const { intents } = await scene.passes(30);
    scene.noteRestart(intents[0]!);
    scene.podList = [scene.podAt(0, { name: "web-5d-b", uid: "b" })];
    await scene.passes(36);
    expect(scene.object.status?.restarts).toMatchObject([{ outcome: "Ineffective" }]);
  });
});
