import { describe, expect, it } from "vitest";
import { TransientError } from "../../core/errors";
import { CountedRequests } from "./metrics";

const STARTED = "process_start_time_seconds 1.7e+09";
const DISPATCHED = "apiserver_flowcontrol_dispatched_requests_total";
const REJECTED = "apiserver_flowcontrol_rejected_requests_total";

function counted(...lines: string[]) {
  const counts = new CountedRequests();
  for (const line of [STARTED, ...lines]) counts.take(line);
  const { startSeconds, requests, refused } = counts.result();
  return { startSeconds, requests: Object.fromEntries(requests), refused: Object.fromEntries(refused) };
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
    const { startSeconds, requests } = counted(...lines);
    expect({ startSeconds, requests }).toEqual({
      startSeconds: 1_700_000_000,
      requests: { "controller-resilience-kai": 1_527, "controller-resilience-web": 0 },
    });
  });

  it("include the requests that were answered 401", () => {
    const attempts = (result: string, count: string) => `authentication_attempts{result="${result}"} ${count}`;
    const lines = [attempts("success", "9000"), attempts("error", "30"), attempts("failure", "4")];
    expect(counted(...lines).requests).toEqual({ 401: 34 });
    expect(counted(attempts("error", "NaN")).requests).toEqual({});
  });

  it("include what was refused, for all clients together; what the server does not count is absent", () => {
    const refusedIn = (...lines: string[]) => counted(...lines).refused;
    const decisions = (result: string, count: number) => `authorization_attempts_total{result="${result}"} ${count}`;
    expect(refusedIn()).toEqual({});
    expect(refusedIn(decisions("allowed", 9_000), `${DISPATCHED}{flow_schema="exempt"} 5`)).toEqual({ 403: 0, 429: 0 });
    const lines = [
      'authentication_attempts{result="success"} 9000',
      'authentication_attempts{result="error"} 30',
      decisions("allowed", 9_000),
      decisions("no-opinion", 4),
      `${DISPATCHED}{flow_schema="exempt"} 5`,
      `${REJECTED}{flow_schema="service-accounts",reason="queue-full"} 2`,
      `${REJECTED}{flow_schema="controller-resilience-kai",reason="time-out"} 3`,
    ];
    expect(refusedIn(...lines)).toEqual({ 401: 30, 403: 4, 429: 5 });
    expect(refusedIn('authentication_attempts{result="error"} NaN')).toEqual({ 401: NaN });
  });

  it.each(["NaN", "+Inf", "-1", "many"])("are unknown if a count of an own FlowSchema is %s", value => {
    const take = () => counted(`${DISPATCHED}{flow_schema="controller-resilience-kai"} ${value}`);
    expect(take).toThrow(TransientError);
    const others = `${DISPATCHED}{flow_schema="exempt"} ${value === "many" ? 1 : value}`;
    expect(counted(others).requests).toEqual({});
  });

  it("are unknown without the start time of the process", () => {
    expect(() => new CountedRequests().result()).toThrow("expected process_start_time_seconds, got none");
    const odd = new CountedRequests();
    odd.take("process_start_time_seconds NaN");
    expect(() => odd.result()).toThrow(TransientError);
  });
});
