import { describe, expect, it } from "vitest";
import { TransientError } from "../../core/errors";
import { CountedRequests } from "./metrics";

const STARTED = "process_start_time_seconds 1.7e+09";
const DISPATCHED = "apiserver_flowcontrol_dispatched_requests_total";
const REJECTED = "apiserver_flowcontrol_rejected_requests_total";

function counted(...lines: string[]) {
  const counts = new CountedRequests();
  for (const line of [STARTED, ...lines]) counts.take(line);
  return Object.fromEntries(counts.result().counts);
}

describe("the counts of an API server", () => {
  it("are summed over counters, levels and reasons, for the operator's FlowSchemas only", () => {
    const lines = [
      `# HELP ${DISPATCHED} [BETA] Number of requests executed`,
      `${DISPATCHED}{flow_schema="controller-resilience-kai",priority_level="a"} 1.5e+03`,
      `${DISPATCHED}{priority_level="b",flow_schema="controller-resilience-kai"} 20`,
      `${REJECTED}{flow_schema="controller-resilience-kai",priority_level="b",reason="queue-full"} 3`,
      `${REJECTED}{flow_schema="controller-resilience-kai",priority_level="b",reason="time-out"} 4`,
      `${DISPATCHED}{flow_schema="controller-resilience-web",priority_level="a"} 0`,
      `${DISPATCHED}{flow_schema="service-accounts",priority_level="workload-low"} 99`,
      `${DISPATCHED}_created{flow_schema="controller-resilience-kai"} 1.7e+09`,
      'apiserver_flowcontrol_current_executing_requests{flow_schema="controller-resilience-kai"} 5',
    ];
    const flows = { "controller-resilience-kai": 1_527, "controller-resilience-web": 0 };
    expect(counted(...lines)).toEqual({ ...flows, 429: 7 });
  });

  it("include what was refused, for all clients together; what the server does not count is absent", () => {
    const decisions = (result: string, count: number) => `authorization_attempts_total{result="${result}"} ${count}`;
    const attempts = (result: string, count: number) => `authentication_attempts{result="${result}"} ${count}`;
    expect(counted()).toEqual({});
    expect(counted(decisions("allowed", 9_000), `${DISPATCHED}{flow_schema="exempt"} 5`)).toEqual({ 403: 0, 429: 0 });
    const lines = [
      ...[attempts("success", 9_000), attempts("error", 30), attempts("failure", 4)],
      ...[decisions("allowed", 9_000), decisions("no-opinion", 4)],
      `${DISPATCHED}{flow_schema="exempt"} 5`,
      `${REJECTED}{flow_schema="service-accounts",reason="queue-full"} 2`,
    ];
    expect(counted(...lines)).toEqual({ 401: 34, 403: 4, 429: 2 });
    expect(counted(attempts("error", NaN))).toEqual({ 401: NaN });
  });

  it.each(["NaN", "+Inf", "-1", "many"])("are unknown if a count of an own FlowSchema is %s", value => {
    const take = () => counted(`${DISPATCHED}{flow_schema="controller-resilience-kai"} ${value}`);
    expect(take).toThrow(TransientError);
    const others = `${DISPATCHED}{flow_schema="exempt"} ${value === "many" ? 1 : value}`;
    expect(counted(others)).toEqual({ 429: 0 });
  });

  it.each([[[]], [["process_start_time_seconds NaN"]]])(
    "are unknown without the start time of the process: %j",
    lines => {
      const odd = new CountedRequests();
      for (const line of lines) odd.take(line);
      expect(() => odd.result()).toThrow(
        new TransientError("get /metrics: expected process_start_time_seconds, got none"),
      );
    },
  );
});
