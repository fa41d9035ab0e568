import { expect, it } from "vitest";
import type { BindingRenewalSpec, BindingStatus } from "../../api/controller-resilience";
import { readExpiry } from "./conventions";
import { planRenewal, planRestore, scheduleOf } from "./schedule";

const SECONDS = "controller-resilience.io/expiration-seconds";
const JANITOR = "janitor/ttl";
const NOW_MS = Date.parse("2025-01-01T00:00:00.001Z");
const SPEC: BindingRenewalSpec = {
  bindings: [],
  warnBefore: "1m",
  renewBefore: "30s",
  extendBy: "",
  restoreExpired: true,
};

/** The value with which a binding is recreated, for an expiry relative to creation, and the renewal that would follow immediately. */
function plans(key: string, value: string, lifeSeconds: number, untilSeconds: number) {
  const record = { labels: {}, annotations: { [key]: value }, lifeSeconds } as unknown as BindingStatus;
  const bounds = { nowMs: NOW_MS, latestMs: NOW_MS + untilSeconds * 1000 };
  const restored = planRestore(record, SPEC, bounds);
  const annotations = { [key]: restored?.changes[0]?.value ?? "" };
  const marked = { createdAtMs: Math.floor(NOW_MS / 1000) * 1000, labels: {}, annotations };
  const expiry = readExpiry(marked);
  const schedule = scheduleOf(marked, expiry, SPEC, { ...record, renewedUntil: "once" });
  const isDue = schedule !== undefined && schedule.renewAtMs <= NOW_MS;
  return { restored: annotations[key], renewed: isDue ? planRenewal(marked, expiry, schedule, bounds) : undefined };
}

it.each([
  [SECONDS, "6", 6, 600, "6"],
  [SECONDS, "6", 6, 68, "6"],
  [SECONDS, "6", 6, 64, "4"],
  // Two seconds would be due immediately, and a renewal could make six of them as soon as the binding exists.
  [SECONDS, "6", 6, 62, ""],
  [SECONDS, "600", 600, 1_000, "600"],
  [SECONDS, "600", 600, 120, "60"],
  [SECONDS, "600", 600, 62, "2"],
  [JANITOR, "12h", 43_200, 50_000, "12h"],
  // In minutes it would end 90 s before renewUntil, enough for another renewal.
  [JANITOR, "12h", 43_200, 14_010, "13950s"],
])(
  "a binding with %s %s and a life of %d s, %d s before renewUntil, gets %s and is not renewed immediately",
  (...given) => {
    const [key, value, lifeSeconds, untilSeconds, expected] = given;
    expect(plans(key, value, lifeSeconds, untilSeconds)).toEqual({ restored: expected, renewed: undefined });
  },
);
