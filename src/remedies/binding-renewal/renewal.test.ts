import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { BindingRenewalSpec, ControllerResilience } from "../../api/controller-resilience";
import { LATEST_EXPIRY_ANNOTATION, LIFE_ANNOTATION } from "../../api/names";
import type { Outcome } from "../../core/intent";
import { BusyClock } from "../../core/testing/busy-clock";
import { inSlices } from "../../core/slices";
import type { BindingView } from "../../core/views";
import { observeBindings } from "./observe";
import { planBindings } from "./plan";
import { createBindingRenewal } from "./remedy";
import { DAY, DEFAULTS, EDIT, HOUR, marksOf, Scene } from "./testing/scene";

// A binding whose renewal is requested, from its first pass to its end.

const OWN = "controller-resilience.io/expires-at";
const TTL = "janitor/ttl";
const START = Date.parse("2025-01-01T00:00:00Z");
const GONE_AT = "2025-01-31T00:00:00Z";

/** A binding with a life of thirty days and so many days left, whose role the operator may bind. */
async function withDaysLeft(days: number, spec: Partial<BindingRenewalSpec> = {}, over: Partial<BindingView> = {}) {
  const scene = new Scene(spec);
  scene.bind({ annotations: { [OWN]: GONE_AT }, ...over });
  await scene.pass();
  await scene.clock.run((30 - days) * DAY);
  return scene;
}

const LISTED = { bindings: [{ kind: "RoleBinding" as const, name: "edit" }] };

function edit({ object }: Scene, spec: Partial<BindingRenewalSpec>): void {
  Object.assign(object.spec.bindingRenewal!, spec);
}

