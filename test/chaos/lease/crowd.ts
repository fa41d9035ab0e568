import { setTimeout as sleep } from "node:timers/promises";
import { Api } from "../../../src/cluster/http/api";
import { Connection } from "../../../src/cluster/http/connection";
import { loadKubeConfigFile } from "../../../src/cluster/testing/kubeconfig";
import { systemClock } from "../../../src/cluster/system";
import { ConflictError, WaitError } from "../../../src/core/errors";
import type { Admin } from "../../cluster/admin";
import type { Lab } from "../../lab";

/** Names of these leaders in each of their namespaces. */
export const CROWD = "crowd";

/** A leader renews again right after an answer, and after this time if there was none; in milliseconds. */
const PAUSE_MS = 20;
/** The process exits after this time, even if its parent is gone; in milliseconds. */
const MAX_MS = 240_000;
/** Longer than a request waits in a queue of the API server, in milliseconds. */
const DEADLINE_MS = 20_000;

/** Dozens of leaders that renew their own Leases without pause. Each makes as many requests as a hundred leaders that renew every two seconds. */
export class Crowd {
  answered = 0;
  refused = 0;
  readonly #connection: Connection;
  readonly #api: Api;
  #isOver = false;
  readonly #members: Promise<void>[];

  private constructor(kubeconfig: string, leases: string, size: number) {
    this.#connection = new Connection(() => loadKubeConfigFile(kubeconfig), systemClock);
    this.#api = new Api(this.#connection, systemClock, {
      userAgent: "controller-resilience/test",
      maxConcurrent: size,
      deadlineMs: DEADLINE_MS,
    });
    const endsAtMs = performance.now() + MAX_MS;
    this.#members = Array.from({ length: size }, (_, i) => this.#renew(`${leases}/${CROWD}-${i}`, endsAtMs));
  }

  /** Starts this many leaders, in their own namespaces. */
  static async gather(lab: Lab, admin: Admin, namespace: string, size: number): Promise<Crowd> {
    const metadata = { name: CROWD };
    await admin.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata });
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
    const rules = [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["patch"] }];
    await admin.create(`${rbac}/roles`, { metadata, rules });
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: CROWD };
    const subjects = [{ kind: "ServiceAccount", name: CROWD, namespace }];
    await admin.create(`${rbac}/rolebindings`, { metadata, roleRef, subjects });
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    for (let i = 0; i < size; i++) await admin.create(leases, { metadata: { name: `${CROWD}-${i}` }, spec: {} });
    return new Crowd(await lab.serviceAccountKubeconfig(namespace, CROWD), leases, size);
  }

  async disperse(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#members);
    this.#connection.close();
  }

  async #renew(path: string, endsAtMs: number): Promise<void> {
    while (!this.#isOver && performance.now() < endsAtMs) {
      const renewTime = new Date().toISOString().replace("Z", "000Z");
      const contentType = "application/merge-patch+json";
      const request = { what: "renew", method: "PATCH", path, contentType, body: { spec: { renewTime } } } as const;
      await this.#api.json(request).then(
        () => void this.answered++,
        (error: unknown) => this.#bear(error),
      );
    }
  }

  /** Any other error is an unrelated failure of the API server, and no refusal. */
  async #bear(error: unknown): Promise<void> {
    if (error instanceof WaitError) this.refused++;
    if (!(error instanceof ConflictError)) await sleep(PAUSE_MS);
  }
}
