import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ControllerResilience } from "../../src/api/controller-resilience";
import { FINALIZER, GENERATED_FOR_LABEL, LEVELS_ANNOTATION } from "../../src/api/names";
import { flowSchemaName } from "../../src/remedies/flow-isolation/objects";
import { ownedName, ownerAnnotations, ownerLabels } from "../../src/core/owned";
import { Rig } from "../chaos/rig";
import { until } from "../chaos/scenario";
import { ClusterClient } from "../cluster/client";
import { install } from "../cluster/installation";
import { Lab } from "../lab";
import { printer } from "../lab/progress";
import { bundleEntry } from "../operator/bundle";

// The operator starts in a cluster in which version 0.1.0 worked: with objects that use what is gone, and with what it made for them.

const NAMESPACE = "leftovers";
const EARLIER = join(__dirname, "../fixtures/releases/0.1.0/crds");
const API = "controller-resilience.io/v1alpha1";
const FLOWS = "flowcontrol.apiserver.k8s.io/v1";

/** Everything that is gone from the blocks of an object. */
const FORMER_SPEC = {
  targets: [{ kind: "Deployment", name: "web" }],
  windows: [{ schedule: "0 2 * * 6", duration: "3h" }],
  tokenRestart: { strategy: "RolloutRestart", extraPatterns: ["token .* is gone"], respectWindows: true, occasions: 5 },
  bindingRenewal: { restoreExpired: true },
  flowIsolation: {
    ...{ dedicated: { nominalConcurrencyShares: 3 }, matchingPrecedence: 700, protectLeases: false },
    requestRate: { onRunaway: "ScaleToZero", throttleSystem: true },
  },
  stallDetection: { evidence: ["Lease", "Audit"] },
};

let lab: Lab;
let rig: Rig;
let client: ClusterClient;
let level: string;

const cres = (name: string, spec: object, more: object = {}): object => ({
  apiVersion: API,
  kind: "ControllerResilience",
  metadata: { name, namespace: NAMESPACE, ...more },
  spec,
});

async function read<T>(kind: string, name?: string): Promise<T> {
  const where = name === undefined ? [] : [name];
  return JSON.parse(await client.output(["get", kind, ...where, "-n", NAMESPACE, "-o", "json"])) as T;
}

async function isThere(kind: string, name: string): Promise<boolean> {
  return (await client.output(["get", kind, name, "-n", NAMESPACE, "--ignore-not-found", "-o", "name"])) !== "";
}

/** What version 0.1.0 had made for an object outside of its namespace. */
function madeFor(owner: ControllerResilience): object[] {
  level = ownedName("controller-resilience-", [NAMESPACE, owner.metadata.name], [owner.metadata.uid]);
  const labels = ownerLabels(owner);
  const annotations = ownerAnnotations(owner);
  const user = { namespace: NAMESPACE, name: "web" };
  return [
    {
      ...{ apiVersion: FLOWS, kind: "PriorityLevelConfiguration", metadata: { name: level, labels, annotations } },
      spec: { type: "Limited", limited: { nominalConcurrencyShares: 3, limitResponse: { type: "Reject" } } },
    },
    {
      ...{ apiVersion: FLOWS, kind: "FlowSchema" },
      metadata: {
        ...{ name: flowSchemaName(owner, "web"), labels },
        annotations: { ...annotations, [LEVELS_ANNOTATION]: level },
      },
      spec: {
        ...{ matchingPrecedence: 700, priorityLevelConfiguration: { name: level } },
        rules: [
          {
            subjects: [{ kind: "ServiceAccount", serviceAccount: user }],
            resourceRules: [
              { verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] },
            ],
          },
        ],
      },
    },
  ];
}

