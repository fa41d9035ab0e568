// What the dashboards for Grafana and Perses show. test/monitoring/queries.test.ts checks each query against the registry of metrics.

/** One line of a panel. */
export interface Query {
  readonly expr: string;
  /** Text of the legend, with labels as `{{label}}`. */
  readonly legend: string;
}

/** One panel. */
export interface Panel {
  readonly title: string;
  readonly kind: "stat" | "timeseries";
  /** A unit of Grafana's. */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** One sentence: what to look for. */
  readonly description: string;
  /** From this value on, a stat is red; a time series has a red line there. */
  readonly badFrom?: number;
  /** Below this value, a stat is red. */
  readonly badBelow?: number;
  /** Values can be negative, so the axis does not begin at 0. */
  readonly isSigned?: true;
}

/** Panels below a heading. */
export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const OBJECTS = 'namespace=~"$namespace"';
const PROCESS = 'job=~"$job"';
const RATE = "[$__rate_interval]";

/** 0 while an operator is scraped; no data otherwise, which must not look like good news. */
const ELSE_ZERO = `or 0 * max(controller_resilience_leader{${PROCESS}})`;

const condition = (type: string, status: string): string =>
  `controller_resilience_condition{type="${type}",status="${status}",namespace=~"$namespace|"}`;

const HEALTH: Row = {
  title: "Operator",
  panels: [
    {
      ...{ title: "Leaders", kind: "stat", unit: "none", badBelow: 1, badFrom: 2 },
      description: "One replica leads.",
      queries: [{ expr: `sum(controller_resilience_leader{${PROCESS}}) or vector(0)`, legend: "leaders" }],
    },
    {
      ...{ title: "Breaker", kind: "stat", unit: "bool_on_off", badFrom: 1 },
      description: "On: restarts without proof have stopped until a person resets the breaker.",
      queries: [{ expr: `max(controller_resilience_restart_breaker_tripped{${PROCESS}})`, legend: "tripped" }],
    },
    {
      ...{ title: "Stalled objects", kind: "stat", unit: "none", badFrom: 1 },
      description: "Objects that need a person.",
      queries: [
        {
          expr: `count(max by (kind, namespace, name) (${condition("Stalled", "True")})) ${ELSE_ZERO}`,
          legend: "stalled",
        },
      ],
    },
    {
      ...{ title: "Objects not ready", kind: "stat", unit: "none", badFrom: 1 },
      description: "A remedy does not hold; the operator may still be healing.",
      queries: [
        {
          expr: `count(max by (kind, namespace, name) (${condition("Ready", "False")})) ${ELSE_ZERO}`,
          legend: "not ready",
        },
      ],
    },
    {
      ...{ title: "Bindings not renewed", kind: "stat", unit: "none", badFrom: 1 },
      description: "They expire, and the operator has planned no renewal, or is half an hour late.",
      queries: [
        {
          expr: `count(min by (namespace, name, binding_kind, binding) (controller_resilience_binding_expiry_timestamp_seconds{${OBJECTS}}) unless on (namespace, name, binding_kind, binding) controller_resilience_binding_renewal_timestamp_seconds > time() - 1800) ${ELSE_ZERO}`,
          legend: "not renewed",
        },
      ],
    },
    {
      ...{ title: "Throttled ServiceAccounts", kind: "stat", unit: "none", badFrom: 1 },
      description: "Check their logs before the release.",
      queries: [
        {
          expr: `sum(max by (namespace, service_account) (controller_resilience_service_account_throttled{${OBJECTS}})) ${ELSE_ZERO}`,
          legend: "throttled",
        },
      ],
    },
    {
      ...{ title: "Conditions that are not True, by reason", kind: "timeseries", unit: "none" },
      description: "Conditions of remedies by their reason.",
      queries: [
        {
          expr: `count by (type, status, reason) (max by (kind, namespace, name, type, status, reason) (controller_resilience_condition{type!~"Ready|Reconciling|Stalled",status!="True",namespace=~"$namespace|"}))`,
          legend: "{{type}} {{status}}: {{reason}}",
        },
      ],
    },
    {
      ...{ title: "Own identity, and changes of the Lease", kind: "timeseries", unit: "none" },
      description: "Rejected is 1 while the API server answers 401 to the operator itself.",
      queries: [
        { expr: `max by (pod) (controller_resilience_identity_rejected{${PROCESS}})`, legend: "rejected: {{pod}}" },
        {
          expr: `sum by (event) (increase(controller_resilience_lease_transitions_total{${PROCESS}}${RATE}))`,
          legend: "{{event}}",
        },
      ],
    },
    {
      ...{ title: "Memory", kind: "timeseries", unit: "bytes" },
      description: "Of each replica.",
      queries: [{ expr: `process_resident_memory_bytes{${PROCESS}}`, legend: "{{pod}}" }],
    },
    {
      ...{ title: "CPU, and delays of the event loop", kind: "timeseries", unit: "s" },
      description:
        "CPU seconds per second; the delay includes its sampling interval of 0.2 s, and above a second slows the Lease down.",
      queries: [
        { expr: `rate(process_cpu_seconds_total{${PROCESS}}${RATE})`, legend: "CPU: {{pod}}" },
        { expr: `nodejs_eventloop_lag_max_seconds{${PROCESS}}`, legend: "longest delay: {{pod}}" },
      ],
    },
  ],
};

