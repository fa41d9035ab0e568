import { beforeAll, describe, expect, it } from "vitest";
import { ensurePrometheus, promtool } from "../lab/prometheus";
import { fill, makeMetrics } from "../monitoring/samples";

// What Prometheus itself says of the metrics and rules. This needs no cluster.

/** Installing the package may first refresh the list of packages. */
const INSTALL_TIMEOUT_MS = 1_200_000;

beforeAll(() => ensurePrometheus(), INSTALL_TIMEOUT_MS);

describe("the metrics", () => {
  it("pass promtool, with samples in every one", async () => {
    const metrics = makeMetrics();
    fill(metrics);
    const text = await metrics.text();
    const sampled = new Set([...text.matchAll(/^([a-z_]+)(?:\{.*\})? \S+$/gm)].map(([, name = ""]) => name));
    const own = metrics.families().filter(({ name }) => !/^(process|nodejs)_/.test(name));
    const without = own.filter(({ name, type }) => !sampled.has(type === "histogram" ? `${name}_count` : name));
    expect(without.map(({ name }) => name)).toEqual([]);
    expect(own.length).toBeGreaterThan(30);
    expect(await promtool(["check", "metrics"], text)).toEqual({ code: 0, stdout: "", stderr: "" });
  });
});
