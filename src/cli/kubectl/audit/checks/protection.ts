import { protectionsOf } from "../../../../engine/cluster-wide/coverage";
import { planNamespace } from "../../../../engine/cluster-wide/plan";
import type { AuditFacts } from "../facts";
import type { Finding } from "../finding";

/** Workloads that use the API and that no ControllerResilience protects. */
export function unprotected({ coverage = [] }: AuditFacts): Finding[] {
  return coverage.flatMap(facts =>
    protectionsOf(facts, planNamespace(facts))
      .filter(({ protection }) => protection === "unprotected")
      .map(({ workload, reason }) => {
        const [kind = "", name = ""] = workload.split("/");
        const namespace = facts.namespace.name;
        const isInstalled = facts.clusterObjects.length > 0;
        return {
          ...({ severity: "notice", check: "Unprotected", kind, namespace, name } as const),
          why: `it uses the API, and no ControllerResilience protects it${isInstalled ? ` (${reason})` : ""}: if its token dies, it stays Running and Ready.`,
          wayOut: "Protect it with a ControllerResilience, in mode Observe first (docs/examples/first-object.yaml).",
        };
      }),
  );
}
