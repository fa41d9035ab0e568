import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { installAdmissionPolicy, POLICY_KINDS, removeAdmissionPolicy } from "../cluster/admission-policy";
import { type ChartObject, renderChart } from "../cluster/chart";
import { type Author, Authors, CLUSTER_OBJECTS, refused, type Right, RIGHTS } from "./admission-authors";
import { eventually } from "../cluster/admin";
import { suiteAdmin } from "./suite-lab";

// The policy for ClusterControllerResiliences on a real API server: their author needs the rights in all namespaces.

const PATH = "/apis/controller-resilience.io/v1alpha1/clustercontrollerresiliences";

const OWNER = { apiVersion: "controller-resilience.io/v1alpha1", kind: "ClusterControllerResilience" };

const admin = suiteAdmin();
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
function refusal(author: Author, spec: object): Promise<string | undefined> {
  const body = { ...OWNER, metadata: { name: "new" }, spec };
  return refused(author, { method: "POST", path: PATH, body });
}

const withRights = (...rights: Right[]): Promise<Author> => authors.with([CREATE, ...rights], CLUSTER_OBJECTS);

describe("the author of a ClusterControllerResilience", () => {
  it("needs the right to create the objects that are generated, also of a suspended one", async () => {
    const stranger = await authors.with([], CLUSTER_OBJECTS);
    const spec = { template: { tokenRestart: {} } };
    expect(await refusal(stranger, spec)).toContain(
      `user ${stranger.name} may not create controllerresiliences in all namespaces`,
    );
    expect(await refusal(stranger, { ...spec, suspend: true })).toContain(stranger.name);
  });

  it("may suspend it without that right, but change nothing else meanwhile", async () => {
    const stranger = await authors.with([], CLUSTER_OBJECTS);
    const written = { metadata: { name: "written" }, spec: { template: { tokenRestart: {} } } };
    const path = `${PATH}/written`;
    await admin.create(PATH, { ...OWNER, ...written });
    const patch = (spec: object) => refused(stranger, { method: "PATCH", path, body: { spec } });
    try {
      expect(await patch({ suspend: true })).toBeUndefined();
      for (const more of [
        { mode: "Enforce" },
        { enforce: { namespaceSelector: { matchLabels: { stage: "one" } } } },
        { template: { bindingRenewal: {} } },
        { workloads: { kinds: ["Deployment"] } },
        { namespaceSelector: { matchLabels: { team: "a" } } },
        { excludeNamespaces: ["ci-*"] },
      ])
        expect(await patch({ suspend: true, ...more })).toContain(stranger.name);
      await admin.patch(path, { spec: { suspend: true } });
      expect(await patch({ suspend: false })).toContain(stranger.name);
    } finally {
      await admin.delete(path);
    }
  });

  it.each<[string, object, Right]>([
    ["tokenRestart", { tokenRestart: {} }, RIGHTS.evict],
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

  it("needs to update the bindings that it names, and to bind their roles, in all namespaces", async () => {
    const named = { mode: "Enforce", template: { bindingRenewal: { bindings: [{ kind: "RoleBinding", name: "a" }] } } };
    const rights = [RIGHTS.updateRoleBindings, RIGHTS.bindRoles, RIGHTS.bindClusterRoles].map(everywhere);
    expect(await refusal(await withRights(...rights), named)).toBeUndefined();
    for (const lacking of rights) {
      const author = await withRights(...rights.filter(right => right !== lacking));
      const message = `may not ${lacking.verb} ${lacking.resource} in all namespaces, and spec.template.bindingRenewal.bindings would`;
      expect(await refusal(author, named)).toContain(message);
    }
    const unnamed = { mode: "Enforce", template: { bindingRenewal: {} } };
    expect(await refusal(await withRights(), unnamed)).toBeUndefined();
  });

  it("needs to list the kinds that it names, and to create tokens, in all namespaces, also to observe", async () => {
    const progress = [{ apiVersion: "example.com/v1", kind: "Widget" }];
    const spec = { template: { stallDetection: { progress, metrics: { tokenFrom: "reader" } } } };
    const rights: Right[] = [RIGHTS.listWidgets, everywhere(RIGHTS.createTokens)];
    expect(await refusal(await withRights(...rights), spec)).toBeUndefined();
    const [list, token] = rights;
    expect(await refusal(await withRights(token!), spec)).toContain(`may not ${list!.said}, and spec.template.`);
    expect(await refusal(await withRights(list!), spec)).toContain(
      "may not create serviceaccounts/token in all namespaces, and",
    );
  });

  it("needs the right to read logs for phrases of their own, also to observe", async () => {
    const spec = { template: { tokenRestart: { extraPhrases: ["denied"] } } };
    const none = await withRights();
    expect(await refusal(none, spec)).toContain("may not get pods/log in all namespaces");
    expect(await refusal(await withRights(everywhere(RIGHTS.readLogs)), spec)).toBeUndefined();
  });
});

describe("who takes a generated object from its ClusterControllerResilience", () => {
  const LABEL = "controller-resilience.io/generated-for";
  // It exists, or the garbage collector would delete its object. Its uid is known once it does.
  const owner = { ...OWNER, name: "all", uid: "", controller: true };
  const other = { apiVersion: "v1", kind: "ConfigMap", name: "mine", uid: "00000000-0000-0000-0000-000000000002" };
  const path = (name: string) =>
    `/apis/controller-resilience.io/v1alpha1/namespaces/${namespace}/controllerresiliences/${name}`;
  const patch = (author: Author, body: object, name = "generated") =>
    refused(author, { method: "PATCH", path: path(name), body });
  const spec = { mode: "Enforce", targets: [{ kind: "Deployment", name: "web" }], tokenRestart: {} };

  beforeAll(async () => {
    const suspended = { ...OWNER, metadata: { name: "all" }, spec: { suspend: true, template: { tokenRestart: {} } } };
    owner.uid = (await admin.create<{ metadata: { uid: string } }>(PATH, suspended)).metadata.uid;
    const objects = [
      { name: "generated", labels: { [LABEL]: "all" }, ownerReferences: [owner] },
      { name: "by-hand", labels: { team: "a" } },
    ];
    for (const metadata of objects) {
      await admin.create(path("").replace(/\/$/, ""), {
        ...{ apiVersion: "controller-resilience.io/v1alpha1", kind: "ControllerResilience", metadata, spec },
      });
    }
  });

  afterAll(() => admin.delete(`${PATH}/all`));

  it.each<[string, object]>([
    ["removes its owner", { metadata: { ownerReferences: null } }],
    ["adds an owner of their own, which keeps it", { metadata: { ownerReferences: [owner, other] } }],
    ["narrows its spec as well", { metadata: { ownerReferences: null }, spec: { tokenRestart: { maxRestarts: 1 } } }],
  ])("needs the rights of the object: %s", async (_what, body) => {
    const refusalOf = "may not create pods/eviction in namespace";
    expect(await patch(await authors.with([]), body)).toContain(refusalOf);
    expect(await patch(await authors.with([RIGHTS.evict]), body)).toBeUndefined();
    const observed = { ...body, spec: { mode: "Observe" } };
    expect(await patch(await authors.with([]), observed)).toBeUndefined();
  });

  it("may change labels, which the operator restores, and those of hand-written objects", async () => {
    const author = await authors.with([]);
    expect(
      await patch(author, { metadata: { labels: { [LABEL]: null }, annotations: { note: "x" } } }),
    ).toBeUndefined();
    const body = { metadata: { labels: { [LABEL]: "all" }, ownerReferences: [other] } };
    expect(await patch(author, body, "by-hand")).toBeUndefined();
  });

  it("is not the garbage collector, which keeps objects after --cascade=orphan", async () => {
    const collector = authors.user("system:serviceaccount:kube-system:generic-garbage-collector");
    expect(await patch(collector, { metadata: { ownerReferences: null } })).toBeUndefined();
  });
});

describe("the policy for labels of Namespaces", () => {
  const PROTECT = "controller-resilience.io/protect";
  let policy: ChartObject[];
  let labeller: Author;

  const change = (author: Author, metadata: object) =>
    refused(author, { method: "PATCH", path: `/api/v1/namespaces/${namespace}`, body: { metadata } });

  const writes = ["patch namespaces", "create namespaces", "patch namespaces/status", "update namespaces/finalize"];
  const NAMESPACES = writes.map(write => {
    const [verb = "", resource = ""] = write.split(" ");
    return { verb, group: "", resource, isCluster: true } as const;
  });

  beforeAll(async () => {
    const keys = ["--set-json", `admissionPolicy.namespaceKeys=["${PROTECT}","stage"]`];
    const shown = ["--show-only", "templates/admission-policy-namespaces.yaml"];
    policy = parseAllDocuments(await renderChart([...keys, ...shown])).map(one => one.toJS() as ChartObject);
    for (const { kind, path } of POLICY_KINDS)
      for (const one of policy.filter(object => object.kind === kind)) await admin.create(path, one);
    labeller = await authors.with(NAMESPACES, []);
    await eventually(
      () => change(labeller, { labels: { stage: "one" } }),
      message => message !== undefined,
    );
  });

  afterAll(async () => {
    for (const { kind, path } of POLICY_KINDS.toReversed())
      for (const { metadata } of policy.filter(object => object.kind === kind))
        await admin.delete(`${path}/${metadata.name}`);
  });

  it("leaves the listed keys to those who may update ClusterControllerResiliences", async () => {
    const message = `user ${labeller.name} may not update clustercontrollerresiliences, and so not change of a Namespace: ${PROTECT}, stage`;
    expect(await change(labeller, { labels: { [PROTECT]: "true" } })).toContain(message);
    expect(await change(labeller, { annotations: { [PROTECT]: "false" } })).toContain(message);
    expect(await change(labeller, { labels: { stage: "" } })).toContain(message);
    const body = { metadata: { name: "another", labels: { stage: "one" } } };
    expect(await refused(labeller, { method: "POST", path: "/api/v1/namespaces", body })).toContain(message);
    const admitted = await authors.with(NAMESPACES, CLUSTER_OBJECTS);
    expect(await change(admitted, { labels: { [PROTECT]: "true" } })).toBeUndefined();
  });

  it("guards the subresources that change labels as well, but not what controllers write there", async () => {
    const path = `/api/v1/namespaces/${namespace}`;
    await admin.patch(path, { metadata: { labels: { stage: "two" } } });
    const { metadata: found, ...rest } = await admin.get<{ metadata: { labels: object } }>(path);
    const status = (metadata: object) =>
      refused(labeller, { method: "PATCH", path: `${path}/status`, body: { metadata } });
    const finalize = ({ labels, ...others }: { labels?: object; annotations?: object }) => {
      const body = { ...rest, metadata: { ...found, ...others, labels: { ...found.labels, ...labels } } };
      return refused(labeller, { method: "PUT", path: `${path}/finalize`, body });
    };
    for (const write of [status, finalize]) {
      const refusalOf = `user ${labeller.name} may not update clustercontrollerresiliences`;
      expect(await write({ labels: { [PROTECT]: "true" } })).toContain(refusalOf);
      expect(await write({ labels: { stage: "one" } })).toContain(refusalOf);
      expect(await write({ annotations: { [PROTECT]: "false" } })).toContain(refusalOf);
      expect(await write({})).toBeUndefined();
      expect(await write({ labels: { stage: "two", team: "a" }, annotations: { note: "x" } })).toBeUndefined();
    }
    await admin.patch(path, { metadata: { labels: { stage: null } } });
  });

  it("leaves all other changes to everyone", async () => {
    expect(await change(labeller, { labels: { team: "a" }, annotations: { note: "x" } })).toBeUndefined();
    const body = { metadata: { name: "another", labels: { team: "a" } } };
    expect(await refused(labeller, { method: "POST", path: "/api/v1/namespaces", body })).toBeUndefined();
  });
});
