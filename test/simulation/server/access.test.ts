import { beforeEach, describe, expect, it } from "vitest";
import { issuedAt } from "../../../src/cluster/http/own-identity";
import { Dice, START_MS, VirtualClock } from "../time";
import { Access, ADMIN } from "./access";
import { Store } from "./store";

let clock: VirtualClock;
let store: Store;
let access: Access;

beforeEach(() => {
  clock = new VirtualClock();
  store = new Store(clock, new Dice(1));
  access = new Access({ clock, dice: new Dice(1), store, servers: 2 });
  store.create("serviceaccounts", { metadata: { name: "kai", namespace: "a" } });
});

const tokenOf = (more: object = {}): string =>
  access.issueToken({ namespace: "a", serviceAccount: "kai", lifeSeconds: 600, ...more });

describe("a token", () => {
  it("has the claims that a client reads", () => {
    expect(issuedAt(`Bearer ${tokenOf()}`)).toBe(START_MS);
    expect(access.authenticate(tokenOf())).toMatchObject({ user: "system:serviceaccount:a:kai" });
    expect(access.authenticate("other")).toBeUndefined();
  });

  it("dies a minute after its end", async () => {
    const token = tokenOf();
    await clock.run(660_000);
    expect(access.accepts(token, 0)).toBe(true);
    await clock.run(660_001);
    expect(access.authenticate(token)).toBeUndefined();
  });

  it("is accepted for ten seconds more by a server that remembers it, unless its keys change", async () => {
    const token = tokenOf();
    access.authenticate(token, 0);
    store.delete("serviceaccounts", "a", "kai");
    await clock.run(9_000);
    const answers = (): boolean[] => [0, 1].map(server => access.authenticate(token, server) !== undefined);
    expect(answers()).toEqual([true, false]);
    expect(access.accepts(token, 0)).toBe(false);
    await clock.run(10_000);
    expect(answers()).toEqual([false, false]);
    store.create("serviceaccounts", { metadata: { name: "kai", namespace: "a" } });
    const next = tokenOf();
    expect(access.authenticate(next, 0)).toBeDefined();
    access.rotateKey();
    expect(access.authenticate(next, 0)).toBeUndefined();
  });

  it("lives a year if the kubelet asked for an hour, and is stale then", async () => {
    const token = tokenOf({ lifeSeconds: 3607 });
    await clock.run(3_600_000);
    expect(access.authenticate(token)?.isStale).toBe(false);
    await clock.run(7_200_000);
    expect(access.authenticate(token)?.isStale).toBe(true);
  });

  it("dies with its ServiceAccount, also if there is another of that name", () => {
    const token = tokenOf();
    store.delete("serviceaccounts", "a", "kai");
    expect(access.authenticate(token)).toBeUndefined();
    store.create("serviceaccounts", { metadata: { name: "kai", namespace: "a" } });
    expect(access.authenticate(token)).toBeUndefined();
  });

  it("dies a minute after its pod should have", async () => {
    const { uid } = store.create("pods", {
      metadata: { name: "p", namespace: "a" },
      spec: { nodeName: "n", serviceAccountName: "kai" },
    }).metadata;
    const token = tokenOf({ podName: "p", podUid: uid });
    store.delete("pods", "a", "p", { graceSeconds: 30 });
    await clock.run(89_000);
    expect(access.accepts(token, 0)).toBe(true);
    await clock.run(90_000);
    expect(access.authenticate(token)).toBeUndefined();
  });

  it("dies with its key, on each server on its own", () => {
    const isAccepted = (): boolean[] => [0, 1].map(server => access.authenticate(token, server) !== undefined);
    const token = tokenOf();
    access.setKey(1, access.signer, false);
    expect(isAccepted()).toEqual([true, false]);
    access.setKey(1, access.signer, true);
    expect(isAccepted()).toEqual([true, true]);
  });
});

describe("rights", () => {
  const kai = { user: "system:serviceaccount:a:kai", groups: ["system:authenticated"] };
  const bind = (kind: string, name: string, namespace?: string) =>
    store.create(namespace === undefined ? "clusterrolebindings" : "rolebindings", {
      metadata: { name, ...(namespace && { namespace }) },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name },
      subjects: [{ kind: "ServiceAccount", name: "kai", namespace: "a" }],
    });

  it("come from roles and bindings, at once", () => {
    const read = { verb: "get", group: "", resource: "pods", namespace: "a", name: "x" };
    expect(access.authorize(kai, read)).toBe(false);
    store.create("clusterroles", {
      metadata: { name: "r" },
      rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }],
    });
    bind("ClusterRole", "r", "a");
    expect(access.authorize(kai, read)).toBe(true);
    expect(access.authorize(kai, { ...read, namespace: "b" })).toBe(false);
    expect(access.authorize(kai, { ...read, subresource: "log" })).toBe(false);
    expect(access.authorize(kai, { verb: "get", group: "", resource: "pods" })).toBe(false);
    store.delete("rolebindings", "a", "r");
    expect(access.authorize(kai, read)).toBe(false);
    bind("ClusterRole", "r");
    expect(access.authorize(kai, { ...read, namespace: "b" })).toBe(true);
  });

  it("can be for some names", () => {
    const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["x"] }];
    store.create("roles", { metadata: { name: "r", namespace: "a" }, rules });
    bind("Role", "r", "a");
    const read = (name?: string) => ({
      verb: "get",
      group: "",
      resource: "pods",
      namespace: "a",
      ...(name && { name }),
    });
    expect([read("x"), read("y"), read()].map(one => access.authorize(kai, one))).toEqual([true, false, false]);
  });

  it("include reviews of oneself for everyone, and everything for administrators", () => {
    const review = { verb: "create", group: "authorization.k8s.io", resource: "selfsubjectaccessreviews" };
    expect(access.authorize(kai, review)).toBe(true);
    expect(access.authorize(kai, { verb: "get", path: "/metrics" })).toBe(false);
    expect(access.authorize(kai, { verb: "get", path: "/version" })).toBe(true);
    expect(access.authorize(ADMIN, { verb: "get", path: "/metrics" })).toBe(true);
  });
});
