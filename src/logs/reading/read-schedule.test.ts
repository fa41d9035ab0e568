import { describe, expect, it } from "vitest";
import { dueMs, pickDue, READS_AT_ONCE, SUSPICIOUS_INTERVAL_MS } from "./read-schedule";

describe("the schedule of reads", () => {
  it("reads suspicious logs every five seconds and never more often", () => {
    const item = { uid: "a", lastReadMs: 1_000, suspicious: true };
    expect(pickDue([item], 1_000 + SUSPICIOUS_INTERVAL_MS - 1)).toEqual([]);
    expect(pickDue([item], 1_000 + SUSPICIOUS_INTERVAL_MS)).toEqual([item]);
  });

  it("spreads the reads of thousands of healthy pods", () => {
    const due = Array.from({ length: 3_000 }, (_, i) => dueMs({ uid: `pod-${i}`, lastReadMs: 0, suspicious: false }));
    expect(Math.min(...due)).toBeGreaterThanOrEqual(25_000);
    expect(Math.max(...due)).toBeLessThanOrEqual(35_000);
    const perSecond = Array.from({ length: 10 }, (_, s) => due.filter(ms => Math.floor(ms / 1000) === 25 + s).length);
    expect(Math.max(...perSecond)).toBeLessThan(600);
  });

  it("reads all of hundreds of pods, also beside many suspicious ones", () => {
    const pods = Array.from({ length: 400 }, (_, i) => ({
      uid: `pod-${i}`,
      suspicious: i < 100,
      lastReadMs: -Infinity,
    }));
    const lastRead = new Map<string, number>();
    for (let now = 0; now < 120_000; now += 1_000) {
      const items = pods.map(pod => ({ ...pod, lastReadMs: lastRead.get(pod.uid) }));
      const picked = pickDue(items, now);
      expect(picked.length).toBeLessThanOrEqual(READS_AT_ONCE);
      for (const item of picked) lastRead.set(item.uid, now);
    }
    expect(Math.min(...pods.map(pod => lastRead.get(pod.uid) ?? 0))).toBeGreaterThan(70_000);
  });
});
