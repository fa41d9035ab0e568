import { expect, it } from "vitest";
import { ShardedGauge } from "./sharded-gauge";

async function partsOf(gauge: ShardedGauge<"name">): Promise<string[]> {
  const parts: string[] = [];
  for await (const part of gauge.parts()) parts.push(part);
  return parts;
}

it("is one metric, whose series are written down in parts of which none is large", async () => {
  const gauge = new ShardedGauge({ name: "some", help: "Some.", labelNames: ["name"] });
  expect((await partsOf(gauge)).join("\n")).toBe("# HELP some Some.\n# TYPE some gauge");
  for (let i = 0; i < 2_000; i++) gauge.of(`team-${i % 7}/object-${i}`).set({ name: `object-${i}` }, 1);
  const parts = await partsOf(gauge);
  const lines = parts.join("\n").split("\n");
  expect(lines.slice(0, 2)).toEqual(["# HELP some Some.", "# TYPE some gauge"]);
  expect(lines.slice(2).every(line => line.startsWith("some{name="))).toBe(true);
  expect(new Set(lines).size).toBe(2_002);
  expect(Math.max(...parts.map(part => part.split("\n").length))).toBeLessThan(300);
  for (let i = 0; i < 2_000; i++) gauge.of(`team-${i % 7}/object-${i}`).remove({ name: `object-${i}` });
  expect((await partsOf(gauge)).join("\n")).toBe("# HELP some Some.\n# TYPE some gauge");
});
