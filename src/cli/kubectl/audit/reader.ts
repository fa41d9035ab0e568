import { CORE_EVENTS, type Resource } from "../../../cluster/http/resources";
import {
  bindingView,
  clusterObjectOfOursView,
  namespaceView,
  objectView,
  serviceAccountView,
} from "../../../cluster/read/views";
import { podView } from "../../../cluster/read/pod-view";
import { pause } from "../../../cluster/http/retry";
import { systemClock } from "../../../cluster/system";
import { GoneError, ResilienceError, UnauthorizedError } from "../../../core/errors";
import { KINDS, WORKLOAD_KINDS } from "../../../core/kinds";
import type { JsonObject } from "../../../core/json";
import { safeText } from "../terminal";
import type { Session } from "../session";
import { suspiciousLeases } from "./checks/controllers";
import { readCoverage, type AuditFacts, type LeaseFacts, type Unread } from "./facts";
import { readLogs } from "./logs";
import { budgetFacts, flowFacts, leaseFacts, serviceFacts, tokenFailure, webhookFacts, workloadFacts } from "./views";

/** What to audit. */
export interface Scope {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly logs: boolean;
}

const { version, ...CORE } = CORE_EVENTS;
const SERVICES: Resource = { ...CORE, version, plural: "services" };
const BUDGETS: Resource = { group: "policy", version: "v1", plural: "poddisruptionbudgets" };
const ADMISSION = { group: "admissionregistration.k8s.io", version: "v1" };

/** Leases of nodes and API servers have no pod as holder. */
const NODE_LEASES = "kube-node-lease";

/** A Lease is watched for its duration, but no longer than this. */
const LONGEST_WATCH_MS = 20_000;

/** Reads what an audit judges by. Reads that are refused are noted, and the others go on. */
export class AuditReader {
  readonly unread: Unread[] = [];
  readonly #session: Session;
  readonly #scope: Scope;

  constructor(session: Session, scope: Scope) {
    this.#session = session;
    this.#scope = scope;
  }

  async read(): Promise<AuditFacts> {
    const [basics, others] = await Promise.all([this.#readBasics(), this.#readOthers()]);
    const nowMs = this.#session.clock.now().getTime();
    const facts: AuditFacts = {
      nowMs,
      ...basics,
      ...others,
      objects: others.objects ?? [],
      clusterObjects: others.clusterObjects ?? [],
    };
    const coverage = await readCoverage(facts, this.#scope.namespace);
    const known: AuditFacts = { ...facts, ...(coverage && { coverage }) };
    const [secondLook, logs] = await Promise.all([
      this.#lookAgain(known),
      this.#scope.logs ? readLogs(this.#session, known, this.unread) : undefined,
    ]);
    return { ...known, nowMs, ...(secondLook && { secondLook }), ...(logs && { logs }) };
  }

  async #readBasics() {
    const { namespace } = this.#scope;
    const kinds = WORKLOAD_KINDS.map(kind =>
      this.#some(KINDS[kind], raw => workloadFacts(kind, raw), `checks of ${kind}s`),
    );
    const [namespaces, pods, accounts, ...workloads] = await Promise.all([
      this.#all(KINDS.Namespace, namespaceView, "OwnWebhook, Unprotected, NoFlow", {
        fieldSelector: namespace === undefined ? undefined : `metadata.name=${namespace}`,
      }),
      this.#some(KINDS.Pod, podView, "OldToken, StaleLease, KeepToken, logs"),
      this.#some(KINDS.ServiceAccount, serviceAccountView, "OldToken, RecreatedByHook, Unprotected, NoFlow"),
      ...kinds,
    ]);
    const known = workloads.flatMap(list => list ?? []);
    const isAny = workloads.some(list => list !== undefined);
    return { ...given({ namespaces, pods, accounts }), ...(isAny && { workloads: known }) };
  }

