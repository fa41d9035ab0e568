import { expect, it } from "vitest";
import { unfollowedKinds } from "./handlers";

it.each([
  [
    "the one whose name says most",
    ["cert", "cert-manager", "cert-manager-webhook"],
    "cert-manager-certificates-readiness",
    ["cert-manager"],
  ],
  ["nobody where only a part of a word fits", ["cert-manager"], "cert-managers", []],
  ["nobody where a name is only a part", ["cert-manager"], "manager", []],
  ["nobody where two fit", ["cert-manager", "other/cert-manager"], "cert-manager", []],
])("the workload that writes the status of a kind is %s", (_, names, writer, expected) => {
  const users = names.map(name =>
    name.includes("/") ? name.replace("/", "/Deployment/") : `infra/Deployment/${name}`,
  );
  const found = unfollowedKinds([{ apiVersion: "c.io/v1", kind: "C", writers: [writer] }], [{ users, followed: [] }]);
  expect(found.map(({ workload }) => workload)).toEqual(expected.map(name => `infra/Deployment/${name}`));
});