/** A cluster in which version 0.1.0 worked, and then the definitions and rights of this version. */
async function upgraded(): Promise<void> {
  for (const file of ["controllerresilience.yaml", "clustercontrollerresilience.yaml"])
    await client.apply(readFileSync(join(EARLIER, file), "utf8"));
  const ours = ["controllerresiliences", "clustercontrollerresiliences"];
  await client.untilServed(ours.map(plural => `crd/${plural}.controller-resilience.io`));
  await client.createNamespace(NAMESPACE);
  const labels = { app: "web" };
  const template = {
    metadata: { labels },
    spec: { serviceAccountName: "web", containers: [{ name: "c", image: "none" }] },
  };
  await client.apply([
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "web", namespace: NAMESPACE } },
    {
      ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: NAMESPACE } },
      spec: { replicas: 0, selector: { matchLabels: labels }, template },
    },
    cres("former", FORMER_SPEC, { finalizers: [FINALIZER] }),
    cres("pods", { targets: [{ kind: "Pod", selector: { matchLabels: labels } }], tokenRestart: {} }),
    cres("admission", { targets: [{ kind: "DaemonSet", name: "agent" }], tokenLifetime: { via: "Admission" } }),
    {
      ...{ apiVersion: API, kind: "ClusterControllerResilience", metadata: { name: "all" } },
      spec: {
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": NAMESPACE } },
        ...{ presets: { disabled: [] }, template: { tokenRestart: {} } },
      },
    },
  ]);
  const all = await read<ControllerResilience>("ccres", "all");
  const owner = { apiVersion: API, kind: "ClusterControllerResilience", name: "all", uid: all.metadata.uid };
  const generated = {
    labels: { [GENERATED_FOR_LABEL]: "all" },
    ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
  };
  await client.apply([cres("all-2", { targets: [{ kind: "Deployment", name: "web" }], tokenRestart: {} }, generated)]);
  await client.apply(madeFor(await read<ControllerResilience>("cres", "former")));
  await install(client);
}

beforeAll(async () => {
  lab = await Lab.up({ name: "upgrade-leftovers", controlPlaneOnly: true, onProgress: printer(process.stderr) });
  client = ClusterClient.of(lab);
  rig = await Rig.up(lab, {}, { bundle: bundleEntry, install: upgraded });
}, 1_800_000);

afterAll(async () => {
  // If beforeAll failed, its error must stay visible.
  await (rig as Rig | undefined)?.down();
  await (lab as Lab | undefined)?.down();
});

async function conditionOf(name: string, type: string): Promise<string> {
  const { status } = await read<ControllerResilience>("cres", name);
  const found = status?.conditions?.find(condition => condition.type === type);
  return found === undefined ? "" : `${found.status} ${found.reason}: ${found.message}`;
}

const untilSays = (name: string, type: string, pattern: RegExp): Promise<void> =>
  until(`${type} of ${name} to say ${pattern.source}`, async () => pattern.test(await conditionOf(name, type)));

describe("what version 0.1.0 left", () => {
  it("drops fields that are gone, and goes on with the rest of their blocks", async () => {
    const { spec } = await read<ControllerResilience>("cres", "former");
    expect(spec).not.toHaveProperty("windows");
    expect(Object.keys(spec.tokenRestart ?? {})).not.toContain("strategy");
    await untilSays("former", "TokensAccepted", /^True /);
  });

  it("does nothing where a value is gone, and names the value", async () => {
    await untilSays("former", "ControllersActive", /"Audit" in stallDetection\.evidence/);
    await untilSays("pods", "TokensAccepted", /"Pod" in targets\[\]\.kind/);
  });

  it("moves a flow to the shared level, and deletes the dedicated one", async () => {
    await until("the dedicated level to go", async () => !(await isThere("prioritylevelconfigurations", level)));
    const schemas = await read<{ items: { spec: { priorityLevelConfiguration: { name: string } } }[] }>("flowschemas");
    expect(schemas.items.map(({ spec }) => spec.priorityLevelConfiguration.name)).not.toContain(level);
  });

  it("deletes a generated object that nothing wants", async () => {
    await until("the second generated object to go", async () => !(await isThere("cres", "all-2")));
  });

  it("lets go of deleted objects, and leaves nothing", async () => {
    await client.output(["delete", "ccres", "all"]);
    await client.output(["delete", "cres", "--all", "-n", NAMESPACE, "--wait=false"]);
    await until("all objects to go", async () => (await read<{ items: object[] }>("cres")).items.length === 0);
    const left = await client.output(["get", "flowschemas", "-o", "name"]);
    expect(left).not.toContain(`controller-resilience-${NAMESPACE}`);
  });
});
