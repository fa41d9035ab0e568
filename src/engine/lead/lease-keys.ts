import type { LeaseRecord } from "../../core/ports";
import { formatKeys, type KeyMemory } from "../../core/signing-keys";
import type { LeaseAnnotation } from "./lease-record";

/** The history of the signing keys, an annotation on the Lease: after a rotation the operator itself may have to start again. */
export class LeaseKeys implements LeaseAnnotation {
  readonly #memory: KeyMemory;

  constructor(memory: KeyMemory) {
    this.#memory = memory;
  }

  on(record: LeaseRecord): LeaseRecord {
    const { history } = this.#memory;
    return history === undefined ? record : { ...record, signingKeys: formatKeys(history) };
  }

  seen(record: LeaseRecord | null): void {
    if (record?.signingKeys !== undefined) this.#memory.follow(record.signingKeys);
  }
}
