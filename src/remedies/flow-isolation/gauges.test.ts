import { expect, it } from "vitest";
import { RATE } from "./gauges";

it("shows the rate of each measured ServiceAccount", () => {
  const flows = [{ serviceAccount: "kai", requestsPerSecond: 12.5 }, { serviceAccount: "new" }] as never;
  expect(RATE.samples("kai/a", { flows })).toEqual([
    { labels: { namespace: "kai", service_account: "kai" }, value: 12.5 },
  ]);
  expect(RATE.samples("kai/a", {})).toEqual([]);
});
