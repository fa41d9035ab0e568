import type { ClusterClient } from "../cluster/client";
import type { Artifacts } from "./artifacts";

/** The fields of a Kustomization that tests use. */
export interface Kustomization {
  readonly status?: {
    readonly lastAppliedRevision?: string;
    readonly lastAttemptedRevision?: string;
    readonly lastHandledReconcileAt?: string;
    readonly inventory?: { readonly entries?: readonly { readonly id: string }[] };
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

/** Where a story takes place. */
interface Stage {
  readonly client: ClusterClient;
  readonly artifacts: Artifacts;
}

const API = "kustomize.toolkit.fluxcd.io";
/** Marks the reconciliations that a test asks for. */
const REQUESTED = "reconcile.fluxcd.io/requestedAt";

/** The objects of a source, and the Kustomization that applies them, both with the name of their namespace: with health checks, and pruning. */
export class FluxStory {
  private constructor(
    private readonly stage: Stage,
    readonly name: string,
  ) {}

  /** @param spec what a test adds to the spec of the Kustomization */
  static async begin(
    stage: Stage,
    name: string,
    objects: readonly object[],
    spec: Readonly<Record<string, unknown>> = {},
  ): Promise<FluxStory> {
    await stage.client.createNamespace(name);
    await stage.artifacts.publish(name, name, objects);
    const kustomization = {
      ...{ apiVersion: `${API}/v1`, kind: "Kustomization", metadata: { namespace: name, name } },
      spec: {
        ...{ interval: "10s", retryInterval: "5s", timeout: "2m", path: "./", prune: true, wait: true },
        sourceRef: { kind: "GitRepository", name },
        ...spec,
      },
    };
    await stage.client.apply([kustomization]);
    return new FluxStory(stage, name);
  }

  /** Replaces the content of the source. Returns its revision. */
  commit(objects: readonly object[]): Promise<string> {
    return this.stage.artifacts.publish(this.name, this.name, objects);
  }

  /** Replaces the content of the source, and waits until it is applied and healthy. */
  async apply(objects: readonly object[], timeoutMs?: number): Promise<void> {
    const revision = await this.commit(objects);
    await this.until(
      `applied and ready at ${revision}`,
      ({ status }) => status?.lastAppliedRevision === revision && isReady(status),
      timeoutMs,
    );
  }

  /** Waits until the Kustomization is Ready. */
  async untilReady(timeoutMs?: number): Promise<Kustomization> {
    return this.until("Ready", ({ status }) => isReady(status), timeoutMs);
  }

  /** Waits until the last reconciliation has failed for this reason; returns its message. */
  async untilFailed(reason: string, text: string, timeoutMs?: number): Promise<string> {
    const { status } = await this.until(
      `not Ready: ${reason}, ${text}`,
      one => {
        const ready = readyOf(one.status);
        return ready?.status === "False" && ready.reason === reason && ready.message.includes(text);
      },
      timeoutMs,
    );
    return readyOf(status)?.message ?? "";
  }

  /** Has the controller apply the source again and again. */
  async reconcile(rounds = 3): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      const at = new Date().toISOString();
      await this.stage.client.output([...this.of("annotate"), "--overwrite", `${REQUESTED}=${at}`]);
      await this.until("reconciled", ({ status }) => status?.lastHandledReconcileAt === at);
    }
  }

  /** Deletes the Kustomization, and with it what it has applied. */
  async remove(): Promise<void> {
    await this.stage.client.output([...this.of("delete"), "--timeout=120s"]);
  }

  /** Waits until the Kustomization meets a condition; a failure says what the controller said last. */
  private until(what: string, holds: (one: Kustomization) => boolean, timeoutMs = 180_000): Promise<Kustomization> {
    return this.stage.client.until(
      `Kustomization ${this.name} to be ${what}`,
      async () => {
        const one = JSON.parse(await this.stage.client.output([...this.of("get"), "-o", "json"])) as Kustomization;
        if (holds(one)) return one;
        const conditions = one.status?.conditions ?? [];
        throw new Error(
          conditions.map(({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`).join("; "),
        );
      },
      timeoutMs,
    );
  }

  private of(verb: string): string[] {
    return [verb, `kustomizations.${API}`, this.name, "-n", this.name];
  }
}

type Status = Kustomization["status"];

const readyOf = (status: Status) => status?.conditions?.find(({ type }) => type === "Ready");
const isReady = (status: Status): boolean => readyOf(status)?.status === "True";
