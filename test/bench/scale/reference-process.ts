import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { startBound, stopChild } from "../../lab/commands";
import { type GoProgram } from "../../lab/go-build";

/** A controller with controller-runtime that does what the operator does for an object without a target. */
export const REFERENCE: GoProgram = {
  name: "controller-runtime-reference",
  version: "v0.24.1",
  sources: join(__dirname, "reference"),
  package: ".",
  ldflags: "-s -w",
};

interface ReferenceOptions {
  /** The path of the built program. */
  readonly program: string;
  readonly kubeconfig: string;
  readonly namespaces: readonly string[];
  /** The operator's Lease, whose rights this program uses. */
  readonly lease: { readonly namespace: string; readonly name: string };
}

/** The process that the operator is compared with. */
export class ReferenceProcess {
  readonly #child: ChildProcess;
  #ended = false;
  #errors = "";

  constructor({ program, kubeconfig, namespaces, lease }: ReferenceOptions) {
    const args = [
      `--kubeconfig=${kubeconfig}`,
      `--namespaces=${namespaces.join(",")}`,
      `--lease-namespace=${lease.namespace}`,
      `--lease-name=${lease.name}`,
    ];
    this.#child = startBound([program, ...args], { stdio: ["ignore", "ignore", "pipe"] });
    this.#child.stderr?.on("data", (chunk: Buffer) => (this.#errors = (this.#errors + chunk.toString()).slice(-2_000)));
    this.#child.on("exit", () => (this.#ended = true));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** @throws Error with the end of its log if it has ended */
  mustRun(): void {
    if (this.#ended) throw new Error(`the reference ended: ${this.#errors}`);
  }

  /** Stops it with SIGTERM, and after 10 s with SIGKILL. */
  stop(): Promise<void> {
    return stopChild(this.#child);
  }
}
