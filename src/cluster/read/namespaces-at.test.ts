import { expect, it } from "vitest";
import { TransientError } from "../../core/errors";
import type { PodView } from "../../core/views";
import { namespacesAt } from "./namespaces-at";

it("finds the watched namespaces of addresses, and skips those whose pods are not known", async () => {
  const pods: Record<string, readonly Partial<PodView>[]> = {
    a: [{ addresses: ["10.0.0.1", "fd00::1"] }],
    b: [{ addresses: ["10.0.0.2"] }, {}],
    c: [{ addresses: ["10.0.0.3"] }],
  };
  const caches = {
    namespaces: () => ["a", "b", "c", "slow"],
    pods: (name: string) => {
      const known = pods[name] as readonly PodView[] | undefined;
      return known === undefined ? Promise.reject(new TransientError("slow")) : Promise.resolve(known);
    },
  };
  expect(await namespacesAt(new Set(["10.0.0.2", "fd00::1"]), caches)).toEqual(["a", "b"]);
});
