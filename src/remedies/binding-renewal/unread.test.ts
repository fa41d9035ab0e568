import { describe, expect, it } from "vitest";
import { TransientError, UnauthorizedError } from "../../core/errors";
import type { RoleView } from "../../core/views";
import { DAY, EDIT, HOUR, Scene } from "./testing/scene";

const FAILED = "get clusterroles edit: 503 Service Unavailable";

/** A scene with RoleBindings of the ClusterRoles `edit` and `view`, of which reads of `edit` may fail. */
class Roles extends Scene {
  failure: Error | undefined;
  hangs = false;

  override role(_kind: string, _namespace: string, name: string): Promise<RoleView | null> {
    if (name !== "edit") return Promise.resolve({ rules: [] });
    if (this.hangs) return new Promise(() => undefined);
    return this.failure === undefined ? Promise.resolve({ rules: [] }) : Promise.reject(this.failure);
  }
}

async function withDaysLeft(days: number): Promise<Roles> {
  const scene = new Roles();
  for (const name of ["edit", "view"]) {
    scene.bind({ name, roleRef: { ...EDIT, name }, annotations: { "janitor/ttl": "30d" } });
  }
  await scene.clock.run((30 - days) * DAY);
  scene.failure = new TransientError(FAILED);
  return scene;
}

describe("a role that cannot be read", () => {
  it("delays only the renewal of its own binding", async () => {
    const scene = await withDaysLeft(1);
    const pass = await scene.act();
    expect(pass.intents).toMatchObject([{ verb: "patch", target: { name: "view" } }]);
    expect(pass).toMatchObject({ status: "True", progressing: true });
    expect(pass).not.toHaveProperty("stalled");
    expect(pass.message).toContain(
      `RoleBinding edit expires at 2025-01-31T00:00:00Z (janitor/ttl); the renewal waits until the operator can read ClusterRole edit: ${FAILED}.`,
    );
    scene.failure = undefined;
    expect((await scene.act()).intents).toMatchObject([{ target: { name: "edit" } }]);
  });

  it("delays only its own binding if it does not answer in time", async () => {
    const scene = await withDaysLeft(1);
    scene.hangs = true;
    for (const intents of [[], [{ target: { name: "view" } }]]) {
      const pass = scene.pass();
      await scene.clock.run(30_000);
      expect((await pass).intents).toMatchObject(intents);
    }
  });

  it("is read again soon, then less often", async () => {
    const scene = await withDaysLeft(1);
    await scene.act();
    expect((await scene.pass()).recheckAfterMs).toBe(10_000);
    await scene.clock.run(60_000);
    expect((await scene.pass()).recheckAfterMs).toBe(60_000);
    await scene.clock.run(20 * 60_000);
    expect((await scene.pass()).recheckAfterMs).toBe(300_000);
  });

  it("is no problem before the renewal is due", async () => {
    const scene = await withDaysLeft(5);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "ExpiringSoon", progressing: false });
  });

  it("neither ends a refusal nor announces it again", async () => {
    const scene = await withDaysLeft(5);
    scene.failure = undefined;
    scene.lacking.add("bind edit");
    expect((await scene.pass()).events?.[0]).toMatchObject({ reason: "BindingRenewalForbidden" });
    scene.failure = new TransientError(FAILED);
    scene.lacking.clear();
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "RenewalForbidden", events: [] });
  });

  it("needs a person an hour after the renewal was due", async () => {
    const scene = await withDaysLeft(1);
    await scene.act();
    await scene.clock.run(HOUR - 1_000);
    expect(await scene.pass()).not.toHaveProperty("stalled");
    await scene.clock.run(1_000);
    const pass = await scene.pass();
    expect(pass).toMatchObject({
      status: "False",
      reason: "RoleUnread",
      stalled: { reason: "RoleUnread" },
      intents: [],
    });
    expect(pass.stalled?.message).toContain("the renewal has been due since 2025-01-30T00:00:00Z");
    expect(pass.stalled?.message).toContain(`but the operator cannot read ClusterRole edit: ${FAILED}`);
    expect(pass.stalled?.message).toContain("renew the binding by hand");
    scene.failure = undefined;
    expect(await scene.act()).toMatchObject({ status: "True", intents: [{ target: { name: "edit" } }] });
  });

  it("needs a person sooner if the binding is short", async () => {
    const scene = new Roles();
    scene.bind({ annotations: { "janitor/ttl": "30m" } });
    scene.failure = new TransientError(FAILED);
    await scene.clock.run(20 * 60_000);
    expect(await scene.act()).toMatchObject({ status: "True", reason: "Renewing" });
    await scene.clock.run(200_000);
    expect(await scene.act()).toMatchObject({ status: "False", reason: "RoleUnread" });
  });

  it("stays the failure of the whole pass if the operator's own identity is rejected", async () => {
    const scene = await withDaysLeft(1);
    scene.failure = new UnauthorizedError("get clusterroles edit: 401 Unauthorized");
    await expect(scene.pass()).rejects.toThrow("401");
  });

  it("is not named in Observe mode without a list, where the author may not read it", async () => {
    const scene = await withDaysLeft(1);
    scene.object = { ...scene.object, spec: { ...scene.object.spec, mode: "Observe" } };
    scene.remove();
    scene.bind({
      kind: "ClusterRoleBinding",
      createdAtMs: scene.clock.now().getTime() - 29 * DAY,
      annotations: { "janitor/ttl": "30d" },
    });
    const { message } = await scene.pass();
    expect(message).toContain("the renewal waits until the operator can read its role.");
    expect(message).not.toContain("503");
  });
});
