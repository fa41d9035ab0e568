import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import { Api } from "../../src/cluster/api";
import { Connection, loadKubeConfigFile } from "../../src/cluster/connection";
import { systemClock } from "../../src/cluster/system";
import type { ClusterMetrics, Log } from "../../src/core/ports";

/** User agent of these tests. */
export const options = { userAgent: "controller-resilience/test" };

/** A connection with an administrator's rights. */
export function adminConnection(): Connection {
  return new Connection(() => loadKubeConfigFile(inject("adminKubeconfig")), systemClock);
}

/** An administrator's hands. */
export class Admin {
  readonly connection = adminConnection();
  readonly api = new Api(this.connection, systemClock, options);

  get<T>(path: string): Promise<T> {
    return this.api.json<T>({ what: `GET ${path}`, path });
  }

  create<T>(path: string, body: object): Promise<T> {
    return this.api.json<T>({ what: `POST ${path}`, method: "POST", path, body });
  }

  patch<T>(path: string, body: object): Promise<T> {
    return this.api.json<T>({
      what: `PATCH ${path}`,
      method: "PATCH",
      path,
      body,
      contentType: "application/merge-patch+json",
    });
  }

  async delete(path: string): Promise<void> {
    await this.api.json({ what: `DELETE ${path}`, method: "DELETE", path });
  }

  /** A namespace of its own for one test file; without a controller-manager it is never collected, so names are unique. */
  async namespace(prefix: string): Promise<string> {
    const { metadata } = await this.create<{ metadata: { name: string } }>("/api/v1/namespaces", {
      metadata: { generateName: `${prefix}-` },
    });
    return metadata.name;
  }
}

/** Polls until the value is what is hoped for; returns the last value, so that a failure shows what it was. */
export async function eventually<T>(
  read: () => T | Promise<T>,
  hoped: (value: T) => boolean,
  withinMs = 20_000,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await read();
    if (hoped(value) || performance.now() > deadline) return value;
    await sleep(50);
  }
}

/** A logger that keeps warnings and errors. */
export function keepingLog(): Log & { readonly kept: { fields: object; message: string }[] } {
  const kept: { fields: object; message: string }[] = [];
  const keep = (fields: object, message: string): void => void kept.push({ fields, message });
  const log = { debug: () => undefined, info: () => undefined, warn: keep, error: keep, child: () => log, kept };
  return log;
}

/** Metrics that keep what was counted. */
export function keepingMetrics(): ClusterMetrics & { readonly counted: string[] } {
  const counted: string[] = [];
  return {
    counted,
    watchEnded: (_, reason) => void counted.push(`ended ${reason}`),
    relisted: () => void counted.push("relisted"),
    watchAge: () => undefined,
    logRead: result => void counted.push(`log ${result}`),
    eventLost: () => void counted.push("event lost"),
  };
}
