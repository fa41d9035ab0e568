import { describe, expect, it } from "vitest";
import { requireRead } from "./read-only";

describe("a client that only reads", () => {
  it.each([
    { path: "/api/v1/pods" },
    { method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" },
    { method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews" },
    { method: "POST", path: "/apis/authentication.k8s.io/v1/selfsubjectreviews" },
  ] as const)("sends %o", request => expect(() => requireRead({ what: "read", ...request })).not.toThrow());

  it.each([
    { method: "DELETE", path: "/api/v1/namespaces/a/pods/b" },
    { method: "POST", path: "/api/v1/namespaces/a/pods/b/eviction" },
    { method: "POST", path: "/api/v1/namespaces/a/serviceaccounts/b/token" },
    { method: "PATCH", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" },
    { method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews/../pods" },
    { method: "PUT", path: "/apis/apps/v1/namespaces/a/deployments/b" },
  ] as const)("refuses %o", request =>
    expect(() => requireRead({ what: "write", ...request })).toThrow("this client only reads"),
  );
});
