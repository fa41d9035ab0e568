import { describe, expect, it } from "vitest";
import type { LabState } from "./state";
import { age, renderStatus } from "./status";

const lab: LabState = {
  name: "mine",
  id: "0123456789abcdef",
  kind: "control-plane",
  index: 2,
  phase: "ready",
  createdAt: "2026-01-01T00:00:00Z",
  version: "v1.36.3",
  cgroup: "",
  link: "",
  extraApiServerArgs: [],
  signingKey: 1,
  kwokNodes: 0,
  kwokConfigs: [],
};
const now = new Date("2026-01-01T01:00:00Z");

describe("renderStatus", () => {
  it("shows the version, the URL, and the state of each component", () => {
    const since = new Date("2026-01-01T00:59:30Z");
    const text = renderStatus(lab, [{ component: "etcd", pid: 12, state: "ended", since, log: "/logs/etcd.log" }], now);
    expect(text).toContain("mine: Kubernetes v1.36.3, control plane only, https://127.0.0.1:21020");
    expect(text).toMatch(/COMPONENT +PID +STATE +FOR +LOG FILE\s+etcd +12 +ended +30s +etcd\.log/);
  });

  it("reports an interrupted start", () => {
    expect(renderStatus({ ...lab, phase: "creating" }, [], now)).toContain(
      "its start was interrupted, or is still in progress",
    );
  });
});

describe("age", () => {
  it.each([
    [5, "5s"],
    [119, "119s"],
    [150, "2m30s"],
    [3600, "60m"],
    [4 * 3600, "4h"],
    [72 * 3600, "3d"],
    [-3, "0s"],
  ])("of %i s is %s", (seconds, expected) => {
    expect(age(new Date(now.getTime() - seconds * 1000), now)).toBe(expected);
  });
});
