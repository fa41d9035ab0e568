import { beforeEach, describe, expect, it } from "vitest";
import { ForbiddenError, TransientError } from "../../core/errors";
import type { JsonObject } from "../../core/json";
import { FakeClock } from "../../core/testing/fake-clock";
import type { ApiRequest } from "../http/api";
import { kindWriters } from "./kind-readings";

// An API server with Widgets, Gadgets without observedGeneration, and Certificates, and an operator that may list some of them.

let clock: FakeClock;
let rules: object[];
let requests: string[];
let failures: Map<string, Error>;
let writers: string[];
let known: ReturnType<typeof kindWriters>;

const WIDGETS = "/apis/example.com/v1/widgets";

beforeEach(() => {
  clock = new FakeClock();
  rules = [rule(["example.com"], ["widgets", "gadgets", "oxen"]), rule(["cert-manager.io"], ["*"])];
  requests = [];
  failures = new Map();
  writers = ["widgets-manager"];
  const json = <T>(request: ApiRequest): Promise<T> => {
    const [path = ""] = request.path.split("?");
    requests.push(path);
    const failure = failures.get(path);
    return failure === undefined ? Promise.resolve(answer(path) as T) : Promise.reject(failure);
  };
  known = kindWriters({ json, jsonOrNull: json }, clock);
});

function rule(apiGroups: string[], resources: string[], more: object = {}): object {
  return { verbs: ["get", "list"], apiGroups, resources, ...more };
}

function answer(path: string): JsonObject {
  if (path.endsWith("selfsubjectrulesreviews")) return { status: { resourceRules: rules } };
  if (path === "/apis") return { groups: ["apps", "cert-manager.io", "example.com", "other.io"].map(group) };
  if (path === "/apis/example.com/v1") return resources({ widgets: "Widget", gadgets: "Gadget", oxen: "Ox" });
  if (path === "/apis/cert-manager.io/v1") return resources({ certificates: "Certificate" });
  const fields = path === WIDGETS ? { "f:observedGeneration": {} } : { "f:conditions": {} };
  return { metadata: {}, items: writers.map(manager => object(manager, fields)) };
}

function group(name: string): object {
  return { name, preferredVersion: { groupVersion: `${name}/v1`, version: "v1" } };
}

function resources(kinds: Readonly<Record<string, string>>): JsonObject {
  const all = Object.entries(kinds);
  return { resources: all.flatMap(([name, kind]) => [name, `${name}/status`].map(one => ({ name: one, kind }))) };
}

function object(manager: string, fields: object): object {
  const managedFields = [
    { manager: "kubectl", fieldsV1: { "f:spec": {} } },
    { manager, subresource: "status", fieldsV1: { "f:status": fields } },
  ];
  return { metadata: { name: manager, uid: manager, managedFields } };
}

/** What is known after some time of questions. */
async function after(minutes: number): Promise<string[] | undefined> {
  for (let minute = 0; minute < minutes; minute++) {
    known();
    await clock.run(60_000);
  }
  return known()?.map(({ apiVersion, kind, writers: found }) => `${apiVersion} ${kind}: ${found.join()}`);
}

const BOTH = ["cert-manager.io/v1 Certificate: widgets-manager", "example.com/v1 Widget: widgets-manager"];

describe("who writes the status of a kind", () => {
  it("is read of kinds that the operator may list and could follow, once an hour", async () => {
    expect(known()).toBeUndefined();
    expect(await after(1)).toEqual([...BOTH, "example.com/v1 Gadget: "]);
    expect(requests.filter(path => path === WIDGETS)).toHaveLength(1);
    expect(requests.filter(path => /oxen|other|apps/.test(path))).toEqual([]);
    await after(58);
    expect(requests.filter(path => path === WIDGETS)).toHaveLength(1);
    await after(3);
    expect(requests.filter(path => path === WIDGETS)).toHaveLength(2);
  });

  it.each<[string, object[]]>([
    ["none", []],
    ["what it needs for itself", [rule([""], ["pods"]), rule(["apps", "coordination.k8s.io"], ["*"])]],
    ["one object by its name", [rule(["example.com"], ["widgets"], { resourceNames: ["blue"] })]],
    ["no list", [rule(["example.com"], ["widgets"], { verbs: ["get"] })]],
  ])("costs one request where the operator may list %s", async (_, allowed) => {
    rules = allowed;
    expect(await after(1)).toEqual([]);
    expect(requests).toEqual(["/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"]);
  });

  it("leaves out a kind whose list is refused, and keeps one whose list fails", async () => {
    await after(1);
    writers = ["other"];
    failures.set(WIDGETS, new TransientError("timed out"));
    failures.set("/apis/cert-manager.io/v1/certificates", new ForbiddenError("forbidden"));
    expect(await after(62)).toEqual([BOTH[1], "example.com/v1 Gadget: "]);
  });

  it("stays as it was known while the groups cannot be read, and is tried again", async () => {
    await after(1);
    failures.set("/apis", new TransientError("timed out"));
    const count = requests.length;
    expect(await after(85)).toContain(BOTH[1]);
    expect(requests.slice(count).filter(path => path === "/apis")).toHaveLength(3);
  });

  it("is nothing where the operator may not review its rights", async () => {
    failures.set("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", new ForbiddenError("forbidden"));
    expect(await after(1)).toEqual([]);
  });
});
