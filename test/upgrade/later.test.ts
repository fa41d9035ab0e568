import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { ControllerResilience } from "../../src/api/controller-resilience";
import type { ApiRequest } from "../../src/cluster/http/api";
import { Rig } from "../rig/rig";
import { NAME, objectPath, protect, readObject, says, type Scene, until } from "../rig/scenario";
import { bindingRenewal, staleToken } from "../rig/scenarios";
import { ClusterClient } from "../cluster/client";
import { install } from "../cluster/installation";
import { Lab } from "../lab";
import { printer } from "../lab/progress";
import { bundleEntry } from "../operator/bundle";
import { forget, writesOf } from "./handover";

// What a later version leaves behind when it is rolled back to this one: fields and values that this version does not know.

const CRD = "controllerresiliences.controller-resilience.io";
const LATER = "Later";
/** Much longer than this operator needs for a restart or a renewal. */
const QUIET_MS = 30_000;

interface Schema {
  enum?: string[];
  required?: string[];
  properties: Record<string, Schema>;
  items: Schema;
}

const text = readFileSync(join(__dirname, "../../crds/controllerresilience.yaml"), "utf8");
let lab: Lab;
let rig: Rig;

/** The definition of a later version: it knows one more field, mode, kind of evidence and outcome. */
function laterDefinition(): object {
  const crd = parse(text) as { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } };
  const { spec, status } = crd.spec.versions[0]!.schema.openAPIV3Schema.properties as { spec: Schema; status: Schema };
  spec.properties["later"] = { type: "string" } as unknown as Schema;
  const outcome = status.properties["restarts"]!.items.properties["outcome"]!;
  for (const { enum: values } of [
    spec.properties["mode"]!,
    spec.properties["tokenRestart"]!.properties["evidence"]!.items,
    outcome,
  ])
    values!.push(LATER);
  return crd;
}

/** The definition of an earlier version, which does not know status.restarts[].podUID yet. */
function earlierDefinition(): object {
  const crd = parse(text) as { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } };
  const { status } = crd.spec.versions[0]!.schema.openAPIV3Schema.properties as { status: Schema };
  const { items } = status.properties["restarts"]!;
  items.required = (items.required ?? []).filter(name => name !== "podUID");
  delete (items.properties as Partial<Schema["properties"]>)["podUID"];
  return crd;
}

/** Applies a definition, and waits until the API server shows the field `later`, or no longer. */
async function define(definition: string | object, scene?: Scene, shows?: string): Promise<void> {
  const client = ClusterClient.of(lab);
  await client.apply(typeof definition === "string" ? definition : [definition]);
  await client.untilServed([`crd/${CRD}`]);
  if (scene === undefined) return;
  const shown = async (): Promise<unknown> =>
    ((await readObject(scene))?.spec as { later?: string } | undefined)?.later;
  await until(`the field later to be ${String(shows)}`, async () => (await shown()) === shows);
}

/** Waits until the API server keeps the field `later` of an object that is written now. Changes nothing. */
async function untilKept(scene: Scene): Promise<void> {
  const write: ApiRequest = {
    what: "PATCH spec.later",
    method: "PATCH",
    path: objectPath(scene),
    query: { dryRun: "All" },
    body: { spec: { later: "kept" } },
    contentType: "application/merge-patch+json",
  };
  const written = async (): Promise<unknown> =>
    (await scene.admin.api.json<{ spec: { later?: string } }>(write)).spec.later;
  await until("the field later to be known again", async () => (await written()) === "kept");
}

beforeAll(async () => {
  lab = await Lab.up({ name: "upgrade-later", controlPlaneOnly: true, onProgress: printer(process.stderr) });
  const withLater = async (client: ClusterClient): Promise<void> => {
    await install(client);
    await define(laterDefinition());
  };
  rig = await Rig.up(lab, { RESILIENCE_FULL_PASS_SECONDS: "15" }, { bundle: bundleEntry, install: withLater });
});

afterAll(() => lab.down());

