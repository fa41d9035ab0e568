import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import type { Lab } from "../lab";
import { startBound, stopChild } from "../lab/commands";

/** The fields that every object has. */
export interface Kept {
  readonly metadata: { readonly name: string; readonly uid: string; readonly generation?: number };
}

/** A change of an object, as reported by the API server. */
export interface Change<T extends Kept> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: T;
  /** When this was received. */
  readonly heardMs: number;
}

/** All objects and changes of a collection, as the API server reports them. Unlike polling, a watch has no gaps. */
export class Journal<T extends Kept> {
  private readonly heard: Change<T>[] = [];
  private trouble = "";
  private isStopping = false;

  private constructor(
    private readonly path: string,
    private readonly child: ChildProcess,
  ) {
    if (child.stdout) createInterface({ input: child.stdout }).on("line", line => this.take(line));
    child.stderr?.on("data", (chunk: Buffer) => (this.trouble += chunk.toString()));
    child.on("error", error => (this.trouble += error.message));
  }

  /** Starts a watch, at a path such as /api/v1/namespaces/default/pods. */
  static start<T extends Kept>(lab: Lab, path: string): Journal<T> {
    const url = `${path}${path.includes("?") ? "&" : "?"}watch=true&timeoutSeconds=3600`;
    return new Journal<T>(path, startBound(["kubectl", "get", "--raw", url], { env: lab.environment }));
  }

  /** All changes in order; throws if some may have been missed. */
  changes(): readonly Change<T>[] {
    if (!this.isStopping && this.child.exitCode === null && this.child.signalCode === null) return this.heard;
    throw new Error(`the watch of ${this.path} has ended: ${this.trouble.trim()}`);
  }

  /** Every object so far, in its last state. */
  objects(): T[] {
    return [...new Map(this.changes().map(({ object }) => [object.metadata.uid, object])).values()];
  }

  /** Stops the watch and its process. */
  stop(): Promise<void> {
    this.isStopping = true;
    return stopChild(this.child);
  }

  private take(line: string): void {
    const { type, object } = JSON.parse(line) as { type: Change<T>["type"] | "ERROR"; object: T };
    if (type !== "ERROR") {
      this.heard.push({ type, object, heardMs: Date.now() });
      return;
    }
    this.trouble += line;
    this.child.kill();
  }
}
