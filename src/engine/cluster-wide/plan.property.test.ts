import { workloadId } from "../../core/text";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { ControllerResilience } from "../../api/controller-resilience";
import { type Candidate, type Facts, protectOf } from "./facts";
import { isGenerated } from "./generated";
import { planNamespace } from "./plan";
import { workloadsOf } from "./selection";
import { candidate, carryOut, clusterObject, facts, handWritten, namespaceFacts } from "./testing/fixtures";

const labels = fc.constantFrom({}, { team: "a" }, { team: "b" });
const protect = fc.constantFrom(undefined, undefined, true, false);

const candidates: fc.Arbitrary<Candidate[]> = fc
  .uniqueArray(
    fc.record({
      workload: fc
        .tuple(fc.constantFrom("Deployment", "StatefulSet", "DaemonSet"), fc.nat(40))
        .map(([kind, number]) => `${kind}/w${String(number)}`),
      ...{ labels, usesApi: fc.boolean(), skip: fc.boolean(), protect },
    }),
    { maxLength: 60, selector: ({ workload }) => workload },
  )
  .map(items => items.map(({ workload, ...more }) => candidate(workload, more)));

const namespaces = fc
  .record({ labels, protect, skip: fc.boolean(), isGone: fc.constantFrom(false, false, false, true) })
  .map(({ isGone, ...more }) => namespaceFacts("web", { ...more, ...(isGone && { deletedAtMs: 1 }) }));

const clusterObjects = fc
  .array(
    fc.record({
      mode: fc.constantFrom("Observe" as const, "Enforce" as const),
      suspend: fc.boolean(),
      namespaceSelector: fc.constantFrom({}, { matchLabels: { team: "a" } }),
      excludeNamespaces: fc.constantFrom<string[]>([], ["we*"], ["other"]),
      workloads: fc.record({
        kinds: fc.constantFrom<("Deployment" | "DaemonSet")[]>(["Deployment"], ["Deployment", "DaemonSet"]),
        selector: fc.constantFrom({}, { matchLabels: { team: "b" } }),
      }),
    }),
    { maxLength: 3 },
  )
  .map(specs => specs.map((spec, index) => clusterObject(`c${String(index)}`, spec)));

const hand = fc
  .array(fc.constantFrom("w1", "w2", "w3"), { maxLength: 2 })
  .map(names => names.map((name, index) => handWritten(`hand-${String(index)}`, [{ kind: "Deployment", name }])));

const anyFacts: fc.Arbitrary<Facts> = fc
  .record({ namespace: namespaces, candidates, clusterObjects, objects: hand })
  .map(parts => facts(parts));

function settled(of: Facts, objects: readonly ControllerResilience[]): ControllerResilience[] {
  const first = carryOut(objects, planNamespace({ ...of, objects }));
  return carryOut(first, planNamespace({ ...of, objects: first }));
}

/** The same, and the operator acts there, for every owner. */
function acting(of: Facts): Facts {
  const clusterObjects = of.clusterObjects.map(owner => ({ ...owner, spec: { ...owner.spec, suspend: false } }));
  return { ...of, clusterObjects, namespace: { ...of.namespace, skip: false }, observes: false };
}

it("settles after two rounds from whatever there was before: one object per ClusterControllerResilience, each workload in at most one, none that is hand-written", () => {
  fc.assert(
    fc.property(anyFacts, anyFacts, (before, changed) => {
      const after = acting(changed);
      const old = settled(before, before.objects).filter(isGenerated);
      const start = [
        ...after.objects,
        ...old.filter(({ metadata }) => after.objects.every(object => object.metadata.name !== metadata.name)),
      ];
      const objects = settled(after, start);
      expect(planNamespace({ ...after, objects }).writes).toEqual([]);
      if (after.namespace.deletedAtMs !== undefined) return;
      const owners = new Set(after.clusterObjects.map(({ metadata }) => metadata.uid));
      const live = objects.filter(
        object => isGenerated(object) && owners.has(object.metadata.ownerReferences?.[0]?.uid ?? ""),
      );
      const listed = live.flatMap(({ spec }) => spec.targets.map(({ kind, name }) => `${kind}/${String(name)}`));
      expect(new Set(listed).size).toBe(listed.length);
      const claimed = new Set(after.objects.flatMap(object => [...workloadsOf(object, after.candidates)]));
      expect(listed.filter(workload => claimed.has(workload))).toEqual([]);
      const known = new Map(after.candidates.map(one => [workloadId(one), one]));
      for (const workload of listed) expect(protectOf(known.get(workload)!)).not.toBe(false);
      if (protectOf(after.namespace) === false) expect(listed).toEqual([]);
      for (const { spec } of live) expect(spec.targets.length).toBeGreaterThan(0);
      const perOwner = live.map(({ metadata }) => metadata.ownerReferences?.[0]?.uid);
      expect(new Set(perOwner).size).toBe(perOwner.length);
    }),
    { numRuns: 300 },
  );
});

it("restores nothing where the operator does not act: no object is deleted and no block, and what should go is in Observe", () => {
  fc.assert(
    fc.property(anyFacts, anyFacts, fc.boolean(), (before, changed, observes) => {
      const namespace = { ...changed.namespace, skip: !observes };
      const after = { ...changed, namespace, observes, objects: settled(before, []) };
      const objects = settled(after, after.objects);
      expect(planNamespace({ ...after, objects }).writes).toEqual([]);
      const names = objects.map(({ metadata }) => metadata.name);
      for (const object of after.objects) expect(names).toContain(object.metadata.name);
      for (const { intent } of planNamespace(after).writes) expect(intent.verb).not.toBe("delete");
      if (after.namespace.deletedAtMs !== undefined) return;
      const superfluous = planNamespace({ ...acting(after), objects, observes: false }).writes.filter(
        ({ intent }) => intent.verb === "delete",
      );
      const modeOf = new Map(objects.map(({ metadata, spec }) => [metadata.name, spec.mode]));
      for (const { intent } of superfluous) expect(modeOf.get(intent.target.name)).toBe("Observe");
    }),
    { numRuns: 200 },
  );
});

it("deletes nothing for a suspended owner, and suspends what it keeps", () => {
  fc.assert(
    fc.property(anyFacts, anyFacts, (before, changed) => {
      const after = { ...changed, objects: settled(before, []) };
      const objects = settled(after, after.objects);
      expect(planNamespace({ ...after, objects }).writes).toEqual([]);
      if (after.namespace.deletedAtMs !== undefined) return;
      for (const { metadata } of after.clusterObjects.filter(({ spec }) => spec.suspend)) {
        const ofOwner = (all: readonly ControllerResilience[]) =>
          all.filter(object => object.metadata.ownerReferences?.[0]?.uid === metadata.uid);
        expect(ofOwner(objects).length).toBeGreaterThanOrEqual(ofOwner(after.objects).length);
        for (const { spec } of ofOwner(objects)) expect(spec.suspend).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});

it("never changes a hand-written object", () => {
  fc.assert(
    fc.property(anyFacts, of => {
      const uids = new Set(of.objects.map(({ metadata }) => metadata.uid));
      expect(planNamespace(of).writes.filter(({ intent }) => uids.has(intent.target.uid ?? ""))).toEqual([]);
    }),
    { numRuns: 200 },
  );
});
