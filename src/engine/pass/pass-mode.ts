import type { ControllerResilience } from "../../api/controller-resilience";
import { STORE_DEADLINE_MS, withDeadline } from "../../core/deadline";
import { ForbiddenError } from "../../core/errors";
import type { Mode } from "../../core/mode";
import type { Readers } from "../../core/readers";

/** The operator's own mode, which wins over every object's. */
export type OperatorMode = ControllerResilience["spec"]["mode"];

/**
 * Returns the mode of an object in this pass. Without the right to read its Namespace, the skip annotation there is unknown and counts as
 * absent.
 *
 * @throws any other error of the reader
 */
export async function passMode(
  { spec, metadata: { namespace } }: ControllerResilience,
  operatorMode: OperatorMode,
  readers: Pick<Readers, "clock" | "namespace">,
): Promise<Mode> {
  if (operatorMode === "Observe") return "OperatorObserves";
  // After a rollback it may be one that only the later version knows, and unknown means no action.
  if (spec.mode !== "Enforce") return "Observe";
  if (spec.suspend) return spec.mode;
  try {
    const what = "reading the Namespace";
    const view = await withDeadline(readers.clock, STORE_DEADLINE_MS, what, () => readers.namespace(namespace));
    return view?.skip === true ? "NamespaceSkipped" : "Enforce";
  } catch (error) {
    if (error instanceof ForbiddenError) return "Enforce";
    throw error;
  }
}
