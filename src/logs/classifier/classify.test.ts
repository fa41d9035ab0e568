import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogClass } from "./classes";
import { classify } from "./classify";

interface Labelled {
  readonly id: string;
  readonly label: string;
  readonly family: string;
  readonly line: string;
}

const FIXTURES = join(__dirname, "../../../test/fixtures/log-records.jsonl");

const RECORDS = readFileSync(FIXTURES, "utf8")
  .trimEnd()
  .split("\n")
  .map(line => JSON.parse(line) as Labelled);

/** Other clients' 401s and plain noise are both ignored. */
function expected(label: string): string {
  return label === "other-401" || label === "noise" ? "none" : label;
}

describe("the labelled records", () => {
  it.each([...new Set(RECORDS.map(r => r.label))])("%s", label => {
    const wrong = RECORDS.filter(r => r.label === label && classify(r.line) !== expected(label));
    expect(wrong.map(r => `${r.id} ${r.family}: ${classify(r.line)}: ${r.line}`)).toEqual([]);
  });
});

const OTHER_SYMPTOMS: Readonly<Record<string, [LogClass, string]>> = {
  "403 in the words of a 401": [
    "forbidden",
    `2024-03-01 09:12:44.113 [ERROR][7] felix/watchercache.go 206: Failed to create watcher error=connection is unauthorized: nodes is forbidden: User "system:serviceaccount:kube-system:cni" cannot list resource "nodes" in API group "" at the cluster scope`,
  ],
  "a quota is a 403": [
    "forbidden",
    `{"level":"error","msg":"Reconciler error","error":"pods \\"web-1\\" is forbidden: User \\"system:serviceaccount:shop:web\\" cannot create resource \\"pods\\" in API group \\"\\" in the namespace \\"shop\\""}`,
  ],
  "Python's 403": ["forbidden", `kubernetes.client.exceptions.ApiException: (403)\nReason: Forbidden`],
  "kopf's 403": [
    "forbidden",
    `kopf._cogs.clients.errors.APIForbiddenError: ('widgets.example.com is forbidden: User "system:serviceaccount:shop:web" cannot list resource', {'kind': 'Status', 'status': 'Failure', 'reason': 'Forbidden', 'code': 403})`,
  ],
  "a registry's 403 is nobody's concern": [
    "none",
    `failed to resolve reference "registry.example/web:1": unexpected status from HEAD request to https://registry.example/v2/web/manifests/1: 403 Forbidden`,
  ],
  "a lease lost for a 401 is a 401": [
    "unauthorized",
    `E0301 09:12:44.113201       1 leaderelection.go:436] "Failed to update lease" err="Unauthorized" lock="shop/web"`,
  ],
  "a manager that lost its lease": [
    "lease-lost",
    `{"level":"error","ts":1709284364.113,"logger":"setup","msg":"problem running manager","error":"leader election lost"}`,
  ],
  "two candidates wrote at once": [
    "none",
    `E0301 09:12:44.113201       1 leaderelection.go:429] Failed to update lock: Operation cannot be fulfilled on leases.coordination.k8s.io "web": the object has been modified; please apply your changes to the latest version and try again`,
  ],
  "a lock that cannot be read in time": [
    "lease-lost",
    `E0301 09:12:44.113201       1 leaderelection.go:332] error retrieving resource lock shop/web: Get "https://10.96.0.1:443/apis/coordination.k8s.io/v1/namespaces/shop/leases/web?timeout=5s": context deadline exceeded`,
  ],
  "kube-rs' watch is too old": [
    "watch-ended",
    `2024-03-01T09:12:44.113201Z  WARN kube_runtime::watcher: watch failed: ErrorResponse { status: "Failure", message: "too old resource version: 1 (2)", reason: "Expired", code: 410 }`,
  ],
  "Python's watch is too old": [
    "watch-ended",
    `kubernetes.client.exceptions.ApiException: (410)\nReason: Expired: too old resource version: 1 (2)`,
  ],
  "kopf restarts its watch": [
    "none",
    `[2024-03-01 09:12:44,113] kopf.objects [INFO] [shop/web] Handler 'sync' succeeded.`,
  ],
  "a 429 of the API server": [
    "throttled",
    `E0301 09:12:44.113201       1 reflector.go:147] k8s.io/client-go/informers/factory.go:150: Failed to watch *v1.Pod: failed to list *v1.Pod: the server has received too many requests and has asked us to try again later (get pods)`,
  ],
  "a registry's 429": ["none", `toomanyrequests: You have reached your pull rate limit`],
  "a cloud's throttling": ["none", `ThrottlingException: Rate exceeded status code: 400, request id: 401`],
  "an empty record": ["none", ""],
};

describe("other symptoms", () => {
  it.each(Object.entries(OTHER_SYMPTOMS))("%s", (_, [cls, record]) => {
    expect(classify(record)).toBe(cls);
  });
});

/** Pieces that the classifier has rules for, so that random texts reach deep into it. */
const PIECES = [
  ...[
    "Unauthorized",
    "401",
    "403",
    "Forbidden",
    "failed to list *v1.Pod",
    ": ",
    "=",
    '"',
    "'",
    "\\",
    "{",
    "}",
    '{"',
    '":"',
    "\n",
    "\t",
  ],
  ...[
    "msg=",
    "error=",
    "https://",
    "https://10.96.0.1/api/v1/pods",
    "/apis/",
    "GET /",
    " HTTP/1.1",
    "\x1b[31m",
    "\x1b[",
    "(401)",
  ],
  ...[
    "Reason: ",
    "code: 401",
    "Failure",
    "the server has asked for the client to provide credentials",
    "vault",
    "\ud800",
    "\0",
    "İ",
  ],
  ...[
    "2024-03-01T09:12:44.113201599Z ",
    "stdout F ",
    "stdout P ",
    '{"log":"',
    '","stream":"stderr"}',
    "\\u001b[1m",
    "lease lock",
  ],
];
const anything = fc.oneof(
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map(parts => parts.join("")),
);

describe("any text", () => {
  it("has a class and makes nothing throw", () => {
    fc.assert(
      fc.property(anything, text => typeof classify(text) === "string"),
      { numRuns: 3000 },
    );
  });

  it("has the same class each time", () => {
    fc.assert(fc.property(anything, text => classify(text) === classify(text)));
  });

  it("handles endless nesting and repetition", () => {
    const deep = ['{"a":'.repeat(20_000), "[".repeat(100_000), '\\"'.repeat(100_000), "Unauthorized: ".repeat(50_000)];
    for (const text of deep) expect(classify(`${text} Unauthorized`)).toBeTypeOf("string");
  });
});
