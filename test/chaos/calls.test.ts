import { describe, expect, it } from "vitest";
import { callOf, describeCall } from "./calls";

const CRES = "/apis/controller-resilience.io/v1alpha1/namespaces/team/controllerresiliences/it";

describe("a request", () => {
  it.each([
    ["POST", "/api/v1/namespaces/team/pods/web-1/eviction?fieldManager=x", "write", "POST pods/eviction", "team"],
    ["PUT", `${CRES}/status`, "write", "PUT controllerresiliences/status", "team"],
    ["PATCH", CRES, "write", "PATCH controllerresiliences", "team"],
    [
      "PATCH",
      "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/a?force=true",
      "write",
      "PATCH flowschemas",
      undefined,
    ],
    ["DELETE", "/api/v1/namespaces/team", "write", "DELETE namespaces", undefined],
    ["PUT", "/apis/coordination.k8s.io/v1/namespaces/system/leases/it", "lease", "PUT leases", "system"],
    ["POST", "/apis/events.k8s.io/v1/namespaces/team/events", "event", "POST events", "team"],
    [
      "POST",
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      "review",
      "POST selfsubjectaccessreviews",
      undefined,
    ],
    ["PATCH", "/apis/pepr.dev/v1/namespaces/pepr-system/peprstores/a", "framework", "PATCH peprstores", "pepr-system"],
    ["GET", "/api/v1/namespaces/team/pods?watch=true", "read", "GET pods", "team"],
    ["GET", "/metrics", "read", "GET /metrics", undefined],
  ])("%s %s", (method, url, ...expected) => {
    const call = callOf(method, url);
    expect([call.kind, describeCall(call), call.namespace]).toEqual(expected);
  });
});
