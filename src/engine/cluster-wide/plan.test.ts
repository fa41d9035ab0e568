import { describe, expect, it } from "vitest";
import type { ControllerResilience } from "../../api/controller-resilience";
import type { Facts } from "./facts";
import { planNamespace } from "./plan";
import {
  beingDeleted,
  candidate,
  carryOut,
  clusterObject,
  facts,
  handWritten,
  namespaceFacts,
} from "./testing/fixtures";

const targetsOf = (object: ControllerResilience | undefined) =>
  object?.spec.targets.map(({ kind, name }) => `${kind}/${String(name)}`);

/** Plans and carries out until nothing is left to write. */
function settle(of: Facts): ControllerResilience[] {
  let objects = [...of.objects];
  for (let round = 0; round < 3; round++) objects = carryOut(objects, planNamespace({ ...of, objects }));
  expect(planNamespace({ ...of, objects }).writes).toEqual([]);
  return objects;
}

const workloads = (count: number) =>
  Array.from({ length: count }, (_, index) => candidate(`Deployment/w${String(index).padStart(3, "0")}`));

describe("planNamespace", () => {
  it("writes nothing in a namespace that is being deleted", () => {
    const objects = settle(facts());
    const namespace = namespaceFacts("web", { deletedAtMs: 1 });
    expect(planNamespace(facts({ namespace })).writes).toEqual([]);
    expect(planNamespace(facts({ namespace, objects })).writes).toEqual([]);
  });

  it("undoes manual edits, those of its labels and of further blocks included", () => {
    const [object] = settle(facts());
    if (object === undefined) throw new Error("expected an object");
    const edited: ControllerResilience = {
      ...object,
      metadata: { ...object.metadata, labels: { mine: "kept" } },
      spec: { ...object.spec, mode: "Enforce", tokenLifetime: {} as never },
    };
    const [after] = settle(facts({ objects: [edited] }));
    expect(after?.spec).toEqual(object.spec);
    expect(after?.metadata.labels).toEqual({ ...object.metadata.labels, mine: "kept" });
  });

  it("is done with a null of the template, which a patch cannot write", () => {
    const owner = (renewUntil?: string | null) =>
      clusterObject("all", { template: { bindingRenewal: { bindings: [], renewUntil } as never } });
    const values = [null, "2027-01-01T00:00:00Z", null, undefined, null];
    let objects: ControllerResilience[] = [];
    for (const value of values) {
      objects = settle(facts({ objects, clusterObjects: [owner(value)] }));
      expect(objects[0]?.spec.bindingRenewal?.renewUntil ?? null).toBe(value ?? null);
    }
  });

  it("keeps the object of a suspended owner, which would undo what remedies made, until the owner goes on", () => {
    const [workloads, objects] = [{ kinds: ["StatefulSet" as const], selector: {} }, settle(facts())];
    const clusterObjects = [clusterObject("all", { suspend: true, workloads })];
    const [kept] = settle(facts({ objects, clusterObjects }));
    expect(kept?.spec).toMatchObject({ suspend: true, targets: [{ kind: "Deployment", name: "web" }] });
    expect(settle(facts({ objects: [kept!], clusterObjects: [clusterObject("all", { workloads })] }))).toEqual([]);
  });

  it("keeps a workload whose binding is gone, since its object says which", () => {
    const objects = settle(facts());
    const candidates = [candidate("Deployment/web", { usesApi: false })];
    expect(planNamespace(facts({ objects, candidates })).writes).toEqual([]);
    const tokenless = [candidate("Deployment/web", { usesApi: false, mountsToken: false })];
    const { writes } = planNamespace(facts({ objects, candidates: tokenless }));
    expect(writes.map(({ intent }) => intent.verb)).toEqual(["delete"]);
  });

  it("lists up to 1,024 workloads in one object, those first that it lists already", () => {
    const candidates = workloads(1_025);
    const [object, ...others] = settle(facts({ candidates: candidates.slice(1) }));
    expect([targetsOf(object)?.length, others]).toEqual([1_024, []]);
    const after = settle(facts({ candidates, objects: [object!] }));
    expect(after.map(targetsOf)).toEqual([targetsOf(object)]);
    const { shares } = planNamespace(facts({ candidates, objects: after }));
    expect(shares.get("uid-all")).toMatchObject({ protected: 1_024, isSettled: true });
    const fewer = settle(facts({ candidates: candidates.slice(2), objects: after }));
    expect(fewer.map(targetsOf)).toEqual([targetsOf(object)?.slice(1)]);
  });

  it.each(["c", "all-mine", "all-2-mine"])(
    "leaves out what a hand-written object, or a copy of its own, names or selects, and does not take its name: %s",
    copy => {
      const candidates = [
        candidate("Deployment/web"),
        candidate("Deployment/labelled", { labels: { team: "a" } }),
        candidate("StatefulSet/db", { labels: { team: "a" } }),
        candidate("Deployment/rest"),
      ];
      const objects = [
        handWritten("all", [{ kind: "Deployment", name: "web" }]),
        handWritten("b", [{ kind: "Deployment", selector: { matchLabels: { team: "a" } } }]),
        handWritten("c", [{ kind: "StatefulSet", selector: { matchLabels: { team: "a" } } }]),
      ];
      const [generated] = settle(facts());
      Object.assign(objects[2]!, { metadata: { ...generated!.metadata, name: copy } });
      const after = settle(facts({ candidates, objects }));
      expect(after.slice(3).map(object => [object.metadata.name, targetsOf(object)])).toEqual([
        ["all-2", ["Deployment/rest"]],
      ]);
      const { excluded } = planNamespace(facts({ candidates, objects })).shares.get("uid-all")!;
      expect([...excluded.values()]).toEqual(["HandWritten", "HandWritten", "HandWritten"]);
    },
  );

  it("leaves a person's copy alone that has name and labels, but no owner", () => {
    const [generated] = settle(facts());
    const metadata = { ...generated!.metadata, ownerReferences: [] };
    const copy = { ...generated!, metadata, spec: { ...generated!.spec, mode: "Enforce" as const } };
    for (const candidates of [facts().candidates, []]) {
      expect(settle(facts({ candidates, objects: [copy] }))).toEqual([copy]);
    }
  });

  it("protects what only an object that is being deleted names, since that does nothing any more", () => {
    const objects = [beingDeleted(handWritten("a", [{ kind: "Deployment", name: "web" }]))];
    const after = settle(facts({ objects }));
    expect(after.slice(1).map(object => [object.metadata.name, targetsOf(object)])).toEqual([
      ["all", ["Deployment/web"]],
    ]);
  });

  it("keeps what it does not select any more only where an object lists it that is not being deleted", () => {
    const objects = settle(facts());
    const clusterObjects = [clusterObject("all", { excludeNamespaces: ["web"] })];
    const keptIn = (of: Facts) => planNamespace(of, () => true).shares.get("uid-all")?.lost;
    expect(keptIn(facts({ objects, clusterObjects }))).toEqual(["Deployment/web"]);
    expect(planNamespace(facts({ objects, clusterObjects }), () => true).writes).toEqual([]);
    expect(keptIn(facts({ objects: objects.map(beingDeleted), clusterObjects }))).toEqual([]);
    const mine = handWritten("mine", [{ kind: "Deployment", name: "web" }]);
    expect(keptIn(facts({ objects: [...objects, mine], clusterObjects }))).toEqual([]);
  });

  it("ignores the objects of an earlier ClusterControllerResilience of the same name, which are being deleted", () => {
    const objects = settle(facts());
    const recreated = clusterObject("all");
    const clusterObjects = [{ ...recreated, metadata: { ...recreated.metadata, uid: "uid-new" } }];
    const { writes } = planNamespace(facts({ objects, clusterObjects }));
    expect(writes.map(({ intent }) => [intent.verb, intent.target.name])).toEqual([["create", "all-2"]]);
  });
});
