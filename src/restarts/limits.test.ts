import { expect, it } from "vitest";
import { Cause } from "../api/conditions";
import type { RestartStatus } from "../api/controller-resilience";
import { checkRestartBudget } from "./history";
import { isExhausted } from "./limits";

const HOUR = 3_600_000;

/** Restarts that do not help, each as soon as the budget allows it, in a month. */
function restartsInVain(cooldownMs: number, maxRestarts: number, cause: Cause): number {
  const history: RestartStatus[] = [];
  for (let hour = 0; hour < 24 * 30; hour++) {
    const now = new Date(hour * HOUR);
    const pod = { workload: "Deployment/web", pod: `web-${hour}`, podUID: `uid-${hour}`, cause };
    const claim = { ...pod, newestPodMs: 0, limits: { cooldownMs, maxRestarts } };
    if (isExhausted(claim, history, now)) break;
    if (checkRestartBudget(history, claim, now) === undefined)
      history.push({ ...pod, time: now.toISOString(), outcome: "Ineffective" });
  }
  return history.length;
}

it.each([
  [HOUR / 6, 3, Cause.SigningKeyRotated, 3],
  [5 * HOUR, 3, Cause.SigningKeyRotated, 3],
  [HOUR, 6, Cause.SigningKeyRotated, 6],
  [HOUR / 6, 20, Cause.SigningKeyRotated, 20],
  [12 * HOUR, 3, Cause.Unknown, 2],
  [24 * HOUR, 3, Cause.LeaseNotRenewed, 2],
] as const)("restarts in vain end, with cooldown %d ms", (cooldownMs, maxRestarts, cause, most) => {
  expect(restartsInVain(cooldownMs, maxRestarts, cause)).toBe(most);
});
