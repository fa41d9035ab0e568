import { describeError } from "../../core/errors";
import type { Log } from "../../core/ports";

/** Reports namespaces in the next microtask: a list of thousands of objects then reports a namespace once per slice. */
export class NamespaceReports {
  /** Called with each reported namespace. */
  readonly handlers = new Set<(namespace: string) => void>();
  readonly #log: Log;
  readonly #changed = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  report(namespace: string): void {
    if (this.handlers.size === 0) return;
    if (this.#changed.size === 0) queueMicrotask(() => this.#deliver());
    this.#changed.add(namespace);
  }

  #deliver(): void {
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const namespace of changed) for (const handler of this.handlers) this.#call(handler, namespace);
  }

  #call(handler: (namespace: string) => void, namespace: string): void {
    try {
      handler(namespace);
    } catch (error) {
      this.#log.error({ namespace, error: describeError(error) }, "namespace change handler threw");
    }
  }
}
