import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ForbiddenError } from "../../src/core/errors";
import { installAdmissionPolicy, removeAdmissionPolicy } from "../cluster/admission-policy";
import { type Author, Authors, CLUSTER_OBJECTS, type Right, RIGHTS } from "./admission-authors";
import { Admin, eventually } from "./cluster-world";

// The policy for ClusterControllerResiliences on a real API server: their author needs the rights in all namespaces.

const PATH = "/apis/controller-resilience.io/v1alpha1/clustercontrollerresiliences";

const admin = new Admin();
let namespace: string;
let authors: Authors;

const everywhere = (right: Right): Right => ({ ...right, isCluster: true });
const CREATE: Right = {
  verb: "create",
  group: "controller-resilience.io",
  resource: "controllerresiliences",
  isCluster: true,
};

beforeAll(async () => {
  namespace = await admin.namespace("cluster-authors");
  authors = new Authors(admin, namespace);
  await installAdmissionPolicy(admin);
  const stranger = await authors.with([], CLUSTER_OBJECTS);
  await eventually(
    () => refusal(stranger, { template: { tokenRestart: {} } }),
    message => message !== undefined,
  );
});

afterAll(async () => {
  await removeAdmissionPolicy(admin);
  authors.close();
  admin.connection.close();
});

/** Sends a dry run of a creation. Returns the API server's refusal, or undefined if it accepts. */
async function refusal({ api, name }: Author, spec: object): Promise<string | undefined> {
  const body = {
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ClusterControllerResilience",
    metadata: { name: "new" },
    spec,
  };
  try {
    await api.json({ what: `create as ${name}`, method: "POST", path: PATH, query: { dryRun: "All" }, body });
    return undefined;
  } catch (error) {
    if (error instanceof ForbiddenError) return error.message;
    throw error;
  }
}

const withRights = (...rights: Right[]): Promise<Author> => authors.with([CREATE, ...rights], CLUSTER_OBJECTS);

describe("the author of a ClusterControllerResilience", () => {
  it("needs the right to create the objects that are generated, unless it is suspended", async () => {
    const stranger = await authors.with([], CLUSTER_OBJECTS);
    const spec = { template: { tokenRestart: {} } };
    expect(await refusal(stranger, spec)).toContain(
      `user ${stranger.name} may not create controllerresiliences in all namespaces`,
    );
    expect(await refusal(stranger, { ...spec, suspend: true })).toBeUndefined();
  });

  it.each<[string, object, Right]>([
    ["tokenRestart", { tokenRestart: {} }, RIGHTS.evict],
    ["tokenRestart.strategy", { tokenRestart: { strategy: "RolloutRestart" } }, RIGHTS.patchDeployments],
    [
      "bindingRenewal",
      { bindingRenewal: { bindings: [{ kind: "RoleBinding", name: "a" }], restoreExpired: false } },
      RIGHTS.updateRoleBindings,
    ],
    ["tokenLifetime", { tokenLifetime: {} }, RIGHTS.patchDaemonSets],
    ["flowIsolation", { flowIsolation: {} }, RIGHTS.createFlowSchemas],
    ["stallDetection.onStall", { stallDetection: { onStall: "Restart" } }, RIGHTS.evict],
  ])("needs the rights of spec.template.%s in all namespaces, but not to observe", async (field, template, right) => {
    const spec = { workloads: { kinds: ["Deployment"] }, template };
    const local = await withRights(right);
    const message = `user ${local.name} may not ${right.verb} ${right.resource} in all namespaces, and spec.template.${field} would`;
    expect(await refusal(local, spec)).toBeUndefined();
    const enforce = { namespaceSelector: { matchLabels: { stage: "one" } } };
    if (right.isCluster !== true) {
      expect(await refusal(local, { ...spec, mode: "Enforce" })).toContain(message);
      expect(await refusal(local, { ...spec, enforce })).toContain(message);
    }
    const none = await withRights();
    expect(await refusal(none, { ...spec, mode: "Enforce" })).toContain(`spec.template.${field} would`);
    const global = await withRights(everywhere(right));
    expect(await refusal(global, { ...spec, mode: "Enforce" })).toBeUndefined();
    expect(await refusal(global, { ...spec, enforce })).toBeUndefined();
  });

  it("needs the right to read logs for patterns of their own, also to observe", async () => {
    const spec = { template: { tokenRestart: { extraPatterns: ["denied"] } } };
    const none = await withRights();
    expect(await refusal(none, spec)).toContain("may not get pods/log in all namespaces");
    expect(await refusal(await withRights(everywhere(RIGHTS.readLogs)), spec)).toBeUndefined();
  });
});