  async #readOthers() {
    const [roleBindings, clusterRoleBindings, leases, budgets, webhooks, services, tokenFailures, flows, ours] =
      await Promise.all([
        this.#some(KINDS.RoleBinding, raw => bindingView("RoleBinding", raw), "ExpiringBinding, Unprotected, NoFlow"),
        this.#all(
          KINDS.ClusterRoleBinding,
          raw => bindingView("ClusterRoleBinding", raw),
          "ExpiringBinding, Unprotected",
        ),
        this.#some(KINDS.Lease, leaseFacts, "StaleLease"),
        this.#some(BUDGETS, budgetFacts, "NeverEvictable"),
        this.#webhooks(),
        this.#some(SERVICES, serviceFacts, "OwnWebhook"),
        this.#some(CORE_EVENTS, tokenFailure, "FailedToken", { fieldSelector: "reason=FailedMount" }),
        this.#all(KINDS.FlowSchema, flowFacts, "NoFlow"),
        this.#ours(),
      ]);
    const isBound = roleBindings !== undefined || clusterRoleBindings !== undefined;
    const bindings = [...(roleBindings ?? []), ...(clusterRoleBindings ?? [])];
    const held = leases?.filter(({ namespace }) => namespace !== NODE_LEASES);
    return {
      ...given({ leases: held, budgets, webhooks, services, tokenFailures, flows }),
      ...ours,
      ...(isBound && { bindings, hasAllBindings: roleBindings !== undefined && clusterRoleBindings !== undefined }),
    };
  }

  async #webhooks() {
    const read = (kind: "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") =>
      this.#all({ ...ADMISSION, plural: `${kind.toLowerCase()}s` }, raw => webhookFacts(kind, raw), "OwnWebhook");
    const lists = await Promise.all([read("ValidatingWebhookConfiguration"), read("MutatingWebhookConfiguration")]);
    return lists.every(list => list === undefined) ? undefined : lists.flatMap(list => list ?? []).flat();
  }

  /** The operator's own objects; none if it is not installed. */
  async #ours() {
    if ((await this.#session.servedVersions().catch(() => [])).length === 0) return {};
    const [objects, clusterObjects] = await Promise.all([
      this.#some(KINDS.ControllerResilience, raw => objectView(raw)?.object ?? null, "Unprotected"),
      this.#all(KINDS.ClusterControllerResilience, raw => clusterObjectOfOursView(raw)?.object ?? null, "Unprotected"),
    ]);
    return given({ objects, clusterObjects });
  }

  /** Reads the suspicious Leases again, after the longest of their durations. */
  async #lookAgain(facts: AuditFacts): Promise<AuditFacts["secondLook"]> {
    const suspicious = suspiciousLeases(facts);
    if (suspicious.length === 0) return undefined;
    const afterMs = Math.min(LONGEST_WATCH_MS, Math.max(...suspicious.map(({ durationMs }) => durationMs)));
    this.#session.progress.step(`watch suspicious Leases for ${Math.ceil(afterMs / 1000)} s`, suspicious.length);
    const sinceMs = systemClock.monotonicMs();
    await pause(systemClock, afterMs, new AbortController().signal);
    const leases: LeaseFacts[] | undefined = await this.#some(KINDS.Lease, leaseFacts, "StaleLease");
    return leases && { leases, afterMs: systemClock.monotonicMs() - sinceMs };
  }

  /** Lists in the scope's namespace, or in all. */
  #some<T>(
    resource: Resource,
    view: (raw: JsonObject) => T | null,
    unknown: string,
    more: { fieldSelector?: string } = {},
  ): Promise<T[] | undefined> {
    const { namespace } = this.#scope;
    return this.#list({ resource, ...(namespace !== undefined && { place: { namespace } }), ...more }, view, unknown);
  }

  /** Lists cluster-scoped objects. */
  #all<T>(
    resource: Resource,
    view: (raw: JsonObject) => T | null,
    unknown: string,
    more: { fieldSelector?: string | undefined } = {},
  ): Promise<T[] | undefined> {
    return this.#list({ resource, ...more }, view, unknown);
  }

  async #list<T>(
    request: Parameters<Session["list"]>[0],
    view: (raw: JsonObject) => T | null,
    unknown: string,
  ): Promise<T[] | undefined> {
    try {
      return (await this.#session.list(request, view)).filter(item => item !== null);
    } catch (error) {
      // Without a cluster, or with credentials that it does not accept, nothing else can be read either.
      if (!(error instanceof ResilienceError) || error instanceof UnauthorizedError || isUnreachable(error))
        throw error;
      this.unread.push({ what: `list ${request.resource.plural}`, why: shortOf(error), unknown });
      return undefined;
    }
  }
}

function isUnreachable({ cause }: Error): boolean {
  return cause !== undefined;
}

function shortOf(error: ResilienceError): string {
  if (error instanceof GoneError) return "the API server does not serve them";
  return safeText(error.message.replace(/^[^:]*: /, ""));
}

/** Drops lists that could not be read. */
function given<T extends object>(lists: T): { [Name in keyof T]?: NonNullable<T[Name]> } {
  const entries = Object.entries(lists).filter(([, list]) => list !== undefined);
  return Object.fromEntries(entries) as { [Name in keyof T]?: NonNullable<T[Name]> };
}