describe("a binding that expires", () => {
  it("is only shown in status before the first warning, and its expiry is noted on it", async () => {
    const scene = await withDaysLeft(8);
    expect(scene.notes).toMatchObject([
      {
        verb: "patch",
        target: { kind: "RoleBinding", namespace: "team", name: "edit", uid: "uid-1", resourceVersion: "1" },
        body: { metadata: { annotations: { [LATEST_EXPIRY_ANNOTATION]: GONE_AT } } },
        leadsTo: { of: "uid-1", state: GONE_AT },
      },
    ]);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "True", reason: "Current", intents: [], events: [] });
    expect(decision.message).toBe(`RoleBinding edit expires at ${GONE_AT} (${OWN}).`);
    expect(decision.recheckAfterMs).toBe(DAY);
    expect(scene.entry()).toEqual({
      kind: "RoleBinding",
      name: "edit",
      namespace: "team",
      uid: "uid-1",
      role: "ClusterRole/edit",
      state: "Current",
      expiryTime: GONE_AT,
      latestExpiryTime: GONE_AT,
      renewTime: "2025-01-30T00:00:00Z",
      source: OWN,
    });
  });

  it("causes one Event, a week ahead, on the binding", async () => {
    const scene = await withDaysLeft(7);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "True", reason: "Current", intents: [] });
    expect(decision.events).toMatchObject([
      { type: "Normal", reason: "BindingExpiringSoon", about: { kind: "RoleBinding", name: "edit", uid: "uid-1" } },
    ]);
    expect((await scene.pass()).events).toEqual([]);
  });

  it("is renewed once, a day ahead, by its own life, with one write", async () => {
    const scene = await withDaysLeft(1);
    const decision = await scene.pass();
    const annotations = {
      [OWN]: "2025-03-02T00:00:00Z",
      [LATEST_EXPIRY_ANNOTATION]: "2025-03-02T00:00:00Z",
      [LIFE_ANNOTATION]: String(30 * 86_400),
    };
    expect(scene.written.map(({ body, eventReason }) => [eventReason, body])).toEqual([
      ["BindingRenewed", { metadata: { annotations } }],
    ]);
    expect(decision).toMatchObject({ status: "True", reason: "Current" });
    expect(scene.entry()).toMatchObject({
      expiryTime: "2025-03-02T00:00:00Z",
      lastRenewalTime: "2025-01-30T00:00:00Z",
    });
    const entry = scene.entry();
    await scene.pass();
    expect(scene.entry()).toEqual(entry);
    await scene.live(28 * DAY);
    expect(scene.written).toHaveLength(1);
    await scene.live(3 * DAY);
    expect(scene.written).toHaveLength(2);
    expect(scene.now()?.annotations[OWN]).toBe("2025-04-01T00:00:00Z");
  });

  it("has ended once it has by the clock of an API server that is ahead", async () => {
    const scene = await withDaysLeft(2);
    scene.behindMs = 2 * DAY;
    const pass = await scene.pass();
    expect(pass).toMatchObject({ status: "False", reason: "AccessEnded", intents: [] });
    expect(pass.message).toContain("expired at 2025-01-31T00:00:00Z (");
    expect(pass.message).toContain("by the operator's clock or an API server's, and still exists");
    expect(scene.written).toEqual([]);
    scene.behindMs = 2 * DAY - 1_000;
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Current" });
    expect(scene.written).toHaveLength(1);
  });

  it("is not renewed before its role was reviewed, however long the pass takes", async () => {
    const scene = await withDaysLeft(1 + 1_000 / DAY, { warnBefore: "24h" });
    const { plan } = await scene.plan(new Date(scene.clock.now().getTime() + 1_000));
    expect(plan.items.flatMap(({ intents }) => intents)).toEqual([]);
  });

  it("keeps its life after several renewals, whatever becomes of status or of the object", async () => {
    const scene = new Scene();
    scene.bind({ annotations: { [TTL]: "7d" } });
    await scene.live(15 * DAY);
    scene.object = { ...scene.object, status: {} } as ControllerResilience;
    await scene.live(15 * DAY);
    expect(marksOf(scene.now())).toEqual({ [TTL]: "35d" });
    expect(scene.written).toHaveLength(4);
  });

  it("with a life shorter than renewBefore is renewed once per life", async () => {
    const scene = new Scene();
    scene.bind({ annotations: { [TTL]: "90s" } });
    await scene.live(15 * 60_000);
    expect(scene.written.length).toBeGreaterThanOrEqual(9);
    expect(scene.written.length).toBeLessThanOrEqual(16);
  });

  it("is not renewed where the operator may only observe", async () => {
    const scene = await withDaysLeft(1);
    scene.judged = "OperatorObserves";
    const pass = await scene.pass();
    expect(pass).toMatchObject({ status: "False", reason: "WouldRenew", intents: [{ verb: "patch" }] });
    expect(pass.message).toContain("runs with --mode=Observe, else it would renew it now.");
    expect(scene.written).toEqual([]);
  });

  const [CURRENT, MALFORMED] = ["True Current", "False MalformedExpiry"];
  const owner = { kind: "AccessRequest", name: "mine", uid: "a" };
  const beside = (key: string, value: string) => ({ annotations: { [OWN]: GONE_AT, [key]: value } });

  it.each<[string, Partial<BindingView>, string, string]>([
    ["never expires", { annotations: { [TTL]: "forever" } }, CURRENT, "Never"],
    ["has the skip annotation", { skip: true }, CURRENT, "Skipped"],
    ["has a malformed expiry beside another", beside(TTL, "7 days"), MALFORMED, "Malformed"],
    ["has a memory that cannot be read", beside(LATEST_EXPIRY_ANNOTATION, "soon"), MALFORMED, "Malformed"],
    ["has a life that cannot be read", beside(LIFE_ANNOTATION, "0"), MALFORMED, "Malformed"],
    ["is owned by a just-in-time access operator", { owner }, "False BindingRefused", "Refused"],
  ])("is not renewed if it %s", async (_, over, expected, state) => {
    const scene = await withDaysLeft(1, {}, over);
    const pass = await scene.pass();
    expect([`${pass.status} ${pass.reason}`, pass.intents]).toEqual([expected, []]);
    expect(scene.entry()).toMatchObject({ state });
    expect(scene.written).toEqual([]);
  });
});

