import { join } from "node:path";
import { expect, it } from "vitest";
import { type ChartValue, chartValues } from "../../scripts/chart-readme";

const values = chartValues(join(__dirname, "../.."));

it("every value of the chart has a type in its schema, and a comment", () => {
  const lacking = ({ type, about }: ChartValue): boolean => type === "any" || about === "";
  expect(values.filter(lacking)).toEqual([]);
  expect(values.length).toBeGreaterThan(40);
});

it("a value is told by the comment above it, or above its only heading", () => {
  const about = (path: string): string | undefined => values.find(value => value.path === path)?.about;
  expect(about("operator.enabled")).toMatch(/^If disabled, the chart installs only/);
  expect(about("namespace.create")).toMatch(/^Creates the namespace of the release/);
  expect(about("audit.fromCIDRs")).toMatch(/Example: `\[10\.0\.0\.1\/32\]`$/);
});
