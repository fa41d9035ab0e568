import { TerminalError } from "../../core/errors";
import { isSameStatus } from "../../core/status";

/**
 * Fields of status that only people and metrics read. The definition of an earlier release may lack them. Any other missing field makes a
 * write fail: without it a budget could be lost.
 */
const FOR_PEOPLE: ReadonlySet<string> = new Set(["recreatedBy", "enforced"]);

/** As the API server names a field in a strict decoding error (k8s.io/apimachinery, pkg/runtime/strict). */
const UNKNOWN_FIELD = /unknown field "([^"]+)"/g;

/**
 * The fields of status that the definitions in the cluster have. Strict validation rejects a field that the schema does not have, instead of
 * dropping it. A field that is only for people is left out then, so that a new version heals under an earlier definition.
 */
export class ServedFields {
  #unserved: ReadonlySet<string> = new Set();

  /** The definitions may have been upgraded. */
  reset(): void {
    this.#unserved = new Set();
  }

  /** Reports whether a status is the present one already, without the fields that are not served. */
  isPresent<Status extends object>(before: Status | undefined, status: Status): boolean {
    return isSameStatus(before, withoutFields(status, this.#unserved));
  }

  /**
   * Writes a status without the fields that are not served. Returns undefined if it is the present one then.
   *
   * @throws any error of `put`
   */
  async put<Status extends object, Written>(
    before: Status | undefined,
    status: Status,
    put: (served: Status) => Promise<Written>,
  ): Promise<Written | undefined> {
    if (this.#unserved.size > 0 && this.isPresent(before, status)) return undefined;
    try {
      return await put(withoutFields(status, this.#unserved));
    } catch (error) {
      const names = unservedFields(error);
      if (names === undefined || names.every(name => this.#unserved.has(name))) throw error;
      this.#unserved = new Set([...this.#unserved, ...names]);
      return this.put(before, status, put);
    }
  }
}

/** Returns the names of the fields that the API server does not know; undefined if that is not why it refused, or if one of them is needed. */
function unservedFields(error: unknown): readonly string[] | undefined {
  if (!(error instanceof TerminalError)) return undefined;
  const names = [...error.message.matchAll(UNKNOWN_FIELD)].map(([, path = ""]) => path.replace(/^.*\./, ""));
  return names.length > 0 && names.every(name => FOR_PEOPLE.has(name)) ? names : undefined;
}

/** Returns the status without the fields of these names. */
function withoutFields<Status extends object>(status: Status, names: ReadonlySet<string>): Status {
  if (names.size === 0) return status;
  const kept = JSON.stringify(status, (name, value: unknown) => (names.has(name) ? undefined : value));
  return JSON.parse(kept) as Status;
}
