import { beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../core/json";
import type { Kind } from "../../../core/kinds";
import type { Session } from "../session";
import type { Finding } from "./finding";
import { readKinds } from "./kinds";
import { ago, NOW } from "../testing/world";

// A cluster with Certificates of cert-manager, of which one is due since 20 minutes, and nothing has moved for 30.

interface Certificate {
  readonly name: string;
  readonly observed: number;
  /** Seconds since its spec, and its status, were changed. */
  readonly asked: number;
  readonly moved: number;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
}

let steps: string[];
let looks: Certificate[][];
let groups: object[];

beforeEach(() => {
  steps = [];
  groups = [{ name: "apps" }, group("cert-manager.io", "v1beta9", "v1")];
  looks = [[fresh, due]];
});

const fresh: Certificate = { name: "fresh", observed: 2, asked: 7_200, moved: 1_800 };
const due: Certificate = { name: "due", observed: 1, asked: 1_200, moved: 3_600 };

function group(name: string, ...versions: string[]): object {
  const all = versions.map(version => ({ groupVersion: `${name}/${version}` }));
  return { name, versions: all, preferredVersion: all[0] };
}

function raw({ name, observed, asked, moved, ...metadata }: Certificate): JsonObject {
  const managedFields = [
    { manager: "user", operation: "Apply", time: ago(asked) },
    { manager: "controller", operation: "Update", subresource: "status", time: ago(moved) },
  ];
  const conditions = [{ type: "Ready", status: "True", observedGeneration: observed }];
  // Each write changes it.
  const resourceVersion = [observed, asked, moved].join("");
  return {
    metadata: { name, namespace: "shop", uid: name, resourceVersion, generation: 2, managedFields, ...metadata },
    status: { conditions },
  };
}

async function audit(): Promise<{ findings: readonly Finding[]; read: string[] }> {
  const read: string[] = [];
  const resources = ["certificates", "certificates/status"].map(name => ({
    name,
    kind: "Certificate",
    namespaced: true,
  }));
  const session = {
    clock: { now: () => NOW },
    wait: (what: string) => Promise.resolve(void steps.push(what)),
    get: ({ path }: { path: string }) => Promise.resolve(path === "/apis" ? { groups } : { resources }),
  } as unknown as Session;
  const list = ((kind: Kind, view: (one: JsonObject) => unknown) => {
    read.push(`${kind.group}/${kind.version}/${kind.plural}`);
    const seen = looks[Math.min(read.length, looks.length) - 1] ?? [];
    return Promise.resolve(seen.map(one => view(raw(one))));
  }) as unknown as Parameters<typeof readKinds>[1]["list"];
  const tolerant = <T>(_: string, one: () => Promise<T>): Promise<T> => one();
  return { findings: await readKinds(session, { list, tolerant }, undefined, 0), read };
}

describe("work that is due", () => {
  it("is found by two looks, of the version that is known, with times and versions", async () => {
    const { findings, read } = await audit();
    expect(read).toEqual(["cert-manager.io/v1/certificates", "cert-manager.io/v1/certificates"]);
    expect(steps).toEqual(["whether anything moves: Certificate"]);
    expect(findings).toEqual([
      expect.objectContaining({ check: "WorkDue", kind: "Certificate", namespace: "shop", name: "due" }),
    ]);
    expect(findings[0]?.why).toContain("due for 20m, and no Certificate has moved for 30m");
    expect(findings[0]?.command).toBe("kubectl describe certificates.cert-manager.io due -n shop");
  });

  it.each<[string, Certificate[]]>([
    ["none", [fresh]],
    ["one that is young", [fresh, { ...due, asked: 800 }]],
    ["one since which another has moved", [{ ...fresh, moved: 1_100 }, due]],
  ])("needs no second look: %s", async (_, seen) => {
    looks = [seen];
    const { findings, read } = await audit();
    expect([findings, read.length, steps]).toEqual([[], 1, []]);
  });

  it.each<[string, Certificate[]]>([
    ["it is done", [fresh, { ...due, observed: 2, moved: 5 }]],
    ["another one moves", [{ ...fresh, moved: 5 }, due]],
    ["a new one is handled", [fresh, due, { ...fresh, name: "new" }]],
    ["the second look fails", []],
  ])("is none if %s within a minute", async (_, again) => {
    looks = [[fresh, due], again];
    expect((await audit()).findings).toEqual([]);
  });

  it("is none if the last finalizer of another one is removed, which only a controller does", async () => {
    looks = [[fresh, due], [due]];
    expect((await audit()).findings).toHaveLength(1);
    looks = [[{ ...fresh, deletionTimestamp: ago(60), finalizers: ["a/b"] }, due], [due]];
    expect((await audit()).findings).toEqual([]);
  });

  it("is not looked for where no known group is served", async () => {
    groups = [group("example.com", "v1")];
    expect((await audit()).read).toEqual([]);
  });

  it("is looked for in the preferred version of a group that serves others only", async () => {
    groups = [group("cert-manager.io", "v2", "v3")];
    expect((await audit()).read[0]).toBe("cert-manager.io/v2/certificates");
  });
});
