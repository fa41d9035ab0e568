import type { BindingRenewalSpec, BindingStatus, ControllerResilience } from "../../../api/controller-resilience";
import { LATEST_EXPIRY_ANNOTATION, LIFE_ANNOTATION, RENEW_ANNOTATION } from "../../../api/names";
import type { Outcomes, Plan } from "../../../core/remedy";
import type { Intent, Outcome } from "../../../core/intent";
import type { Right } from "../../../core/readers";
import { FakeClock } from "../../../core/testing/fake-clock";
import { makeObject } from "../../../core/testing/objects";
import { outcomesOf } from "../../../core/testing/remedy-contract";
import { binding as bindingOf, workload as web } from "../../../core/testing/views";
import type { BindingKind, BindingView, RoleView } from "../../../core/views";
import { RemedyScene } from "../../kit/testing/remedy-scene";
import { createBindingRenewal } from "../remedy";

export { web };

/** The defaults of the API server. */
export const DEFAULTS: BindingRenewalSpec = {
  bindings: [],
  warnBefore: "168h",
  renewBefore: "24h",
  extendBy: "",
};

/** The role of a scene's bindings. */
export const EDIT = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" };

/** In milliseconds. */
export const HOUR = 3_600_000;

/** In milliseconds. */
export const DAY = 24 * HOUR;

/** A ServiceAccount as a subject. */
export function account(name: string, namespace = "team"): BindingView["subjects"][number] {
  return { kind: "ServiceAccount", name, namespace };
}

/** The keys that say when the binding expires, without those of consent and memory. */
export function marksOf(view: BindingView | undefined): Readonly<Record<string, string>> {
  const own = Object.keys(ownOf(view?.annotations ?? {}));
  return Object.fromEntries(Object.entries(view?.annotations ?? {}).filter(([key]) => !own.includes(key)));
}

function ownOf(annotations: Readonly<Record<string, string>>): Record<string, string> {
  const keys = [RENEW_ANNOTATION, LATEST_EXPIRY_ANNOTATION, LIFE_ANNOTATION];
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => keys.includes(key)));
}

/** The namespace `team` with the Deployment `web`, which runs as ServiceAccount `web`, and a ControllerResilience for it. */
export class Scene extends RemedyScene {
  readonly remedy = createBindingRenewal();
  /** Rights that the operator lacks, by verb and name. */
  readonly lacking = new Set<string>();
  readonly bindingsById = new Map<string, BindingView>();
  object: ControllerResilience;
  /** Executed renewals, in order. */
  readonly written: Intent[] = [];
  /** Executed writes that only note an expiry, in order. */
  readonly notes: Intent[] = [];
  /** Outcome of every write; absent: executed. */
  outcome: Outcome | undefined;
  /** An API server's clock is ahead of the operator's, in milliseconds. */
  behindMs = 0;
  #created = 0;

  constructor(
    spec: Partial<BindingRenewalSpec> = {},
    override readonly clock = new FakeClock("2025-01-01T00:00:00Z"),
  ) {
    super(clock);
    this.object = makeObject("team/it", {
      targets: [{ kind: "Deployment", name: "web" }],
      bindingRenewal: { ...DEFAULTS, ...spec },
    });
  }

  override latestMs(): number {
    return super.latestMs() + this.behindMs;
  }

  /** Creates a binding now, by default the RoleBinding `edit` for ServiceAccount `web`, whose renewal is requested by the annotation. */
  bind(over: Partial<BindingView> = {}, requested = true): BindingView {
    const kind = over.kind ?? "RoleBinding";
    const binding = bindingOf({
      ...{ kind, namespace: kind === "RoleBinding" ? "team" : "", name: "edit" },
      ...{ uid: `uid-${++this.#created}`, resourceVersion: "1", roleRef: EDIT, subjects: [account("web")] },
      createdAtMs: Math.floor(this.clock.now().getTime() / 1000) * 1000,
      ...over,
      annotations: { ...(requested ? { [RENEW_ANNOTATION]: "true" } : {}), ...over.annotations },
    });
    this.bindingsById.set(`${kind}/${binding.name}`, binding);
    return binding;
  }

  now(id = "RoleBinding/edit"): BindingView | undefined {
    return this.bindingsById.get(id);
  }

  /** A person or an enforcer deletes it. */
  remove(id = "RoleBinding/edit"): void {
    this.bindingsById.delete(id);
  }

  /** Another client changes it, without the annotations of this project. */
  change(over: Partial<BindingView>, id = "RoleBinding/edit"): void {
    const before = this.bindingsById.get(id);
    if (before === undefined) throw new Error(`binding not found: ${id}`);
    const annotations = { ...ownOf(before.annotations), ...(over.annotations ?? before.annotations) };
    this.bindingsById.set(id, { ...before, ...over, annotations, resourceVersion: `${before.resourceVersion}+` });
  }

  entry(name = "edit"): BindingStatus | undefined {
    return this.object.status?.bindings?.find(entry => entry.name === name);
  }

  /** Runs passes for that time, as often as requested and at least every minute. */
  async live(forMs: number): Promise<void> {
    const endMs = this.clock.now().getTime() + forMs;
    for (;;) {
      const { recheckAfterMs = Infinity } = await this.pass();
      const leftMs = endMs - this.clock.now().getTime();
      if (leftMs <= 0) return;
      await this.clock.run(Math.min(leftMs, recheckAfterMs, Math.max(60_000, forMs / 500)));
    }
  }

  protected override execute = (plan: Plan): Outcomes => outcomesOf(plan, intent => this.#execute(intent));

  #execute(intent: Intent): Outcome {
    if (this.mode !== "Enforce") return { result: "Observed" };
    if (this.outcome !== undefined) return this.outcome;
    (intent.eventReason === "BindingRenewed" ? this.written : this.notes).push(intent);
    const { kind, name } = intent.target;
    const { metadata = {} } = intent.body as { metadata?: Partial<BindingView> };
    const before = this.bindingsById.get(`${kind}/${name}`);
    if (before !== undefined) {
      const labels = { ...before.labels, ...metadata.labels };
      this.change({ labels, annotations: { ...before.annotations, ...metadata.annotations } }, `${kind}/${name}`);
    }
    return { result: "Executed" };
  }

  override bindings(kind: BindingKind): Promise<readonly BindingView[]> {
    return Promise.resolve([...this.bindingsById.values()].filter(binding => binding.kind === kind));
  }

  override binding(kind: BindingKind, _namespace: string, name: string): Promise<BindingView | null> {
    return Promise.resolve(this.bindingsById.get(`${kind}/${name}`) ?? null);
  }

  override role(_kind: string, _namespace: string, name: string): Promise<RoleView | null> {
    return Promise.resolve(name === "" ? null : { rules: [] });
  }

  override may({ verb, name = "" }: Right): Promise<boolean> {
    return Promise.resolve(!this.lacking.has(`${verb} ${name}`));
  }
}