describe("the life of a binding", () => {
  /** A binding of three years whose labels or annotations were written at the start. */
  async function renewed(marks: Partial<BindingView>, afterMs: number): Promise<Scene> {
    const scene = new Scene();
    const keys = Object.keys({ ...marks.labels, ...marks.annotations });
    const writtenMs = Object.fromEntries(keys.map(key => [key, START]));
    scene.bind({ createdAtMs: START - 3 * 365 * DAY, writtenMs, ...marks });
    await scene.clock.run(afterMs);
    await scene.pass();
    return scene;
  }

  it.each<[Partial<BindingView>, object]>([
    [{ annotations: { "janitor/expires": "2025-02-01" } }, { "janitor/expires": "2025-03-04T00:00:00Z" }],
    [{ annotations: { [OWN]: "2025-02-01T00:00:00Z" } }, { [OWN]: "2025-03-04T00:00:00Z" }],
    [{ annotations: { [OWN]: "2025-02-01T00:00:00Z" }, writtenMs: {} }, { [OWN]: "2028-03-03T00:00:00Z" }],
    [{ annotations: { [TTL]: "1126d" } }, { [TTL]: "2252d" }],
  ])("counts from the write of a time, and from the creation for a duration: %o", async (marks, expected) => {
    expect(marksOf((await renewed(marks, 30 * DAY)).now())).toEqual(expected);
  });

  it("is at least an hour, even if the expiry was written shortly before", async () => {
    const scene = await renewed({ annotations: { [OWN]: "2025-01-01T00:10:00Z" } }, 0);
    expect(scene.now()?.annotations[OWN]).toBe("2025-01-01T01:10:00Z");
    await scene.live(6 * HOUR);
    expect(scene.written).toHaveLength(7);
  });

  it("is not taken from a predecessor of the same name", async () => {
    const scene = await withDaysLeft(1);
    await scene.pass();
    scene.remove();
    await scene.pass();
    scene.bind({ annotations: { [TTL]: "1d" } });
    await scene.live(DAY);
    expect(scene.now()?.annotations[TTL]).toBe("2d");
  });
});

describe("renewUntil", () => {
  it("limits every renewal, and ends them", async () => {
    const scene = await withDaysLeft(1, { renewUntil: "2025-02-10T00:00:00Z" });
    await scene.pass();
    expect(scene.now()?.annotations[OWN]).toBe("2025-02-10T00:00:00Z");
    expect((await scene.pass()).events).toEqual([]);
    await scene.clock.run(4 * DAY);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "RenewalNotRequested", intents: [] });
    expect(decision.events?.map(({ reason }) => reason)).toEqual(["BindingExpiringSoon"]);
    expect(scene.written).toHaveLength(1);
    edit(scene, { renewUntil: null });
    await scene.live(7 * DAY);
    expect(scene.written).toHaveLength(2);
  });

  it("in the past is reported from the first warning on, as every end of a binding", async () => {
    const scene = await withDaysLeft(8, { renewUntil: "2025-01-02T00:00:00Z" });
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Current", recheckAfterMs: DAY });
    await scene.clock.run(DAY);
    const decision = await scene.pass();
    expect(decision).toMatchObject({
      status: "False",
      reason: "RenewalNotRequested",
      stalled: { reason: "RenewalNotRequested" },
    });
    expect(decision.message).toContain("spec.bindingRenewal.renewUntil allows no expiry after 2025-01-02T00:00:00Z");
  });
});

describe("a renewal that fails", () => {
  it("because of a missing right is foreseen at the first sight, with the rule to add", async () => {
    const scene = new Scene();
    scene.lacking.add("bind edit");
    scene.bind({ annotations: { [OWN]: GONE_AT } });
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "Forbidden", intents: [] });
    expect(decision.message).toContain(
      '{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: ["edit"], verbs: [bind]}',
    );
    expect(decision.events).toMatchObject([{ reason: "BindingRenewalForbidden", about: { name: "edit" } }]);
    expect(scene.entry()).not.toHaveProperty("renewTime");
    expect((await scene.pass()).events).toEqual([]);
    scene.lacking.clear();
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Current" });
  });

  it("quotes odd names in the rule and in the message", async () => {
    const scene = new Scene();
    const name = "a], resources: [clusterroles], resourceNames: [cluster-admin";
    scene.lacking.add(`bind ${name}`);
    scene.bind({ annotations: { [OWN]: GONE_AT }, roleRef: { ...EDIT, name }, name: "b c" });
    const { message } = await scene.pass();
    expect(message).toContain(`resourceNames: [${JSON.stringify(name)}]`);
    expect(message).toContain("RoleBinding 'b c' expires");
  });

  it("because a policy forbids it names the rights, in words that do not change with time", async () => {
    const scene = await withDaysLeft(0.5);
    scene.outcome = { result: "Forbidden", message: "a policy says no" };
    await scene.pass();
    const seen = new Set<string>();
    for (let i = 0; i < 10; i++) {
      const { status, reason, message, stalled } = await scene.pass();
      seen.add(JSON.stringify([status, reason, message, stalled, scene.object.status]));
      await scene.clock.run(7_000);
    }
    expect(seen.size).toBe(1);
    expect([...seen][0]).toContain("Required permissions: {apiGroups");
    expect([...seen][0]).toContain("Forbidden");
  });

  it.each<[Outcome]>([
    [{ result: "Failed", message: "the API server did not answer" }],
    [{ result: "Conflict", message: "the object changed" }],
    [{ result: "Limited", limit: "PassTime", retryAfterMs: 1_000 }],
  ])("is retried, and needs a person an hour after it was due: %o", async outcome => {
    const scene = await withDaysLeft(1);
    scene.outcome = outcome;
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Renewing", progressing: true });
    await scene.clock.run(HOUR - 1_000);
    expect(await scene.pass()).not.toHaveProperty("stalled");
    await scene.clock.run(1_000);
    const late = await scene.pass();
    expect(late).toMatchObject({ status: "False", reason: "Renewing", stalled: { reason: "Renewing" } });
    expect(late.stalled?.message).toContain("due since 2025-01-30T00:00:00Z");
    scene.outcome = undefined;
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Current" });
  });

  it("needs a person sooner if the binding is short", async () => {
    const scene = new Scene();
    scene.bind({ annotations: { [TTL]: "30m" } });
    await scene.clock.run(20 * 60_000);
    scene.outcome = { result: "Failed", message: "no" };
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Renewing" });
    await scene.clock.run(200_000);
    expect(await scene.pass()).toMatchObject({ status: "False", stalled: { reason: "Renewing" } });
  });
});

