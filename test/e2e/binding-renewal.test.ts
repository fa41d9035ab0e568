import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { BindingStatus } from "../../src/api/controller-resilience";
import { LATEST_EXPIRY_ANNOTATION, LIFE_ANNOTATION } from "../../src/api/names";
import type { Binding, ClusterClient } from "../cluster/client";
import { smallController } from "../controllers/small-controller";
import { binding, lives, type Life } from "../enforcers/bindings";
import { Enforcer } from "../enforcers/enforcer";
import { letOperatorBind } from "../enforcers/rights";
import { dueMs, EXPIRY } from "../enforcers/rules";
import type { OperatorProcess } from "../operator/process";
import { startOperator, suiteClient } from "./operator";

// Bindings with a life of one minute, and an enforcer that deletes them by the published rules of each convention. The enforcer is the
// clock of these tests: a binding was renewed in time if the enforcer did not delete it.

const LIFE_SECONDS = 60;
const OBJECT = "ControllerResilience";
const CONTROLLER = "controller";
const ROLE = { kind: "ClusterRole", name: "binding-renewal-reader" } as const;

const SAFE = "renewal-safe";
const BARE = "renewal-bare";
const namespaces = [SAFE, BARE];
const clusterRoleBindings = [SAFE, BARE].map(namespace => `${namespace}-cluster`);

let client: ClusterClient;
let enforcer: Enforcer;
let operator: OperatorProcess;

interface Grant extends Partial<Life> {
  readonly name: string;
  readonly serviceAccount?: string;
}

/** Creates bindings and returns them as created. By default the subject is the controller's ServiceAccount. */
async function grant(namespace: string | undefined, ...grants: readonly Grant[]): Promise<Binding[]> {
  await client.apply(
    grants.map(({ serviceAccount = namespace ?? "", ...rest }) =>
      binding({ ...rest, namespace, role: ROLE, serviceAccount: { namespace: serviceAccount, name: CONTROLLER } }),
    ),
  );
  const kind = namespace === undefined ? "ClusterRoleBinding" : "RoleBinding";
  return Promise.all(grants.map(async ({ name }) => (await client.binding(kind, name, namespace))!));
}

/** Creates an object that renews the bindings of the controller in a namespace, all of which have the annotation. */
async function protect(namespace: string): Promise<void> {
  const targets = [{ kind: "Deployment", name: CONTROLLER }];
  await client.protect(namespace, CONTROLLER, { targets, bindingRenewal: {} });
}

function pathOf({ kind, metadata }: { kind: string; metadata: { namespace?: string; name: string } }): string {
  return [kind, metadata.namespace ?? "", metadata.name].join("/");
}

/** Waits until the current binding under each name meets a condition; a timeout names the bindings that never did. */
async function untilAll(
  what: string,
  bindings: readonly Binding[],
  isSo: (now: Binding, then: Binding) => boolean,
): Promise<Binding[]> {
  const look = async (): Promise<Binding[]> => {
    const all = new Map((await client.allBindings()).map(now => [pathOf(now), now]));
    const lacking = bindings.filter(then => {
      const now = all.get(pathOf(then));
      return now === undefined || !isSo(now, then);
    });
    if (lacking.length === 0) return bindings.map(then => all.get(pathOf(then))!);
    throw new Error(lacking.map(then => `${pathOf(then)} ${all.has(pathOf(then)) ? "is not" : "is gone"}`).join(", "));
  };
  return client.until(`${bindings.length} bindings ${what}`, look);
}

async function untilDeleted(bindings: readonly Binding[]): Promise<void> {
  const look = (): Promise<true> => {
    const left = bindings.filter(({ metadata }) => !enforcer.deleted(metadata.uid)).map(pathOf);
    return left.length === 0 ? Promise.resolve(true) : Promise.reject(new Error(`${left.join(", ")} not deleted`));
  };
  await client.until("the enforcer to delete the due bindings", look);
}

const sameObject = (now: Binding, then: Binding): boolean => now.metadata.uid === then.metadata.uid;

/** What a renewal changes: the expiry, and what the operator remembers. */
const CHANGED: readonly string[] = [...Object.values(EXPIRY), LATEST_EXPIRY_ANNOTATION, LIFE_ANNOTATION];

/** Returns a binding without what renewals change and without the fields that are unique to an object. */
function lasting({ kind, metadata, roleRef, subjects }: Binding): object {
  const without = (pairs: Readonly<Record<string, string>> = {}): object =>
    Object.fromEntries(Object.entries(pairs).filter(([key]) => !CHANGED.includes(key)));
  const { name, namespace, labels, annotations } = metadata;
  return { kind, name, namespace, labels: without(labels), annotations: without(annotations), roleRef, subjects };
}

async function entriesOf(namespace: string): Promise<Map<string, BindingStatus>> {
  const entries = (await client.resilience(namespace, CONTROLLER)).status?.bindings ?? [];
  return new Map(entries.map(entry => [pathOf({ kind: entry.kind, metadata: entry }), entry]));
}

/** Waits until status records the current bindings, with the expiry that the enforcer reads. */
async function untilRecorded(bindings: readonly Binding[], namespace: string): Promise<BindingStatus[]> {
  const look = async (): Promise<BindingStatus[]> => {
    const [entries, all] = [await entriesOf(namespace), await client.allBindings()];
    return bindings.map(pathOf).map(path => {
      const [entry, now] = [entries.get(path), all.find(candidate => pathOf(candidate) === path)];
      if (!entry || !now) throw new Error(`${path}: ${entry ? "gone" : "not recorded"}`);
      const { uid, role, expiryTime } = entry;
      expect({ uid, role }).toEqual({ uid: now.metadata.uid, role: `${now.roleRef.kind}/${now.roleRef.name}` });
      expect(Date.parse(expiryTime ?? ""), path).toBe(dueMs(now));
      return entry;
    });
  };
  return client.until("status to record the current bindings", look);
}

