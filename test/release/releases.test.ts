import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Cause } from "../../src/api/conditions";
import type { ControllerResilience } from "../../src/api/controller-resilience";
import { checkSpec, type Schema, schemaOf } from "../../src/cli/schema/check";
import { keyOf } from "../../src/core/text";
import { FakeClock } from "../../src/core/testing/fake-clock";
import { ObjectSession } from "../../src/engine/object/object-session";
import { MemoryObjects } from "../../src/engine/testing/fakes";
import { makeRestarts } from "../../src/restarts/testing/ledger";
import { makeClaim } from "../../src/engine/testing/remedies";

// Objects as an operator of each release wrote them (`npm run release:fixtures`): this version reads them as they were meant.

const MINUTE_MS = 60_000;
const RELEASES = join(__dirname, "../fixtures/releases");

function objectsOf(release: string): Readonly<Record<string, ControllerResilience>> {
  return JSON.parse(readFileSync(join(RELEASES, release, "objects.json"), "utf8")) as Record<
    string,
    ControllerResilience
  >;
}

/** Drops unknown fields, as the API server does; compatibility.test.ts checks that docs/upgrading.md names them. */
function pruned(value: unknown, { properties, items }: Schema): unknown {
  if (Array.isArray(value)) return items === undefined ? value : value.map(item => pruned(item, items));
  if (properties === undefined || value === null || typeof value !== "object") return value;
  const known = Object.entries(value).flatMap(([name, field]) => {
    const schema = properties[name];
    return schema === undefined ? [] : [[name, pruned(field, schema)] as const];
  });
  return Object.fromEntries(known);
}

const releases = readdirSync(RELEASES, { withFileTypes: true }).filter(entry => entry.isDirectory());

describe.each(releases.map(({ name }) => name))("objects of %s", release => {
  const objects = objectsOf(release);
  const partOf = (field: "spec" | "status"): Schema => ({
    ...schemaOf("ControllerResilience").properties?.[field],
    default: undefined,
  });

  it.each(Object.entries(objects))("are valid now: %s", (_, { spec, status }) => {
    expect(checkSpec(pruned(spec, partOf("spec")), partOf("spec"), "spec")).toEqual([]);
    expect(checkSpec(pruned(status, partOf("status")), partOf("status"), "status")).toEqual([]);
  });

  it("hold what the remedies go on from", () => {
    expect(objects["stale-token"]?.status?.restarts).toMatchObject([
      { workload: "Deployment/web", cause: Cause.ServiceAccountRecreated, outcome: "Recovered" },
    ]);
    expect(objects["binding-renewal"]?.status?.bindings).toMatchObject([{ name: "web", state: "Current" }]);
    expect(objects["token-template"]?.status?.daemonSets).toMatchObject([{ name: "web", outcome: "Bounded" }]);
    expect(objects["flow-isolation"]?.status?.flows).toMatchObject([{ serviceAccount: "web", state: "Normal" }]);
  });

  it("count against today's budgets: a restart defers the next one", () => {
    const object = objects["stale-token"]!;
    const at = Date.parse(object.status?.restarts?.[0]?.time ?? "");
    const deferredAfter = (ms: number): string | undefined => {
      const clock = new FakeClock(new Date(at + ms));
      const restarts = makeRestarts(clock);
      clock.advance(10_000);
      restarts.load(keyOf(object), object);
      const session = new ObjectSession(object, new MemoryObjects(), clock);
      const claim = makeClaim("web-1", { workload: "Deployment/web", cause: Cause.ServiceAccountRecreated });
      return restarts.settle(session).deferral(claim)?.limit;
    };
    expect(deferredAfter(MINUTE_MS)).toBe("Cooldown");
    expect(deferredAfter(11 * MINUTE_MS)).toBeUndefined();
  });
});
