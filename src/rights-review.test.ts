import { describe, expect, it } from "vitest";
import type { ApiRequest } from "./cluster/http/api";
import { TransientError } from "./core/errors";
import { RecordingLog } from "./engine/testing/fakes";
import { createRemedies } from "./remedies/registry";
import { allNeeds, reviewRights } from "./rights-review";

const lease = { namespace: "operators", name: "controller-resilience" };
const places = { lease, moduleId: "controller-resilience", watchNamespaces: [] };
const needs = allNeeds(createRemedies(), places);

interface Attributes {
  readonly resource?: string;
  readonly verb: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly path?: string;
}

/** What is said where the API server refuses some of what is asked. */
async function said(refuses: (asked: Attributes) => boolean, asks = needs): Promise<string[]> {
  return (await linesOf(refuses, asks)).map(({ message }) => message);
}

async function linesOf(refuses: (asked: Attributes) => boolean, asks = needs): Promise<RecordingLog["lines"]> {
  const log = new RecordingLog();
  const json = <T>({ body }: ApiRequest): Promise<T> => {
    const { spec } = body as { spec: { resourceAttributes?: Attributes; nonResourceAttributes?: Attributes } };
    const asked = spec.resourceAttributes ?? spec.nonResourceAttributes;
    return Promise.resolve({ status: { allowed: asked !== undefined && !refuses(asked) } } as T);
  };
  await reviewRights({ json }, asks, log);
  return log.lines;
}

describe("the review of the operator's own rights", () => {
  it("is one line when nothing is missing", async () => {
    expect(await said(() => false)).toEqual(["the operator has all its rights"]);
  });

  it("names each remedy that lacks something, with the verbs in one line", async () => {
    const lines = await said(({ resource, verb }) => resource === "daemonsets" && verb !== "get");
    expect(lines.map(line => line.split(":")[0])).toEqual([
      "the operator may not list, watch daemonsets.apps in all namespaces; tokenRestart",
      "the operator may not list, watch daemonsets.apps in all namespaces; bindingRenewal",
      "the operator may not list, watch, patch daemonsets.apps in all namespaces; tokenLifetime",
      "the operator may not list, watch daemonsets.apps in all namespaces; flowIsolation",
      "the operator may not list, watch daemonsets.apps in all namespaces; stallDetection",
    ]);
  });

  it("does not warn of rights that the chart grants only on request", async () => {
    const lines = await linesOf(
      ({ resource, verb }) => resource?.endsWith("rolebindings") === true && verb === "patch",
    );
    expect(lines.map(({ level, fields }) => [level, fields])).toEqual(
      Array.from({ length: 2 }, () => ["info", { grantedBy: "bindingRenewal.bind" }]),
    );
    const all = await linesOf(() => true);
    expect(all.filter(({ level }) => level === "warn")).toHaveLength(needs.length - 2);
  });

  it("asks for the Lease and Pepr's stores where they are, by name", async () => {
    const lines = await said(({ name, namespace }) => name === "controller-resilience" && namespace === "operators");
    expect(lines).toEqual([
      "the operator may not get, update leases.coordination.k8s.io controller-resilience in namespace operators; " +
        "the operator itself: without its Lease it never leads and does nothing.",
    ]);
    const stores = await said(({ resource }) => resource === "peprstores");
    expect(stores).toHaveLength(3);
    expect(stores[0]).toContain("peprstores.pepr.dev pepr-controller-resilience-store in namespace pepr-system");
  });

  it("asks for paths that are no resources", async () => {
    const lines = await said(({ path }) => path === "/metrics");
    expect(lines.map(line => line.split(":")[0])).toEqual([
      "the operator may not get /metrics; tokenRestart",
      "the operator may not get /metrics; flowIsolation",
    ]);
  });

  it("asks for the namespaces that are looked after, and says what is of no namespace once", async () => {
    const some = allNeeds(createRemedies(), { ...places, watchNamespaces: ["a", "b"] });
    const evictions = await said(({ resource, namespace }) => resource === "pods" && namespace !== "a", some);
    expect(evictions.filter(line => / pods\/eviction in namespace b; tokenRestart/.test(line))).toHaveLength(1);
    expect(evictions.filter(line => / in (all namespaces|namespace a);/.test(line))).toEqual([]);
    expect(await said(({ path }) => path === "/metrics", some)).toHaveLength(2);
  });

  it("asks for one Namespace at a time where the operator looks after some, since none could be listed there", async () => {
    const some = allNeeds(createRemedies(), { ...places, watchNamespaces: ["a", "b"] });
    const what = "the operator itself: reads the skip annotation of Namespaces, which is unknown without this right";
    const ofNamespaces = ({ resource }: Attributes): boolean => resource === "namespaces";
    expect(await said(ofNamespaces, some)).toEqual(
      ["a", "b"].map(name => `the operator may not get namespaces ${name} in namespace ${name}; ${what}`),
    );
    expect(await said(ofNamespaces)).toEqual([
      `the operator may not get, list, watch namespaces in all namespaces; ${what}`,
    ]);
  });

  it("asks for hundreds of namespaces one after the other, goes on where it failed, and asks once for what is of no namespace", async () => {
    const watchNamespaces = Array.from({ length: 200 }, (_, i) => `n${i}`);
    const many = allNeeds(createRemedies(), { ...places, watchNamespaces });
    const asked: string[] = [];
    let [concurrent, most, hasFailed] = [0, 0, false];
    const json = async <T>({ body }: ApiRequest): Promise<T> => {
      most = Math.max(most, ++concurrent);
      await Promise.resolve();
      concurrent--;
      if (asked.length === 1_000 && !hasFailed) {
        hasFailed = true;
        throw new TransientError("no answer");
      }
      asked.push(JSON.stringify((body as { spec: unknown }).spec));
      return { status: { allowed: true } } as T;
    };
    const log = new RecordingLog();
    const answers = new Map<string, boolean>();
    await expect(reviewRights({ json }, many, log, answers)).rejects.toThrow("no answer");
    expect(asked).toHaveLength(1_000);
    await reviewRights({ json }, many, log, answers);
    expect([most, new Set(asked).size, log.lines.length]).toEqual([1, asked.length, 1]);
    const outside = asked.filter(spec => /clusterrolebindings|flowschemas/.test(spec));
    expect(outside.length).toBeGreaterThan(5);
    expect(outside.filter(spec => spec.includes("namespace"))).toEqual([]);
  });

  it("says of everything what it is for when there is no right at all", async () => {
    const lines = await said(() => true);
    expect(lines).toHaveLength(needs.length);
    for (const line of lines)
      expect(line).toMatch(/^the operator may not [\w, ]+ \S+.*; (\w+|the operator itself): .+\.?$/);
  });
});
