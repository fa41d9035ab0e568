import type { Readers, Right } from "../../core/readers";
import type { BindingView } from "../../core/views";
import type { LivingBinding } from "./observed";
import type { rightsFor } from "./rights";
import { excessOf } from "./role";

/** Returns what the review of a binding's rights needs. */
export function withNamespace({ kind, namespace, name, roleRef }: BindingView): Parameters<typeof rightsFor>[0] {
  return { kind, name, roleRef, ...(namespace === "" ? {} : { namespace }) };
}

/** Rights that a write of a binding needs and the operator lacks, and what its role allows too much. */
export type Reviewed = Pick<LivingBinding, "lacks" | "excess">;

/** Reviews the needed rights, if there are any, and with them the role. */
export async function reviewed(
  needs: readonly Right[],
  binding: Parameters<typeof rightsFor>[0],
  readers: Readers,
): Promise<Reviewed> {
  const lacks = await missing(needs, readers);
  const { kind, namespace = "", roleRef } = binding;
  if (needs.length === 0 || lacks.length > 0 || roleRef === undefined) return { lacks };
  const role = await readers.role(roleRef.kind === "Role" ? "Role" : "ClusterRole", namespace, roleRef.name);
  const excess = role === null ? undefined : excessOf(role.rules, kind);
  return { lacks, ...(excess === undefined ? {} : { excess }) };
}

async function missing(rights: readonly Right[], readers: Readers): Promise<Right[]> {
  const answers = await Promise.all(rights.map(right => readers.may(right)));
  return rights.filter((_, i) => answers[i] !== true);
}
