import type { ControllerResilience, RestartStatus } from "../../../api/controller-resilience";
import type { Intent, Outcome } from "../../../core/intent";
import type { Mode, Outcomes, PendingRestart, Plan, PlannedPass, Remedy, Report } from "../../../core/remedy";
import { runToEnd } from "../../../core/slices";
import { EmptyReaders } from "../../../core/testing/empty-readers";
import { makeObject } from "../../../core/testing/objects";
import { expectContract, intentsOf, outcomesOf } from "../../../core/testing/remedy-contract";
import { workload } from "../../../core/testing/views";
import type { BindingKind, BindingView, PodView, WorkloadView } from "../../../core/views";
import { executedRestart } from "../../../restarts/testing/history";

/** What a pass reported, and what it planned. */
export interface ScenePass extends Report {
  readonly intents: readonly Intent[];
  readonly restarts: readonly RestartStatus[];
  readonly planned: PlannedPass;
  readonly plan: Plan;
  readonly needsCleanup: Plan["needsCleanup"];
}

type Answered = "pods" | "workload" | "serviceAccount" | "sandboxEvents" | BindingKind;

/** A namespace with the Deployment `web`, a ControllerResilience for it, and a remedy. */
export abstract class RemedyScene extends EmptyReaders {
  abstract readonly remedy: Remedy;
  abstract object: ControllerResilience;
  workloadList: WorkloadView[] = [workload()];
  podList: PodView[] = [];
  bindingList: BindingView[] = [];
  /** Restarts in backoff. */
  pending: PendingRestart[] = [];
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

  /** Observes now and plans, by default for now. */
  async plan(now = this.clock.now()): Promise<PlannedPass> {
    const decide = await this.remedy.observe({ ...this.object, mode: this.mode }, this);
    const pending = this.pending.filter(({ untilMs }) => untilMs > now.getTime());
    const planned = runToEnd(decide(now, pending));
    expectContract(this.remedy, planned, now);
    return planned;
  }

  /** One pass, as the engine does it: observe, plan, execute, report, write status. */
  async pass(): Promise<ScenePass> {
    const planned = await this.plan();
    const { plan } = planned;
    if (plan.restarts !== undefined) this.write({ restarts: [...plan.restarts] });
    const report = planned.report(this.execute(plan), this.clock.now());
    this.write(report.lists);
    const { needsCleanup, restarts = [] } = plan;
    return { ...report, intents: intentsOf(plan), restarts, planned, plan, needsCleanup };
  }

  /** Executes a plan; by default nothing is executed. */
  protected execute: (plan: Plan) => Outcomes = () => new Map();

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

  /** Another object, by default an older one, has the same targets. */
  share(name: string, creationTimestamp = "2024-01-01T00:00:00Z"): void {
    const other = makeObject(`team/${name}`, this.object.spec);
    const metadata = { ...other.metadata, creationTimestamp };
    this.objects = () => Promise.resolve([this.object, { ...other, metadata }]);
  }

  protected write(status: ControllerResilience["status"]): void {
    this.object = { ...this.object, status: { ...this.object.status, ...status } };
  }
}