/** Waits for an Event on each of these bindings, or for one on the object that names the binding. */
async function untilEvents(namespace: string, bindings: readonly Binding[], reason: RegExp): Promise<void> {
  const look = async (): Promise<boolean> => {
    const events = (await client.events(namespace)).filter(event => reason.test(event.reason));
    const told = (kind: string, name: string): boolean =>
      events.some(
        ({ involvedObject, message }) =>
          (involvedObject.kind === kind && involvedObject.name === name) ||
          (involvedObject.kind === OBJECT && message.includes(name)),
      );
    const lacking = bindings.filter(({ kind, metadata }) => !told(kind, metadata.name));
    if (lacking.length > 0) throw new Error(`no Event for ${lacking.map(pathOf).join(", ")}`);
    return true;
  };
  await client.until(`Events ${reason.source} on bindings or on the object`, look);
}

beforeAll(async () => {
  client = suiteClient();
  await client.apply([
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: ROLE.kind,
      metadata: { name: ROLE.name },
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }],
    },
  ]);
  await letOperatorBind(client, ROLE);
  const small = { name: CONTROLLER, image: inject("images").node, command: ["node", "/app/controller.js"] };
  for (const namespace of namespaces) {
    await client.createNamespace(namespace);
    await client.apply(smallController({ ...small, namespace, replicas: 0, mayRead: false }));
  }
  operator = await startOperator();
  enforcer = Enforcer.start(client, { namespaces, clusterRoleBindings });
});

afterAll(async () => {
  await operator.stop();
  await enforcer.stop();
  for (const namespace of namespaces) await client.deleteNamespace(namespace);
});

describe("bindings of a protected controller", () => {
  const cluster: Life = {
    name: "",
    key: EXPIRY.kyverno,
    labels: { [EXPIRY.kyverno]: `${LIFE_SECONDS}s` },
  };
  let safe: Binding[];
  let bare: Binding[];

  async function grantAll(namespace: string): Promise<Binding[]> {
    const inNamespace = await grant(namespace, ...lives(LIFE_SECONDS));
    const ofCluster = await grant(undefined, { ...cluster, name: `${namespace}-cluster`, serviceAccount: namespace });
    return [...inNamespace, ...ofCluster];
  }

  afterAll(async () => {
    for (const name of clusterRoleBindings) await client.deleteBinding("ClusterRoleBinding", name);
    for (const namespace of [SAFE, BARE]) await client.deleteNamespace(namespace);
  });

  it("are announced before they are renewed", async () => {
    await protect(SAFE);
    await client.untilCondition({ namespace: SAFE, name: CONTROLLER, type: "BindingsCurrent" }, ["NothingToDo"]);
    [safe, bare] = [await grantAll(SAFE), await grantAll(BARE)];
    const condition = await client.untilCondition({ namespace: SAFE, name: CONTROLLER, type: "BindingsCurrent" }, [
      "Current",
    ]);
    expect(condition.status).toBe("True");
    const entries = await untilRecorded(safe, SAFE);
    expect(entries.map(({ source }) => source)).toEqual([...lives(LIFE_SECONDS), cluster].map(({ key }) => key));
    await untilEvents(SAFE, safe, /^BindingExpiringSoon$/);
  });

  it("are renewed in every convention, while unprotected twins expire", async () => {
    await untilDeleted(bare);
    await untilAll("to be extended by at least one life", safe, (now, then) => {
      return sameObject(now, then) && dueMs(now) >= dueMs(then) + LIFE_SECONDS * 1000;
    });
    const ends = safe.map(dueMs);
    await enforcer.lookedAfter(Math.max(...ends) + LIFE_SECONDS * 1000);
    const after = await untilAll("to still exist", safe, sameObject);
    expect(safe.filter(({ metadata }) => enforcer.deleted(metadata.uid))).toEqual([]);
    // Only the expiry changed, and it is still written in the same convention.
    expect(after.map(lasting)).toEqual(safe.map(lasting));
  });

  it("keep their rights, while the twins lose theirs", async () => {
    const canRead = async (namespace: string): Promise<string> => {
      const as = `--as=system:serviceaccount:${namespace}:${CONTROLLER}`;
      return (await client.kubectl(["auth", "can-i", "list", "configmaps", "-n", namespace, as])).stdout.trim();
    };
    expect(await canRead(SAFE)).toBe("yes");
    await client.until("the twin's rights to be gone", async () => (await canRead(BARE)) === "no");
  });

  it("appear in status, in an Event on the binding or on the object, and in a metric", async () => {
    for (const { lastRenewalTime } of await untilRecorded(safe, SAFE)) expect(lastRenewalTime).toBeDefined();
    await untilEvents(SAFE, safe, /^BindingRenewed$/);
    const { text } = await operator.probe("/metrics");
    const expiries = text
      .split("\n")
      .filter(line => line.startsWith("controller_resilience_binding_expiry_timestamp_seconds{"))
      .filter(line => line.includes(`namespace="${SAFE}"`));
    for (const { metadata } of safe) {
      expect(
        expiries.filter(line => line.includes(`binding="${metadata.name}"`)),
        metadata.name,
      ).toHaveLength(1);
    }
  });
});
