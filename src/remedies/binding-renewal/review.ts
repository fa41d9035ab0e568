import { withDeadline } from "../../core/deadline";
import { publicMessage, ResilienceError, UnauthorizedError } from "../../core/errors";
import type { Readers, Right } from "../../core/readers";
import type { BindingView } from "../../core/views";
import type { LivingBinding } from "./observed";
import type { rightsFor } from "./rights";
import { excessOf } from "./role";

/** Returns what the review of a binding's rights needs. */
export function withNamespace({ kind, namespace, name, roleRef }: BindingView): Parameters<typeof rightsFor>[0] {
  return { kind, name, roleRef, ...(namespace === "" ? {} : { namespace }) };
}

/** Rights that a write of a binding needs and the operator lacks, and what its role allows too much; or why neither is known. */
export type Reviewed = Pick<LivingBinding, "lacks" | "excess" | "unread">;

/** Time for the review of one binding. It leaves time for the others: one role that does not answer must not end the whole observation. */
const REVIEW_DEADLINE_MS = 25_000;

/**
 * Reviews the needed rights, if there are any, and with them the role. A failed read delays only this binding.
 *
 * @throws UnauthorizedError if the API server rejects the operator itself
 */
export async function reviewed(
  needs: readonly Right[],
  binding: Parameters<typeof rightsFor>[0],
  readers: Readers,
): Promise<Reviewed> {
  if (needs.length === 0) return { lacks: [] };
  try {
    const review = (): Promise<Reviewed> => reviewNow(needs, binding, readers);
    return await withDeadline(readers.clock, REVIEW_DEADLINE_MS, "the read", review);
  } catch (error) {
    if (!(error instanceof ResilienceError) || error instanceof UnauthorizedError) throw error;
    return { lacks: [], unread: publicMessage(error) };
  }
}

async function reviewNow(
  needs: readonly Right[],
  { kind, namespace = "", roleRef }: Parameters<typeof rightsFor>[0],
  readers: Readers,
): Promise<Reviewed> {
  const lacks = await missing(needs, readers);
  if (lacks.length > 0 || roleRef === undefined) return { lacks };
  const role = await readers.role(roleRef.kind === "Role" ? "Role" : "ClusterRole", namespace, roleRef.name);
  const excess = role === null ? undefined : excessOf(role.rules, kind);
  return { lacks, ...(excess === undefined ? {} : { excess }) };
}

async function missing(rights: readonly Right[], readers: Readers): Promise<Right[]> {
  const answers = await Promise.all(rights.map(right => readers.may(right)));
  return rights.filter((_, i) => answers[i] !== true);
}
