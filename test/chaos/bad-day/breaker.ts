import { BREAKER_ANNOTATION } from "../../../src/api/names";
import { LEASE } from "../rig";
import type { Scene } from "../scenario";

/** Why the restart breaker is tripped; undefined if it is not. */
export async function trippedBy({ admin }: Pick<Scene, "admin">): Promise<string | undefined> {
  const lease = await admin.get<{ metadata: { annotations?: Record<string, string> } }>(LEASE);
  return lease.metadata.annotations?.[BREAKER_ANNOTATION];
}

/** Resets it, as docs/reliability.md says. */
export async function resetBreaker({ admin }: Pick<Scene, "admin">): Promise<void> {
  await admin.patch(LEASE, { metadata: { annotations: { [BREAKER_ANNOTATION]: null } } });
}
