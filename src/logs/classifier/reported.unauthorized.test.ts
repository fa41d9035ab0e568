import { describe, expect, it } from "vitest";
import { classify } from "./classify";

// Own 401s in phrasings that public threads report, written after the structure of these programs' messages.

const UNAUTHORIZED: Readonly<Record<string, readonly string[]>> = {
  "its own TokenReview or SubjectAccessReview was refused": [
    `E1104 07:21:09.114233       1 webhook.go:154] Failed to make webhook authenticator request: Unauthorized`,
    `E1104 07:21:09.114233       1 webhook.go:253] Failed to make webhook authorizer request: Unauthorized`,
    `E1104 07:21:09.114233    2210 webhook.go:109] Failed to make webhook authenticator request: the server has asked for the client to provide credentials (post tokenreviews.authentication.k8s.io)`,
    `E1104 07:21:09.114233       1 webhook.go:154] "Failed to make webhook authenticator request" err="Unauthorized"`,
    `E1104 07:21:09.114233       1 webhook.go:269] "Failed to make webhook authorizer request" error="Unauthorized"`,
    `2025-11-04T07:21:09.114233871Z stderr F E1104 07:21:09.114233       1 webhook.go:154] Failed to make webhook authenticator request: Unauthorized`,
    `{"ts":1762240869114.2,"caller":"webhook/webhook.go:154","msg":"Failed to make webhook authenticator request","err":"Unauthorized"}`,
    `{"level":"error","ts":"2025-11-04T07:21:09Z","logger":"metrics","msg":"Failed to make webhook authorizer request","error":"Unauthorized"}`,
    `time="2025-11-04T07:21:09Z" level=error msg="Failed to make webhook authenticator request: Unauthorized"`,
    `ts=2025-11-04T07:21:09Z caller=proxy.go:88 level=error msg="failed to make webhook authenticator request" err=Unauthorized`,
    `E1104 07:21:09.114233       1 errors.go:77] Unauthorized`,
    `E1104 07:21:09.114233       1 authorization.go:53] "Error while evaluating SubjectAccessReview" err="Unauthorized"`,
    `level=error msg="unable to create TokenReview" err="Unauthorized"`,
    `{"level":"error","msg":"failed to create SubjectAccessReview","error":"Unauthorized"}`,
  ],
};

describe.each(Object.entries(UNAUTHORIZED))("%s", (_, records) => {
  it.each(records)("%s", record => {
    expect(classify(record)).toBe("unauthorized");
  });
});
