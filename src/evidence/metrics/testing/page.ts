import { MetricsPage } from "../page";

/** What a program of a test serves. */
export interface Program {
  readonly startSeconds?: number;
  readonly isLeader?: boolean;
  readonly queues?: readonly {
    readonly name: string;
    readonly depth?: number;
    readonly done: number;
    readonly slowestSeconds?: number;
    readonly longestSeconds?: number;
    /** Busy workers, and all of them. */
    readonly workers?: readonly [number, number];
  }[];
  readonly requests?: {
    readonly gets: number;
    readonly puts: number;
    readonly accepted: number;
    readonly unauthorized?: number;
    readonly forbidden?: number;
    readonly invalid?: number;
    readonly hosts?: number;
    readonly host?: string;
  };
}

/** The page of a program, as client-go writes it. */
export function textOf({ startSeconds = 1, isLeader, queues = [], requests }: Program): string {
  const request = (code: number, method: string, count: number, host = requests?.host ?? "10.96.0.1:443"): string =>
    `rest_client_requests_total{code="${code}",host="${host}",method="${method}"} ${count}`;
  const lines = [
    "# TYPE process_start_time_seconds gauge",
    `process_start_time_seconds ${startSeconds}`,
    ...(isLeader === undefined ? [] : [`leader_election_master_status{name="election"} ${Number(isLeader)}`]),
    ...queues.flatMap(({ name, depth, done, slowestSeconds, longestSeconds, workers }) => {
      const bucket = (le: string, count: number): string =>
        `workqueue_work_duration_seconds_bucket{name="${name}",le="${le}"} ${count}`;
      return [
        ...(depth === undefined ? [] : [`workqueue_depth{name="${name}",priority=""} ${depth}`]),
        `workqueue_work_duration_seconds_count{name="${name}"} ${done}`,
        bucket("+Inf", done),
        ...(slowestSeconds === undefined || slowestSeconds === Infinity ? [] : [bucket(`${slowestSeconds}`, done)]),
        ...(longestSeconds === undefined
          ? []
          : [`workqueue_longest_running_processor_seconds{name="${name}"} ${longestSeconds}`]),
        ...(workers === undefined
          ? []
          : [
              `controller_runtime_active_workers{controller="${name}"} ${workers[0]}`,
              `controller_runtime_max_concurrent_reconciles{controller="${name}"} ${workers[1]}`,
            ]),
      ];
    }),
    ...(requests === undefined
      ? []
      : [
          request(0, "GET", requests.gets),
          request(0, "PUT", requests.puts),
          request(200, "PATCH", requests.accepted),
          request(401, "POST", requests.unauthorized ?? 0),
          request(403, "POST", requests.forbidden ?? 0),
          request(422, "POST", requests.invalid ?? 0),
          ...((requests.hosts ?? 1) > 1 ? [request(200, "GET", 1, "other:443")] : []),
        ]),
  ];
  return `${lines.join("\n")}\n`;
}

/** What the operator reads of it. */
export function pageOf(program: Program): MetricsPage {
  const page = new MetricsPage("10.96.0.1:443");
  for (const line of textOf(program).split("\n")) if (!page.take(line)) throw new Error(`not a sample: ${line}`);
  return page;
}
