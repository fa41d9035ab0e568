import { expect, it } from "vitest";
import { auditArgs, auditPolicy } from "./audit";
import type { LabState } from "./state";

it("records the requests of one user without their bodies, and nothing else", () => {
  expect(auditPolicy("kai")).toMatchObject({ rules: [{ level: "Metadata", users: ["kai"] }, { level: "None" }] });
});

it("is off without a user", () => {
  expect(auditArgs({ name: "mine" } as LabState)).toEqual([]);
});
