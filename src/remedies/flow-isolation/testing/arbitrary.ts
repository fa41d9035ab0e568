import fc from "fast-check";
import type { FlowIsolationSpec, FlowStatus } from "../../../api/controller-resilience";
import type { Intent } from "../../../core/intent";
import type { RequestRates } from "../../../core/readers";
import { makeObject } from "../../../core/testing/objects";
import { intentsOf, outcomesOf } from "../../../core/testing/remedy-sample";
import type { ClusterObjectView } from "../../../core/views";
import type { AccountFacts, FlowIsolationFacts } from "../facts";
import { QUARANTINE_LEVEL, SHARED_LEVEL } from "../levels";
import { flowSchemaName, type Wanted, wantedFlow, wantedLeaseFlow, wantedLevels } from "../objects";
import type { FlowPlan } from "../plan";
import { reportFlows } from "../report";
import { DEFAULTS } from "./scene";
import { applyTo, type World } from "./world";

const START = Date.parse("2025-01-01T00:00:00Z");
const OWNER = { metadata: makeObject("team/it").metadata };
const moments = fc.integer({ min: 0, max: 86_400 }).map(seconds => START + seconds * 1_000);
const times = moments.map(ms => new Date(ms).toISOString().replace(".000Z", "Z"));
const rarely = fc.integer({ min: 0, max: 9 }).map(n => n === 0);

const records: fc.Arbitrary<Partial<FlowStatus>> = fc.record(
  {
    priorityLevel: fc.constantFrom(SHARED_LEVEL, QUARANTINE_LEVEL),
    requestsPerSecond: fc.nat(10_000),
    state: fc.constantFrom("Normal", "Elevated", "Elevated", "Throttled", "Probation", "GivenUp"),
    relapses: fc.nat(6),
    since: times,
    until: fc.oneof(times, fc.constant("never")),
    releaseSeconds: fc.nat(7_200),
    changes: fc.integer({ min: 0, max: 2 }),
    generation: fc.constantFrom(1, 2),
  },
  { requiredKeys: [] },
);

const rates: fc.Arbitrary<Omit<RequestRates, "spans">> = fc.constantFrom<Omit<RequestRates, "spans">[]>(
  { readMs: START, servers: { found: 1, read: 1 } },
  { readMs: START, servers: { found: 3, read: 2 } },
  { readMs: START, servers: { found: 3, read: 0 }, unknown: "No API server can be reached." },
  { servers: { found: 0, read: 0 } },
);

/** What has become of an object that the operator has made. */
type Fate = "missing" | "as wanted" | "changed" | "foreign" | "going" | "dangling";
const fates = fc.constantFrom<Fate[]>("missing", "as wanted", "as wanted", "changed", "foreign", "going", "dangling");

function made({ kind, name, labels, annotations, spec }: Wanted, fate: Fate): ClusterObjectView[] {
  if (fate === "missing") return [];
  const status = fate === "dangling" ? "True" : "False";
  return [
    {
      ...{ apiVersion: "flowcontrol.apiserver.k8s.io/v1", kind, name, uid: `uid-${name}`, resourceVersion: "1" },
      ...{ createdAtMs: START, labels: fate === "foreign" ? {} : labels, annotations },
      spec: fate === "changed" ? {} : (spec as Record<string, unknown>),
      conditions: [{ type: "Dangling", status, reason: "", message: "" }],
      ...(fate === "going" ? { deletedAtMs: START } : {}),
      ...(fate === "changed" ? { lastManager: "kubectl-edit" } : {}),
    },
  ];
}

const floods = fc.array(fc.constantFrom(0, 20, 90, 120, 5_000), { minLength: 1, maxLength: 10 });

const accounts = fc.record({
  runningPods: fc.constantFrom(1, 1, 1, 0, 2, undefined),
  record: fc.option(records, { nil: undefined }),
  isComponent: fc.constantFrom(false, false, false, true, undefined),
  level: fc.constantFrom(SHARED_LEVEL, QUARANTINE_LEVEL),
  fates: fc.tuple(fates, fates),
  perSecond: floods,
});