describe("a binding that is gone", () => {
  it("gives a shell nothing to run by its name in the command that creates it again", async () => {
    const scene = new Scene();
    const name = "$(reboot)`'";
    scene.bind({ annotations: { [OWN]: GONE_AT }, name, roleRef: { ...EDIT, name: "a'b" } });
    await scene.pass();
    scene.remove(`RoleBinding/${name}`);
    const { message } = await scene.pass();
    const words = /kubectl (create .*) --serviceaccount/.exec(message)?.[1] ?? "";
    const { stdout } = spawnSync("sh", ["-c", `printf '%s\n' ${words}`], { encoding: "utf8" });
    expect(stdout.split("\n").slice(2, -1)).toEqual([name, "--namespace", "team", "--clusterrole", "a'b"]);
  });

  it("is reported with its role, its expiry and how to create it again, and never recreated", async () => {
    const scene = await withDaysLeft(8);
    scene.lacking.add("bind edit");
    await scene.live(8 * DAY);
    scene.remove();
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "True", reason: "AccessEnded", intents: [] });
    expect(decision.message).toBe(
      `RoleBinding edit expired at ${GONE_AT} and was deleted; the operator never recreates access. If it is still needed, create it, and give it an end again (controller-resilience.io/expires-at): ` +
        "kubectl create rolebinding edit --namespace team --clusterrole edit --serviceaccount NAMESPACE:NAME.",
    );
    expect(decision.events).toMatchObject([{ type: "Warning", reason: "BindingExpired", note: decision.message }]);
    scene.lacking.clear();
    await scene.live(60 * DAY);
    expect(scene.written).toEqual([]);
    expect(await scene.pass()).toMatchObject({ reason: "AccessEnded", events: [] });
    expect(scene.entry()).toMatchObject({ state: "Expired" });
  });

  it("before its expiry was revoked, from the start of its deletion on, and a new one is renewed", async () => {
    const scene = await withDaysLeft(8);
    scene.change({ deletedAtMs: scene.clock.now().getTime() });
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "True", reason: "AccessEnded", intents: [] });
    expect(decision.events).toMatchObject([{ type: "Warning", reason: "BindingRevoked" }]);
    await scene.clock.run(20 * DAY);
    const held = await scene.pass();
    expect(held).toMatchObject({ status: "False", stalled: { reason: "AccessEnded" }, intents: [], events: [] });
    expect(held.message).toMatch(/^RoleBinding edit has been terminating since .*, and gives access until/);
    scene.remove();
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "AccessEnded", events: [] });
    expect(scene.entry()).toMatchObject({ state: "Revoked" });
    await scene.live(60 * DAY);
    expect(scene.now()).toBeUndefined();
    scene.bind({ annotations: { [TTL]: "30d" } });
    await scene.live(30 * DAY);
    expect(scene.written).toHaveLength(1);
  });

  it("is False if the spec names it", async () => {
    const scene = await withDaysLeft(8, LISTED);
    scene.remove();
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "AccessEnded", stalled: { reason: "AccessEnded" } });
    expect(decision.message).not.toContain("Binding not found");
  });

  it("does not hide that others are current", async () => {
    const scene = await withDaysLeft(8);
    scene.bind({ name: "extra", annotations: { [OWN]: GONE_AT } });
    await scene.pass();
    scene.remove("RoleBinding/extra");
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Current" });
  });

  it("stays gone while a stale watch shows it, and exists while a stale watch does not", async () => {
    const scene = await withDaysLeft(20);
    const bindings = scene.bindings.bind(scene);
    scene.bindings = () => Promise.resolve([]);
    expect((await scene.pass()).reason).not.toBe("AccessEnded");
    scene.bindings = bindings;
    const stale = scene.now()!;
    scene.remove();
    expect(await scene.pass()).toMatchObject({ reason: "AccessEnded" });
    scene.bindings = kind => Promise.resolve(kind === "RoleBinding" ? [stale] : []);
    expect(await scene.pass()).toMatchObject({ reason: "AccessEnded", intents: [] });
  });

  it("stays in status among the newest 64, after the living bindings", async () => {
    const scene = new Scene();
    for (let i = 0; i < 70; i++) {
      scene.bind({ name: `b${i}`, annotations: { [OWN]: new Date(Date.UTC(2025, 1, 1, i)).toISOString() } });
    }
    scene.bind({ name: "living", annotations: { [OWN]: "2026-01-01T00:00:00Z" } });
    await scene.pass();
    for (let i = 0; i < 70; i++) scene.remove(`RoleBinding/b${i}`);
    await scene.pass();
    const names = scene.object.status?.bindings?.map(({ name }) => name) ?? [];
    expect(names).toHaveLength(65);
    expect(names.slice(0, 2)).toEqual(["living", "b6"]);
  });
});

