import type { ControllerResilience, RestartStatus } from "../../../api/controller-resilience";
import type { Intent, Outcome } from "../../../core/intent";
import type { Mode, PendingWrite, Plan, PlannedPass, Remedy, Report } from "../../../core/remedy";
import type { LogReader } from "../../../core/readers";
import { runToEnd } from "../../../core/slices";
import { EmptyReaders } from "../../../core/testing/empty-readers";
import { expectContract, intentsOf, outcomesOf } from "../../../core/testing/remedy-contract";
import { workload } from "../../../core/testing/views";
import type { BindingKind, BindingView, PodView, WorkloadView } from "../../../core/views";
import { executedRestart } from "../../../restarts/testing/history";

/** A pass without execution: the report, and what the plan contains. */
export interface ScenePass extends Report {
  readonly intents: readonly Intent[];
  readonly restarts: readonly RestartStatus[];
  readonly planned: PlannedPass;
  readonly plan: Plan;
}

type Answered = "pods" | "workload" | "serviceAccount" | "sandboxEvents" | BindingKind;

/** A namespace with the Deployment `web`, a ControllerResilience for it, and a remedy. */
export abstract class RemedyScene extends EmptyReaders {
  abstract override readonly logs: LogReader & {
    write(pod: string, container: string, line: { readonly ms: number; readonly text: string }): void;
  };
  abstract remedy: Remedy;
  abstract object: ControllerResilience;
  workloadList: WorkloadView[] = [workload()];
  podList: PodView[] = [];
  bindingList: BindingView[] = [];
  /** Writes in backoff. */
  pending: PendingWrite[] = [];
  /** Wins over spec.mode. */
  judged: Mode | undefined;
  /** Errors of readers. */
  failing: Partial<Record<Answered, Error>> = {};

  get mode(): Mode {
    return this.judged ?? this.object.spec.mode;
  }

  get nowMs(): number {
    return this.clock.now().getTime();
  }

  /** Adds a log line now. */
  log(text: string, pod = "web-5d-a"): void {
    this.logs.write(pod, "main", { ms: this.nowMs, text });
  }

  override pods(): Promise<readonly PodView[]> {
    return this.answer("pods", this.podList);
  }

  override workload(kind: WorkloadView["kind"], _namespace: string, name: string): Promise<WorkloadView | null> {
    return this.answer("workload", this.workloadList.find(one => one.kind === kind && one.name === name) ?? null);
  }

  override workloads(kind: WorkloadView["kind"]): Promise<readonly WorkloadView[]> {
    return this.answer(
      "workload",
      this.workloadList.filter(one => one.kind === kind),
    );
  }

  override bindings(kind: BindingKind): Promise<readonly BindingView[]> {
    return this.answer(
      kind,
      this.bindingList.filter(one => one.kind === kind),
    );
  }

  protected answer<A>(what: Answered, value: A): Promise<A> {
    const error = this.failing[what];
    return error === undefined ? Promise.resolve(value) : Promise.reject(error);
  }

  /** Observes, plans and reports without execution, and writes status. */
  async pass(): Promise<ScenePass> {
    const observation = await this.remedy.observe({ ...this.object, mode: this.mode }, this);
    const now = this.clock.now();
    const pending = this.pending.filter(({ untilMs }) => untilMs > now.getTime());
    const planned = runToEnd(observation.plan(now, pending));
    const { plan } = planned;
    expectContract(this.remedy, planned, now);
    const report = planned.report(new Map(), now);
    this.write({ ...report.lists, ...(plan.restarts && { restarts: [...plan.restarts] }) });
    return { ...report, intents: intentsOf(plan), restarts: plan.restarts ?? [], planned, plan };
  }

  /** Reports on a pass with this outcome of all its intents, and writes status. */
  report({ planned, plan }: ScenePass, outcome: Outcome): Report {
    const report = planned.report(outcomesOf(plan, outcome), this.clock.now());
    this.write(report.lists);
    return report;
  }

  /** Records a restart in status, as the executor does. */
  noteRestart({ restart }: Intent, outcome: RestartStatus["outcome"] = "Restarted"): void {
    if (restart === undefined) throw new Error("expected an intent that restarts something");
    const entry = executedRestart(restart, this.clock.now(), outcome);
    this.write({ restarts: [...(this.object.status?.restarts ?? []), entry] });
  }

  protected write(status: ControllerResilience["status"]): void {
    this.object = { ...this.object, status: { ...this.object.status, ...status } };
  }
}
