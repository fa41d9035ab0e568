import type { Identity } from "../../../core/views";

/** Metadata of an object as the API server sends it. */
export const metadata = {
  name: "scheduler-0",
  namespace: "kai",
  uid: "u1",
  resourceVersion: "7",
  creationTimestamp: "2025-01-01T00:00:00Z",
};

/** What a view keeps of it. */
export const identity: Identity = {
  ...{ namespace: "kai", name: "scheduler-0", uid: "u1", resourceVersion: "7" },
  createdAtMs: Date.parse("2025-01-01T00:00:00Z"),
};
export const { createdAtMs } = identity;