describe("a rollback from a later version", () => {
  /** A person removes the kind of evidence that this version does not know. */
  const known = { spec: { tokenRestart: { evidence: ["Logs", "ServiceAccountAge"] } } };
  let evidence: Scene;
  let outcome: Scene;
  let mode: Scene;

  it("begins with objects that use what only the later version knows", async () => {
    forget(rig);
    [evidence, outcome, mode] = [await rig.scene("evidence"), await rig.scene("outcome"), await rig.scene("mode")];
    await staleToken.prepare(evidence);
    await staleToken.prepare(outcome);
    await bindingRenewal.prepare(mode);
    await protect(evidence, "Deployment", {
      tokenRestart: { evidence: ["Logs", "ServiceAccountAge", LATER] },
      ...{ later: "kept" },
    });
    await protect(mode, "Deployment", { mode: LATER, bindingRenewal: { extendBy: "24h" } });
    const { metadata } = await protect(outcome, "Deployment", { mode: "Observe", tokenRestart: {} });
    const restart = { time: metadata.creationTimestamp, workload: `Deployment/${NAME}`, pod: "gone", outcome: LATER };
    const restarts = [{ ...restart, cause: "ServiceAccountRecreated", podUID: "gone", serviceAccountUID: "gone" }];
    await outcome.admin.patch(`${objectPath(outcome)}/status`, { status: { restarts } });
    await define(text, evidence);
    await outcome.admin.patch(objectPath(outcome), { spec: { mode: "Enforce" } });
  });

  it("leads to no action of a remedy that does not know a kind of evidence, and says so", async () => {
    const why = 'No action: found "Later" in tokenRestart.evidence[]';
    const message = async (): Promise<string> => conditionOf(await readObject(evidence), "TokensAccepted");
    await until("the condition", async () => (await message()).startsWith(`Unknown ObserveFailed: ${why}`));
    await sleep(QUIET_MS);
    expect(await staleToken.describe(evidence)).toMatchObject({ pods: 1, restarts: [], restartsTotal: 0 });
  });

  it("leads to no action in a mode that is not known", async () => {
    expect(await bindingRenewal.describe(mode)).toMatchObject({ hours: 7 });
    expect(writesOf(rig).filter(write => !/controllerresiliences\/status/.test(write))).toEqual([]);
  });

  it("counts a restart whose outcome is not known", async () => {
    const isDeferred = async (): Promise<boolean> =>
      says(await staleToken.describe(outcome), "TokensAccepted", "RestartDeferred");
    await until("the restart to be deferred", isDeferred);
    expect(await staleToken.describe(outcome)).toMatchObject({ pods: 1, restartsTotal: 0 });
  });

  it("keeps a field until the next write of its object, as docs/upgrading.md says", async () => {
    await define(text, evidence, undefined);
    await define(laterDefinition(), evidence, "kept");
    await define(text, evidence, undefined);
    await evidence.admin.patch(objectPath(evidence), { metadata: { labels: { written: "true" } } });
    await define(laterDefinition());
    await untilKept(outcome);
    expect((await readObject(evidence))?.spec).not.toHaveProperty("later");
    await define(text);
  });

  it("leads to no restart under definitions of an earlier version, which refuse its record", async () => {
    await define(earlierDefinition());
    const podUID = async (): Promise<unknown> => (await readObject(outcome))?.status?.restarts?.[0]?.podUID;
    await until("the field podUID to be unknown", async () => (await podUID()) === undefined);
    forget(rig);
    await evidence.admin.patch(objectPath(evidence), known);
    const complains = (): boolean => rig.operator.complaints().join().includes("upgrade the definitions in crds/");
    await until("the complaint", () => Promise.resolve(complains()));
    await sleep(QUIET_MS);
    expect(writesOf(rig).filter(write => !/controllerresiliences\/status/.test(write))).toEqual([]);
    await define(text);
  });

  it("ends with a person's change: all evidence is known again", async () => {
    await evidence.admin.patch(objectPath(evidence), known);
    const isOver = async (): Promise<boolean> => staleToken.isOver(await staleToken.describe(evidence));
    await until("the restart", isOver);
  });
});

function conditionOf(object: ControllerResilience | undefined, type: string): string {
  const found = object?.status?.conditions?.find(condition => condition.type === type);
  return found === undefined ? "" : `${found.status} ${found.reason}: ${found.message}`;
}
