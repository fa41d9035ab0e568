import type { ControllerResilienceStatus } from "../../api/controller-resilience";
import { TerminalError } from "../../core/errors";

/**
 * Fields of status that only people and metrics read. The definition of an earlier release may lack them. Any other missing field makes a
 * write fail: without it a budget could be lost.
 */
const TOLD_ONLY: ReadonlySet<string> = new Set(["recreatedBy"]);

/** As the API server names a field in a strict decoding error (k8s.io/apimachinery, pkg/runtime/strict). */
const UNKNOWN_FIELD = /unknown field "([^"]+)"/g;

/** Returns the names of the fields that the API server does not know; undefined if that is not why it refused, or if one of them is needed. */
export function unservedFields(error: unknown): readonly string[] | undefined {
  if (!(error instanceof TerminalError)) return undefined;
  const names = [...error.message.matchAll(UNKNOWN_FIELD)].map(([, path = ""]) => path.replace(/^.*\./, ""));
  return names.length > 0 && names.every(name => TOLD_ONLY.has(name)) ? names : undefined;
}

/** Returns the status without the fields of these names. */
export function withoutFields(
  status: ControllerResilienceStatus,
  names: ReadonlySet<string>,
): ControllerResilienceStatus {
  if (names.size === 0) return status;
  const kept = JSON.stringify(status, (name, value: unknown) => (names.has(name) ? undefined : value));
  return JSON.parse(kept) as ControllerResilienceStatus;
}
