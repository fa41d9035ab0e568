import { expect, it } from "vitest";
import { CHOICES } from "../api/generated/choices";
import { explainUnknown, unknownTargets, unknownValues } from "./remedy";

const targets = [{ kind: "Deployment", name: "web" }];

it("finds no fault with known values, and with absent fields", () => {
  expect(CHOICES.length).toBeGreaterThan(5);
  expect(unknownValues({ targets, tokenRestart: { evidence: ["Logs"] } }, "tokenRestart")).toEqual([]);
  expect(unknownValues({ targets, stallDetection: { onStall: "Restart" } }, "stallDetection")).toEqual([]);
  expect(unknownValues({ targets, tokenRestart: {}, bindingRenewal: null }, "bindingRenewal")).toEqual([]);
  expect(unknownValues({}, "tokenRestart")).toEqual([]);
});

it("finds an unknown value of the block, also in a list", () => {
  const spec = { targets, tokenRestart: { evidence: ["Logs", "Later"] }, stallDetection: { onStall: "Later" } };
  expect(unknownValues(spec, "tokenRestart")).toEqual([
    'found "Later" in tokenRestart.evidence[], expected Logs or ServiceAccountAge or SandboxEvents',
  ]);
  expect(unknownValues(spec, "stallDetection")).toEqual([
    'found "Later" in stallDetection.onStall, expected Report or Restart',
  ]);
});

it("finds an unknown kind of target", () => {
  const spec = { targets: [...targets, { kind: "CronJob", name: "web" }], tokenRestart: {} };
  const found = ['found "CronJob" in targets[].kind, expected Deployment or StatefulSet or DaemonSet'];
  expect(unknownValues(spec, "tokenRestart")).toEqual(found);
  expect(unknownTargets(spec)).toEqual(found);
  expect(explainUnknown(found)).toBe(
    `${found.join("")}. This version of the operator does not know it: run one that does, or change the spec.`,
  );
});

it("shows the beginning of a long value", () => {
  const spec = { targets, stallDetection: { onStall: "x".repeat(100) } };
  expect(unknownValues(spec, "stallDetection")[0]).toBe(
    `found "${"x".repeat(39)} in stallDetection.onStall, expected Report or Restart`,
  );
});
