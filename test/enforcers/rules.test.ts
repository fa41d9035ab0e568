import { expect, it } from "vitest";
import { type Marked, readExpiry, withChange, writeExpiry } from "../../src/remedies/binding-renewal/conventions";
import type { Binding } from "../cluster/client";
import { lives } from "./bindings";
import { deadlinesOf } from "./rules";

// The operator and the enforcers, each by rules of its own.

const LIFE_MS = 60_000;
const CREATED_MS = Date.UTC(2025, 0, 2, 3, 4, 5);

/** What an enforcer sees of a binding. */
function seen({ createdAtMs, labels, annotations }: Marked): Binding {
  const creationTimestamp = new Date(createdAtMs).toISOString();
  const metadata = { name: "a", namespace: "b", uid: "u", creationTimestamp, labels, annotations };
  return { kind: "RoleBinding", metadata, roleRef: { apiGroup: "", kind: "Role", name: "r" } };
}

it.each(lives(LIFE_MS / 1000, CREATED_MS))(
  "$name: the enforcer's deadline is the expiry that the operator reads, and writes in the same convention",
  ({ key, labels = {}, annotations = {} }) => {
    const before = { createdAtMs: CREATED_MS, labels, annotations };
    const { earliest, malformed } = readExpiry(before);
    expect([earliest?.convention.key, earliest?.atMs, malformed]).toEqual([key, CREATED_MS + LIFE_MS, []]);
    expect(deadlinesOf(seen(before))).toEqual([{ key, dueMs: CREATED_MS + LIFE_MS }]);
    const change = writeExpiry(before, earliest!, CREATED_MS + 2 * LIFE_MS)?.change;
    expect(deadlinesOf(seen(withChange(before, change!)))).toEqual([{ key, dueMs: CREATED_MS + 2 * LIFE_MS }]);
  },
);
