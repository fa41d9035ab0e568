import { describe, expect, it } from "vitest";
import type { Binding } from "../cluster/client";
import { deadlinesOf, dueMs, EXPIRY } from "./rules";

const CREATED = "2024-02-28T12:00:00Z";
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };

function made(metadata: Partial<Binding["metadata"]>, namespace: string | undefined = "team"): Binding {
  const scope = namespace === "" ? {} : { namespace };
  const kind = namespace === "" ? "ClusterRoleBinding" : "RoleBinding";
  return { kind, metadata: { name: "b", uid: "u", creationTimestamp: CREATED, ...scope, ...metadata }, roleRef };
}

function dueBy(key: string, value: string, namespace?: string): string {
  const pairs = { [key]: value };
  const due = dueMs(made(key === EXPIRY.kyverno ? { labels: pairs } : { annotations: pairs }, namespace));
  return due === Infinity ? "never" : new Date(due).toISOString();
}

describe("the rules", () => {
  it.each([
    ["90s", "2024-02-28T12:01:30.000Z"],
    ["15m", "2024-02-28T12:15:00.000Z"],
    ["36h", "2024-03-01T00:00:00.000Z"],
    ["1d", "2024-02-29T12:00:00.000Z"],
    ["2w", "2024-03-13T12:00:00.000Z"],
    ["forever", "never"],
    ["Forever", "never"],
    ["0s", "never"],
    ["1h30m", "never"],
    ["-1h", "never"],
    ["1.5h", "never"],
    [" 1h", "never"],
    ["1y", "never"],
    ["", "never"],
  ])("kube-janitor, janitor/ttl: %j", (value, due) => expect(dueBy(EXPIRY.janitorTtl, value)).toBe(due));

  it.each([
    ["2024-02-29", "2024-02-29T00:00:00.000Z"],
    ["2024-02-29T15:04", "2024-02-29T15:04:00.000Z"],
    ["2024-02-29T15:04:05Z", "2024-02-29T15:04:05.000Z"],
    ["2023-02-29", "never"],
    ["2024-02-29T15:04:05", "never"],
    ["2024-02-29T15:04Z", "never"],
    ["2024-02-29T15:04:05+01:00", "never"],
    ["2024-02-29T24:00", "never"],
    ["tomorrow", "never"],
  ])("kube-janitor, janitor/expires: %j", (value, due) => expect(dueBy(EXPIRY.janitorExpires, value)).toBe(due));

  it.each([
    ["2m", "2024-02-28T12:02:00.000Z"],
    ["1h30m", "2024-02-28T13:30:00.000Z"],
    ["1.5h", "2024-02-28T13:30:00.000Z"],
    ["1d", "2024-02-29T12:00:00.000Z"],
    ["1w", "2024-03-06T12:00:00.000Z"],
    ["1d12h", "2024-03-01T00:00:00.000Z"],
    ["2days", "2024-03-01T12:00:00.000Z"],
    ["0", "2024-02-28T12:00:00.000Z"],
    ["-1h", "2024-02-28T11:00:00.000Z"],
    // Kyverno adds up the whole numbers with a unit, and ignores the rest.
    ["1.5d", "2024-03-04T12:00:00.000Z"],
    ["-1d", "2024-02-29T12:00:00.000Z"],
    ["1M", "2024-02-28T12:01:00.000Z"],
    ["2024-02-29", "2024-02-29T00:00:00.000Z"],
    ["2024-02-29T150405Z", "2024-02-29T15:04:05.000Z"],
    ["2024-02-30", "never"],
    ["2024-02-29T1504Z", "never"],
    ["forever", "never"],
    ["1month", "never"],
    ["60", "never"],
    ["", "never"],
  ])("Kyverno: %j", (value, due) => expect(dueBy(EXPIRY.kyverno, value)).toBe(due));

  it.each([
    [EXPIRY.ownExpiresAt, "2024-02-29T15:04:05Z", "2024-02-29T15:04:05.000Z"],
    [EXPIRY.ownExpiresAt, "2024-02-29T15:04:05-01:30", "2024-02-29T16:34:05.000Z"],
    [EXPIRY.ownExpiresAt, "2024-02-29", "never"],
    [EXPIRY.ownExpiresAt, "2023-02-29T15:04:05Z", "never"],
    [EXPIRY.ownSeconds, "3600", "2024-02-28T13:00:00.000Z"],
    [EXPIRY.ownSeconds, "3600s", "never"],
    [EXPIRY.ownSeconds, "-1", "never"],
    [EXPIRY.ownSeconds, "1e3", "never"],
  ])("this project's own, %s: %j", (key, value, due) => expect(dueBy(key, value)).toBe(due));

  it("use the earlier one of two deadlines", () => {
    const annotations = { [EXPIRY.janitorTtl]: "2h", [EXPIRY.ownSeconds]: "60", [EXPIRY.ownExpiresAt]: "soon" };
    expect(deadlinesOf(made({ annotations })).map(({ key }) => key)).toEqual([EXPIRY.ownSeconds, EXPIRY.janitorTtl]);
  });

  it("distinguish labels from annotations", () => {
    expect(dueMs(made({ annotations: { [EXPIRY.kyverno]: "1m" } }))).toBe(Infinity);
    expect(dueMs(made({ labels: { [EXPIRY.ownSeconds]: "60" } }))).toBe(Infinity);
  });

  it("kube-janitor ignores cluster-scoped bindings, Kyverno does not", () => {
    const ways = [EXPIRY.janitorTtl, EXPIRY.kyverno].map(key => dueBy(key, "60s", ""));
    expect(ways).toEqual(["never", "2024-02-28T12:01:00.000Z"]);
  });
});