const TOKENS: Row = {
  title: "Tokens, restarts and stalls",
  panels: [
    {
      ...{ title: "Pods with rejected tokens", kind: "timeseries", unit: "none" },
      description: "Controllers that get 401s. They should vanish within minutes.",
      queries: [
        {
          expr: `max by (namespace, workload) (controller_resilience_rejected_pods{${OBJECTS}})`,
          legend: "{{namespace}} {{workload}}",
        },
      ],
    },
    {
      ...{ title: "Controllers that run and do nothing", kind: "timeseries", unit: "none" },
      description:
        "Stalled, by evidence: a Lease that is no longer renewed, 403s, lost leadership, work that is due while nothing moves.",
      queries: [
        {
          expr: `max by (namespace, workload, evidence) (controller_resilience_stalled_controllers{${OBJECTS}})`,
          legend: "{{namespace}} {{workload}} {{evidence}}",
        },
      ],
    },
    {
      ...{ title: "Restarts in a row that did not help", kind: "timeseries", unit: "none" },
      description: "Something else than the token is wrong.",
      queries: [
        {
          expr: `max by (namespace, workload) (controller_resilience_ineffective_restarts{${OBJECTS}})`,
          legend: "{{namespace}} {{workload}}",
        },
      ],
    },
    {
      ...{ title: "Writes per hour", kind: "timeseries", unit: "none" },
      description: "What the remedies asked for, and what came of it. A restart is the verb evict.",
      queries: [
        {
          expr: "sum by (remedy, verb, result) (increase(controller_resilience_intents_total[1h]))",
          legend: "{{remedy}} {{verb}}: {{result}}",
        },
      ],
    },
    {
      ...{ title: "Deferred restarts", kind: "timeseries", unit: "ops" },
      description: "Attempts that a limit has deferred.",
      queries: [
        { expr: `sum by (limit) (rate(controller_resilience_restarts_deferred_total${RATE}))`, legend: "{{limit}}" },
      ],
    },
  ],
};

const BINDINGS: Row = {
  title: "Bindings",
  panels: [
    {
      ...{ title: "Time until a binding expires", kind: "timeseries", unit: "s", isSigned: true },
      description: "The ten that expire first.",
      queries: [
        {
          expr: `bottomk(10, min by (namespace, binding_kind, binding) (controller_resilience_binding_expiry_timestamp_seconds{${OBJECTS}}) - time())`,
          legend: "{{namespace}} {{binding_kind}} {{binding}}",
        },
      ],
    },
  ],
};

const FLOWS: Row = {
  title: "Flows",
  panels: [
    {
      ...{ title: "Requests of isolated ServiceAccounts", kind: "timeseries", unit: "reqps" },
      description: "The ten with the most.",
      queries: [
        {
          expr: `topk(10, max by (namespace, service_account) (controller_resilience_service_account_requests_per_second{${OBJECTS}}))`,
          legend: "{{namespace}}/{{service_account}}",
        },
      ],
    },
    {
      ...{ title: "Share of the threshold", kind: "timeseries", unit: "percentunit", badFrom: 1 },
      description: "From 100 % on, a ServiceAccount counts as a runaway if that lasts.",
      queries: [
        {
          expr: `topk(10, max by (namespace, service_account) (controller_resilience_service_account_requests_per_second{${OBJECTS}}) / on (namespace, service_account) max by (namespace, service_account) (controller_resilience_service_account_threshold_requests_per_second{${OBJECTS}}))`,
          legend: "{{namespace}}/{{service_account}}",
        },
      ],
    },
  ],
};

