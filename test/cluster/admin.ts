import { setTimeout as sleep } from "node:timers/promises";
import { Api } from "../../src/cluster/http/api";
import { Connection } from "../../src/cluster/http/connection";
import { systemClock } from "../../src/cluster/system";
import { loadKubeConfigFile } from "../../src/cluster/testing/kubeconfig";
import type { Lab } from "../lab";

/** User agent of the tests' own requests. */
export const options = { userAgent: "controller-resilience/test" };

/** Reads and writes as an administrator, over one connection. */
export class Admin {
  readonly api: Api;

  constructor(readonly connection: Connection) {
    this.api = new Api(connection, systemClock, options);
  }

  /** The administrator of a lab. */
  static of({ kubeconfigPath }: Pick<Lab, "kubeconfigPath">): Admin {
    return new Admin(new Connection(() => loadKubeConfigFile(kubeconfigPath), systemClock));
  }

  get<T>(path: string): Promise<T> {
    return this.api.json<T>({ what: `GET ${path}`, path });
  }

  create<T>(path: string, body: object): Promise<T> {
    return this.api.json<T>({ what: `POST ${path}`, method: "POST", path, body });
  }

  patch<T>(path: string, body: object): Promise<T> {
    const contentType = "application/merge-patch+json";
    return this.api.json<T>({ what: `PATCH ${path}`, method: "PATCH", path, body, contentType });
  }

  async delete(path: string): Promise<void> {
    await this.api.json({ what: `DELETE ${path}`, method: "DELETE", path });
  }

  /** Waits until a user has a right, which API servers apply after a short delay. */
  async untilAllowed(user: string, right: object): Promise<void> {
    const review = () =>
      this.create<{ status: { allowed: boolean } }>("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        spec: { user, resourceAttributes: right },
      });
    const { status } = await eventually(review, answer => answer.status.allowed);
    if (!status.allowed) throw new Error(`${user} was not given ${JSON.stringify(right)}`);
  }

  /** Creates a namespace for one test file. Without a controller-manager it is never deleted, so names are unique. */
  async namespace(prefix: string): Promise<string> {
    const { metadata } = await this.create<{ metadata: { name: string } }>("/api/v1/namespaces", {
      metadata: { generateName: `${prefix}-` },
    });
    return metadata.name;
  }
}

/** Polls until the value meets a condition; returns the last value, so that a failure shows it. */
export async function eventually<T>(
  read: () => T | Promise<T>,
  hoped: (value: T) => boolean,
  withinMs = 120_000,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await read();
    if (hoped(value) || performance.now() > deadline) return value;
    await sleep(50);
  }
}
