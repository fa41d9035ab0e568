import { describe, expect, it } from "vitest";
import { CONVENTIONS, hasExpiryKey, readExpiry } from "./index";
import { CREATED_MS, marked } from "./testing/marked";

describe("readExpiry", () => {
  it("finds no expiry without a key", () => {
    const plain = marked({ labels: { app: "x" }, annotations: { "k8s-ttl-controller.twin.sh/refreshed-at": "x" } });
    expect(readExpiry(plain)).toEqual({ readings: [], malformed: [], forever: false });
    expect(hasExpiryKey(plain)).toBe(false);
  });

  it("takes the earliest expiry, with every source of it", () => {
    const both = marked({
      labels: { "cleanup.kyverno.io/ttl": "24h" },
      annotations: { "janitor/ttl": "1d", "k8s-ttl-controller.twin.sh/ttl": "2d" },
    });
    const { readings, earliest } = readExpiry(both);
    expect(earliest).toEqual({ atMs: CREATED_MS + 86_400_000, sources: ["cleanup.kyverno.io/ttl", "janitor/ttl"] });
    expect(readings.map(({ convention, atMs }) => [convention.key, atMs - CREATED_MS])).toEqual([
      ["cleanup.kyverno.io/ttl", 86_400_000],
      ["janitor/ttl", 86_400_000],
      ["k8s-ttl-controller.twin.sh/ttl", 172_800_000],
    ]);
  });

  it("reads an expiry beside a forever, and collects malformed values", () => {
    const mixed = marked({
      labels: { "cleanup.kyverno.io/ttl": "soon" },
      annotations: {
        "janitor/ttl": "forever",
        "janitor/expires": "2025-03-04",
        "controller-resilience.io/expires-at": "x",
      },
    });
    const { earliest, malformed, forever } = readExpiry(mixed);
    expect(forever).toBe(true);
    expect(earliest?.sources).toEqual(["janitor/expires"]);
    expect(malformed.map(({ key, value }) => [key, value])).toEqual([
      ["controller-resilience.io/expires-at", "x"],
      ["cleanup.kyverno.io/ttl", "soon"],
    ]);
  });

  it.each([
    ["forever", true],
    ["rubbish", true],
    ["7d", true],
    ["", false],
  ])("reports for a janitor/ttl of %j whether it has a key: %s", (value, expected) => {
    expect(hasExpiryKey(marked({ annotations: { "janitor/ttl": value } }))).toBe(expected);
  });

  it("has six conventions, none twice", () => {
    expect(new Set(CONVENTIONS.flatMap(({ keys }) => keys)).size).toBe(7);
  });
});