const COVERAGE: Row = {
  title: "Coverage (with a ClusterControllerResilience)",
  panels: [
    {
      ...{ title: "Workloads that use the API", kind: "timeseries", unit: "none" },
      description: "By protection.",
      queries: [{ expr: "sum by (protection) (controller_resilience_workloads)", legend: "{{protection}}" }],
    },
    {
      ...{ title: "Unprotected, by reason", kind: "timeseries", unit: "none" },
      description: "Select them or exclude them.",
      queries: [
        {
          expr: 'sum by (reason) (controller_resilience_workloads{protection="unprotected"})',
          legend: "{{reason}}",
        },
      ],
    },
  ],
};

const QUEUE = 'name=~"(cluster)?controllerresilience"';

const COST: Row = {
  title: "Queue and API cost",
  panels: [
    {
      ...{ title: "Keys that wait", kind: "timeseries", unit: "none" },
      description: "The full pass adds all objects at once.",
      queries: [{ expr: `max by (name) (workqueue_depth{${QUEUE},${PROCESS}})`, legend: "{{name}}" }],
    },
    {
      ...{ title: "Time in the queue and at work (99 %)", kind: "timeseries", unit: "s" },
      description: "A wait that grows shows that one process is not enough.",
      queries: [
        {
          expr: `histogram_quantile(0.99, sum by (le, name) (rate(workqueue_queue_duration_seconds_bucket{${QUEUE},${PROCESS}}${RATE})))`,
          legend: "waiting: {{name}}",
        },
        {
          expr: `histogram_quantile(0.99, sum by (le, name) (rate(workqueue_work_duration_seconds_bucket{${QUEUE},${PROCESS}}${RATE})))`,
          legend: "working: {{name}}",
        },
        {
          expr: `max by (name) (workqueue_longest_running_processor_seconds{${QUEUE},${PROCESS}})`,
          legend: "longest at work now: {{name}}",
        },
      ],
    },
    {
      ...{ title: "Reconciliations", kind: "timeseries", unit: "ops" },
      description: "panic is a bug: report it with the log.",
      queries: [
        {
          expr: `sum by (controller, result) (rate(controller_resilience_reconciles_total${RATE}))`,
          legend: "{{controller}}: {{result}}",
        },
      ],
    },
    {
      ...{ title: "Requests to the API server", kind: "timeseries", unit: "reqps" },
      description: "Of all replicas. 429 means that the API server throttles the operator.",
      queries: [
        {
          expr: `sum by (method, code) (rate(rest_client_requests_total{${PROCESS}}${RATE}))`,
          legend: "{{method}} {{code}}",
        },
      ],
    },
    {
      ...{ title: "Age of the oldest watch", kind: "timeseries", unit: "s", badFrom: 300 },
      description: "Above a few minutes, a watch has stalled.",
      queries: [{ expr: "max by (resource) (controller_resilience_watch_age_seconds)", legend: "{{resource}}" }],
    },
    {
      ...{ title: "Ends of watches, and lists", kind: "timeseries", unit: "ops" },
      description: "closed is normal.",
      queries: [
        {
          expr: `sum by (resource, reason) (rate(controller_resilience_watch_ends_total${RATE}))`,
          legend: "{{resource}}: {{reason}}",
        },
        {
          expr: `sum by (resource) (rate(controller_resilience_watch_relists_total${RATE}))`,
          legend: "{{resource}}: listed",
        },
      ],
    },
    {
      ...{ title: "Reads of logs", kind: "timeseries", unit: "ops" },
      description: "By result.",
      queries: [{ expr: `sum by (result) (rate(controller_resilience_log_reads_total${RATE}))`, legend: "{{result}}" }],
    },
    {
      ...{ title: "Interval of log reads", kind: "timeseries", unit: "s" },
      description: "Above 30 s, the budget of reads is used up (value logReadsPerSecond).",
      queries: [{ expr: "max(controller_resilience_log_read_interval_seconds)", legend: "interval" }],
    },
    {
      ...{ title: "Losses", kind: "timeseries", unit: "ops" },
      description: "Events that were not recorded, and conditions that are not exported.",
      queries: [
        { expr: `sum(rate(controller_resilience_events_lost_total${RATE}))`, legend: "Events" },
        { expr: `sum(rate(controller_resilience_conditions_dropped_total${RATE}))`, legend: "conditions" },
      ],
    },
    {
      ...{ title: "Offset of the API server's clock", kind: "timeseries", unit: "s", isSigned: true },
      description: "From the clock of the pod's node: the largest of the last five minutes.",
      queries: [{ expr: `max by (pod) (controller_resilience_clock_offset_seconds{${PROCESS}})`, legend: "{{pod}}" }],
    },
  ],
};

/** The rows of the dashboard. */
export const ROWS: readonly Row[] = [HEALTH, TOKENS, BINDINGS, FLOWS, COVERAGE, COST];
