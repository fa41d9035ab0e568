import type { ClusterClient } from "../cluster/client";

/** The fields of a status that all of Flux's objects have, of those that tests use. */
export interface FluxStatus {
  readonly lastHandledReconcileAt?: string;
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
  }[];
}

/** Asks for a reconciliation, as `flux reconcile` does. */
const REQUESTED = "reconcile.fluxcd.io/requestedAt";

/** An object that one of Flux's controllers reconciles, with the name of its namespace. */
export class FluxObject<Status extends FluxStatus> {
  constructor(
    private readonly client: ClusterClient,
    private readonly kind: { readonly apiVersion: string; readonly kind: string },
    private readonly name: string,
  ) {}

  async create(spec: object): Promise<void> {
    await this.client.apply([{ ...this.kind, metadata: { namespace: this.name, name: this.name }, spec }]);
  }

  /** Changes some fields of its spec. */
  async change(spec: object): Promise<void> {
    await this.client.output([...this.of("patch"), "--type=merge", "-p", JSON.stringify({ spec })]);
  }

  /** Deletes it, and with it what it has applied. */
  async remove(): Promise<void> {
    await this.client.output([...this.of("delete"), "--timeout=120s"]);
  }

  /** Has its controller reconcile it again and again. */
  async reconcile(rounds = 3): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      const at = new Date().toISOString();
      await this.client.output([...this.of("annotate"), "--overwrite", `${REQUESTED}=${at}`]);
      await this.until("reconciled", ({ lastHandledReconcileAt }) => lastHandledReconcileAt === at);
    }
  }

  /** Waits until its status meets a condition; a failure says what its controller said last. */
  until(what: string, holds: (status: Status) => boolean, timeoutMs = 180_000): Promise<Status> {
    return this.client.until(
      `${this.kind.kind} ${this.name} to be ${what}`,
      async () => {
        const { status = {} as Status } = await this.client.json<{ readonly status?: Status }>(this.of("get"));
        if (holds(status)) return status;
        throw new Error(describe(status));
      },
      timeoutMs,
    );
  }

  untilReady(timeoutMs?: number): Promise<Status> {
    return this.until("Ready", isReady, timeoutMs);
  }

  /** Waits until the last reconciliation has failed for this reason; returns its message. */
  async untilFailed(reason: string, text: string, timeoutMs?: number): Promise<string> {
    const status = await this.until(
      `not Ready: ${reason}, ${text}`,
      one => {
        const ready = readyOf(one);
        return ready?.status === "False" && ready.reason === reason && ready.message.includes(text);
      },
      timeoutMs,
    );
    return readyOf(status)?.message ?? "";
  }

  private of(verb: string): string[] {
    const [group = ""] = this.kind.apiVersion.split("/");
    return [verb, `${this.kind.kind}.${group}`, this.name, "-n", this.name];
  }
}

const readyOf = ({ conditions }: FluxStatus) => conditions?.find(({ type }) => type === "Ready");

/** Whether the condition Ready is True. */
export const isReady = (status: FluxStatus): boolean => readyOf(status)?.status === "True";

const describe = ({ conditions = [] }: FluxStatus): string =>
  conditions.map(({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`).join("; ");
