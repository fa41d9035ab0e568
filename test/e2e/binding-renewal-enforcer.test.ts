import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClusterClient } from "../cluster/client";
import { binding, lives } from "../enforcers/bindings";
import { Enforcer } from "../enforcers/enforcer";
import { EXPIRY } from "../enforcers/rules";
import { suiteClient } from "./operator";

// The other tests rely on the test enforcer. This file verifies that it deletes due bindings by the published rules, and nothing else.

describe("the test enforcer", () => {
  const namespaces = ["enforced", "not-enforced"];
  const clusterRoleBindings = ["enforcer-named", "enforcer-not-named"];
  let client: ClusterClient;
  let enforcer: Enforcer | undefined;

  beforeAll(async () => {
    client = suiteClient();
    for (const namespace of namespaces) await client.createNamespace(namespace);
  });
  afterAll(async () => {
    await enforcer?.stop();
    for (const name of clusterRoleBindings) await client.deleteBinding("ClusterRoleBinding", name);
    for (const namespace of namespaces) await client.deleteNamespace(namespace);
  });

  it("deletes due bindings of every convention and keeps all others", async () => {
    const role = { kind: "ClusterRole", name: "view" } as const;
    const serviceAccount = { namespace: "enforced", name: "nobody" };
    const short = lives(5);
    const objects = [
      ...namespaces.flatMap(namespace => short.map(life => binding({ ...life, namespace, role, serviceAccount }))),
      ...lives(3_600).map(life =>
        binding({ ...life, name: `${life.name}-later`, namespace: "enforced", role, serviceAccount }),
      ),
      binding({ name: "no-expiry", namespace: "enforced", role, serviceAccount }),
      ...clusterRoleBindings.map(name => binding({ name, role, serviceAccount, labels: { [EXPIRY.kyverno]: "5s" } })),
    ];
    await client.apply(objects);
    const names = async (): Promise<string[]> =>
      (await client.allBindings())
        .filter(({ metadata }) => [...namespaces, undefined].includes(metadata.namespace))
        .map(({ metadata }) => `${metadata.namespace ?? ""}/${metadata.name}`)
        .sort();
    const before = await names();

    enforcer = Enforcer.start(client, { namespaces: ["enforced"], clusterRoleBindings: ["enforcer-named"] }, 200);
    const gone = [...short.map(({ name }) => `enforced/${name}`), "/enforcer-named"];
    await client.until("the due bindings to be deleted", () =>
      Promise.resolve(enforcer!.deletions.length >= gone.length),
    );
    await enforcer.lookedAfter(Date.now());
    expect(await names()).toEqual(before.filter(name => !gone.includes(name)));

    const keys = Object.fromEntries(enforcer.deletions.map(({ binding: { metadata }, key }) => [metadata.name, key]));
    const expected = short.map(({ name, key }) => [name, key] as const);
    expect(keys).toEqual(Object.fromEntries([...expected, ["enforcer-named", EXPIRY.kyverno]]));
    for (const { dueMs: due, deletedMs } of enforcer.deletions) expect(deletedMs).toBeGreaterThan(due);
  });
});
