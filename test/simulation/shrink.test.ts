import { expect, it } from "vitest";
import { shrink } from "./shrink";
import { generate } from "./world/generate";

it("keeps only what a plan needs to fail", async () => {
  const plan = generate(11, "bad-day");
  expect(plan.happenings.length).toBeGreaterThan(6);
  const [first, last] = [plan.happenings[1]!, plan.happenings.at(-1)!];
  const workload = plan.workloads.at(-1)!;
  let tries = 0;
  const smallest = await shrink(plan, ({ happenings, workloads }) => {
    tries++;
    return Promise.resolve(happenings.includes(first) && happenings.includes(last) && workloads.includes(workload));
  });
  expect(smallest).toMatchObject({ happenings: [first, last], workloads: [workload], servers: 1, bindings: [] });
  expect(smallest.objects).toHaveLength(1);
  expect(tries).toBeLessThanOrEqual(200);
});