/** The default limit of etcd for an object. */
const ETCD_BYTES = 1.5 * 1024 * 1024;

describe("many bindings", () => {
  function crowd(): Scene {
    const scene = new Scene();
    const annotations = { [OWN]: "2026-01-01T00:00:00Z" };
    for (let i = 0; i < 10_000; i++) scene.bind({ name: `far${i}`, annotations }, false);
    for (let i = 0; i < 300; i++) scene.bind({ name: `due${i}`, annotations: { [OWN]: GONE_AT } });
    return scene;
  }

  it("of which 400 are handled, those that are requested first, and the rest is counted", async () => {
    const scene = crowd();
    await scene.pass();
    await scene.clock.run(29 * DAY + HOUR);
    const decision = await scene.pass();
    expect(new Set(scene.written.map(({ target }) => target.name)).size).toBe(300);
    expect(scene.object.status?.bindings).toHaveLength(400);
    expect(JSON.stringify(scene.object).length).toBeLessThan(ETCD_BYTES / 4);
    expect(decision).toMatchObject({ status: "False", reason: "TooMany" });
    expect(decision.message).toContain("9900 more bindings are neither renewed nor reported");
    expect(decision.events?.length).toBeLessThanOrEqual(51);
  });

  it("yield to the event loop while they are observed and planned", async () => {
    const scene = crowd();
    const clock = new BusyClock(scene.clock);
    const busy = Object.assign(Object.create(scene) as Scene, { clock });
    const observed = await observeBindings({ ...scene.object, mode: "Enforce" }, DEFAULTS, busy);
    // The clock advances a millisecond per binding; a slice takes ten.
    expect(clock.turns).toBeGreaterThanOrEqual(1_000);
    clock.turns = 0;
    await inSlices(clock, planBindings(observed, DEFAULTS, scene.clock.now()));
    expect(clock.turns).toBeGreaterThanOrEqual(observed.living.length / 10 - 1);
  });
});

it("shows in gauges when a binding expires and is renewed, and nothing of one that never expires, or may, or is gone", async () => {
  const scene = await withDaysLeft(8);
  scene.bind({ name: "forever", annotations: { [TTL]: "forever" } });
  scene.bind({ name: "gone", annotations: { [OWN]: GONE_AT } });
  scene.bind({ name: "unasked", annotations: { [OWN]: GONE_AT } }, false);
  scene.bind({ name: "skipped", annotations: { [OWN]: GONE_AT }, skip: true });
  await scene.pass();
  scene.remove("RoleBinding/gone");
  await scene.pass();
  const [expiry, renewal] = createBindingRenewal().gauges ?? [];
  const owner = scene.object as unknown as Parameters<NonNullable<typeof expiry>["samples"]>[1];
  const names = (gauge: typeof expiry) => gauge?.samples("team/it", owner).map(({ labels }) => labels["binding"]);
  expect(names(expiry)).toEqual(["edit", "unasked"]);
  expect(names(renewal)).toEqual(["edit"]);
});