/** Facts of all sorts: ServiceAccounts with FlowSchemas that are as they were made, or not. */
export const flowIsolationFacts: fc.Arbitrary<FlowIsolationFacts> = fc
  .record({
    mode: fc.constantFrom<FlowIsolationFacts["mode"][]>("Enforce", "Enforce", "Enforce", "Observe", "NamespaceSkipped"),
    accounts: fc.array(accounts, { maxLength: 3 }),
    missingTargets: fc.constantFrom([], [], ["Deployment/other"]),
    isServed: rarely.map(isNot => !isNot),
    rates,
    levels: fc.tuple(fates, fates, fates),
    isNotUnderstood: rarely,
  })
  .map(({ accounts: list, isServed, isNotUnderstood, levels, rates: known, ...rest }): FlowIsolationFacts => {
    const named = list.map((one, i) => ({ ...one, name: `app-${i}` }));
    const facts = {
      ...rest,
      ...(isNotUnderstood ? { notUnderstood: "unknown kind." } : {}),
      ...{ generation: 1, owner: OWNER, schemas: null, levels: null, leftOut: [] },
      accounts: named.map(accountOf),
      rates: {
        ...known,
        spans: Object.fromEntries(named.map(one => [flowSchemaName(OWNER, one.name), spansOf(one.perSecond)])),
      },
    };
    if (!isServed) return facts;
    return {
      ...facts,
      schemas: named.flatMap(({ name, level, fates: [own, lease] }) => [
        ...made(wantedFlow(facts, name, throttling, level), own),
        ...made(wantedLeaseFlow(facts, name), lease),
      ]),
      levels: wantedLevels(facts, throttling).flatMap((one, i) => made(one, levels[i] ?? "missing")),
    };
  });

const throttling: FlowIsolationSpec = { ...DEFAULTS, requestRate: { ...DEFAULTS.requestRate, onRunaway: "Throttle" } };

interface ArbitraryAccount {
  readonly name: string;
  readonly record: Partial<FlowStatus> | undefined;
  readonly runningPods: number | undefined;
  readonly isComponent: boolean | undefined;
}

function accountOf({ name, record, runningPods, isComponent }: ArbitraryAccount): AccountFacts {
  return {
    name,
    ...(runningPods === undefined ? {} : { runningPods }),
    ...(isComponent === undefined ? {} : { isComponent }),
    ...(record === undefined
      ? {}
      : { record: { ...record, serviceAccount: name, flowSchema: flowSchemaName(OWNER, name) } }),
  };
}

function spansOf(perSecond: readonly number[]): RequestRates["spans"][string] {
  return perSecond.map((rate, i) => ({
    fromMs: START + 5_000 * i,
    toMs: START + 5_000 * (i + 1),
    requests: 5 * rate,
  }));
}

/** Specs as the API server lets them through. */
export const flowIsolationSpecs: fc.Arbitrary<FlowIsolationSpec> = fc
  .record({
    onRunaway: fc.constantFrom<FlowIsolationSpec["requestRate"]["onRunaway"][]>("Report", "Throttle", "Throttle"),
    priorityLevel: fc.constantFrom("", "", "", "somewhere"),
    for: fc.constantFrom("5s", "30s"),
  })
  .map(({ onRunaway, for: over, ...spec }) => ({
    ...{ ...DEFAULTS, ...spec },
    requestRate: { ...DEFAULTS.requestRate, onRunaway, for: over },
  }));

/** The API server has done what the plan asks for, status was written, and the busy client is silent since. */
export function applied(facts: FlowIsolationFacts, plan: FlowPlan): FlowIsolationFacts {
  const intents = intentsOf(plan);
  const flows = reportFlows(plan, outcomesOf(plan, { result: "Executed" })).lists?.flows ?? [];
  const world = worldOf(facts);
  for (const intent of intents) if (!isSkipped(intent)) applyTo(world, intent);
  const views = [...world.cluster.values()];
  return {
    ...facts,
    accounts: facts.accounts.map(account => {
      const record = flows.find(({ serviceAccount }) => serviceAccount === account.name);
      return { ...account, ...(record === undefined ? {} : { record }) };
    }),
    rates: intents.length === 0 ? facts.rates : { ...facts.rates, spans: {} },
    schemas: facts.schemas && views.filter(({ kind }) => kind === "FlowSchema"),
    levels: facts.levels && views.filter(({ kind }) => kind === "PriorityLevelConfiguration"),
  };
}

function isSkipped({ skip }: Intent): boolean {
  return skip === true;
}

function worldOf({ schemas, levels }: FlowIsolationFacts): World {
  return {
    cluster: new Map([...(schemas ?? []), ...(levels ?? [])].map(view => [view.name, view])),
    workloads: new Map(),
    versions: 1,
  };
}
