import { describe, expect, it } from "vitest";
import type { TokenRestartSpec } from "../../api/controller-resilience";
import { ForbiddenError, NotYetError, TransientError } from "../../core/errors";
import type { LogRounds, RoundsLog } from "../../core/readers";
import { recreatingHookOf } from "../../cluster/read/views";
import type { PodView, SubjectView } from "../../core/views";
import { KEYS_SETTLE_MS } from "../../core/signing-keys";
import { incidentsOf, type KnownAccount, weighLogs } from "./proof";
import { container, pod, binding } from "../../core/testing/views";
import { DEFAULTS, Scene, UNAUTHORIZED, type ScenePass } from "./testing/scene";

const T = Date.parse("2025-01-01T12:00:00Z");
const MINUTE = 60_000;
const account = { namespace: "team", name: "web", uid: "sa-2", createdAtMs: T };
const old = (over: Partial<PodView> = {}): PodView =>
  pod({ createdAtMs: T - 600_000, containers: [container({ startedAtMs: T - 590_000 })], ...over });
const proof = (view: PodView, afterMs = 10_000, one: KnownAccount = account): unknown => {
  const context = { spec: DEFAULTS, rotation: undefined, nowMs: T + afterMs };
  return incidentsOf(view, one, context)[0]?.proof;
};

describe("a pod older than its ServiceAccount", () => {
  it("is proven with a 401, and alone after 60 s", () => {
    expect(proof(old(), 59_999)).toEqual({
      cause: "ServiceAccountRecreated",
      serviceAccountUID: "sa-2",
      sinceMs: T,
      alone: false,
    });
    expect(proof(old(), 60_000)).toMatchObject({ alone: true });
  });

  it("is not proven alone unless it runs and is known to mount a token", () => {
    expect(proof(old({ phase: "Pending" }), 90_000)).toMatchObject({ alone: false });
    const unknown = Object.fromEntries(
      Object.entries(old()).filter(([field]) => field !== "mountsToken"),
    ) as unknown as PodView;
    expect(proof(unknown, 90_000)).toMatchObject({ alone: false });
  });

  it("is proven until 80 % of the token's life have passed since the ServiceAccount was created", () => {
    const fresh = (over: Partial<PodView> = {}): PodView => old({ volumesReadyMs: T - 40_000, ...over });
    const lifeMs = 0.8 * 3_607_000 - 40_000;
    expect(proof(fresh(), lifeMs - 1)).toMatchObject({ alone: true });
    expect(proof(fresh(), lifeMs)).toBeUndefined();
    expect(proof(fresh({ tokenExpirationSeconds: 600 }), 440_000)).toBeUndefined();
  });

  it("is proven when it was restarted since and its first start is unknown", () => {
    const looping = container({ restartCount: 3, startedAtMs: T + 50_000, lastFinishedAtMs: T + 20_000 });
    expect(proof(old({ containers: [looping] }), 90_000)).toMatchObject({ alone: false });
    expect(proof(old({ containers: [] }), 90_000)).toMatchObject({ alone: false });
    expect(proof(old({ containers: [looping], volumesReadyMs: T - 580_000 }))).toBeDefined();
  });
});

describe("no proof is", () => {
  const late = container({ startedAtMs: T + 2_000 });

  it.each([
    ["a pod of the same second", { createdAtMs: T }],
    ["a younger pod", { createdAtMs: T + 1_000 }],
    ["a pod without a token", { mountsToken: false }],
    ["a pod that waited until the ServiceAccount existed again", { containers: [late] }],
    ["a pod whose volumes waited", { containers: [container({ restartCount: 1 })], volumesReadyMs: T + 1_000 }],
  ])("%s", (_, over) => expect(proof(old(over), 90_000)).toBeUndefined());

  it("a pod on a later token that was due to be refreshed since, or just before", () => {
    const on = (ageMs: number): PodView => old({ createdAtMs: T - ageMs, volumesReadyMs: T - ageMs, containers: [] });
    const everyMs = 0.8 * 3_607_000;
    expect(proof(on(2 * everyMs - 600_000), 599_000)).toBeDefined();
    expect(proof(on(2 * everyMs - 600_000), 600_000)).toBeUndefined();
    expect(proof(on(2 * everyMs + 120_000), 61_000)).toBeUndefined();
  });

  it("a token of seven days that is more than a day old, which the kubelet has refreshed", () => {
    const hours = (n: number): number => n * 3_600_000;
    const week = { tokenExpirationSeconds: 604_800, containers: [] };
    const view = old({ ...week, createdAtMs: T - hours(20), volumesReadyMs: T - hours(20) });
    expect(proof(view, hours(3))).toMatchObject({ alone: true });
    expect(proof(view, hours(4))).toBeUndefined();
  });

  it("a kubelet time within the clock tolerance of the ServiceAccount's creation", () => {
    const near = (ms: number): PodView =>
      old({ volumesReadyMs: T - ms, containers: [container({ startedAtMs: T - ms })] });
    expect(proof(near(0), 90_000)).toBeUndefined();
    // With a 401, any margin is enough. Without one, clocks may differ.
    expect(proof(near(1_000), 90_000)).toMatchObject({ alone: false });
    expect(proof(near(30_000), 90_000)).toMatchObject({ alone: false });
    expect(proof(near(31_000), 90_000)).toMatchObject({ alone: true });
  });
});

describe("without a 401", () => {
  it("a pod on a later token is proven for ten minutes only since its own ServiceAccount was seen", () => {
    const view = old({ createdAtMs: T - 3_600_000, volumesReadyMs: T - 3_600_000 });
    const alone = (sinceOtherMs?: number): unknown =>
      proof(view, 60_000, { ...account, ...(sinceOtherMs !== undefined && { sinceOtherMs }) });
    expect(alone(599_999)).toMatchObject({ alone: true });
    expect(alone(600_000)).toMatchObject({ alone: false });
    // Nobody has seen how long it was missing.
    expect(alone()).toMatchObject({ alone: false });
    // A cache may show for minutes what is gone.
    expect(proof(view, 600_000, { ...account, sinceOtherMs: 0 })).toMatchObject({ alone: false });
  });

  it("a pod is not proven alone when its log continued for five minutes", () => {
    const alone = { cause: "ServiceAccountRecreated", serviceAccountUID: "sa-2", sinceMs: T, alone: true } as const;
    const log = (fromMs: number, untilMs: number) => [{ quiet: { fromMs, untilMs }, isRead: true }];
    expect(weighLogs(alone, log(T - 900_000, T + 299_999))).toBe(alone);
    expect(weighLogs(alone, log(T - 900_000, T + 300_000)).alone).toBe(false);
    expect(weighLogs(alone, log(T + 10_000, T + 300_000)).alone).toBe(true);
  });
});

/** The pod got its token an hour ago, and a minute ago all keys from that time were gone. */
function rotated(spec: ConstructorParameters<typeof Scene>[0] = {}): Scene {
  const scene = new Scene(spec);
  const nowMs = scene.clock.now().getTime();
  // Its next refresh is due after 48 minutes.
  scene.podList = [scene.podAt(-20 * MINUTE, {})];
  scene.rotation = { beforeMs: nowMs - 2 * MINUTE, unchangedMs: nowMs - 2 * MINUTE, changedMs: nowMs - MINUTE };
  return scene;
}

it("a pod that is older than its ServiceAccount is neither accepted nor rejected while its log is no evidence, and its age no proof", async () => {
  const scene = new Scene({ evidence: ["ServiceAccountAge"] });
  scene.podList = [scene.podAt(-80 * MINUTE, {})];
  scene.accounts.set("web", scene.account("sa-2", -11 * MINUTE));
  expect(await scene.passes(12)).toMatchObject({ status: "Unknown", reason: "Suspected", intents: [] });
});

describe("a pod whose token was signed with a key that is gone", () => {
  it("is neither accepted nor rejected while its log is no evidence", async () => {
    const pass = await rotated({ evidence: ["ServiceAccountAge"] }).passes(60);
    expect(pass).toMatchObject({ status: "Unknown", reason: "Suspected", intents: [] });
  });

  it("is neither while it may have the token, and then accepted as far as is known", async () => {
    const scene = rotated({ evidence: ["ServiceAccountAge"] });
    // Renewed two minutes before the change, or a moment later.
    scene.podList = [scene.podAt(-52 * MINUTE, {})];
    const pass = await scene.passes(48 * 12);
    expect(pass).toMatchObject({ status: "Unknown", reason: "Suspected", intents: [] });
    expect(pass.message).toContain("may still have a token from before the signing key was replaced");
    const later = await scene.passes(12 * 12);
    expect(later).toMatchObject({ status: "True", reason: "Accepted" });
    expect(later.message).toContain("no pod is known to have an invalid token; its log is no evidence");
  });

  it("is restarted after a single 401, once the change of the keys has lasted", async () => {
    const scene = rotated();
    scene.log(UNAUTHORIZED);
    const first = await scene.pass();
    expect(first).toMatchObject({ status: "False", reason: "RestartDeferred", intents: [], progressing: true });
    expect(first.message).toContain("the signing keys changed lately, so no restart before 2025-01-01T12:01:00Z");
    const due = await scene.passes((KEYS_SETTLE_MS - MINUTE) / 5_000, () => scene.log(UNAUTHORIZED));
    expect(due.intents).toMatchObject([{ verb: "evict", restart: { cause: "SigningKeyRotated" } }]);
    expect(due.intents[0]?.restart).not.toHaveProperty("rejections");
    expect(due.message).toContain("got its token before the signing key was replaced");
  });

  it("is left alone without a 401 since the change", async () => {
    const scene = rotated();
    scene.clock.advance(-2 * MINUTE);
    scene.log(UNAUTHORIZED);
    scene.clock.advance(2 * MINUTE);
    const pass = await scene.passes(24, () => scene.log("all is well"));
    expect(pass).toMatchObject({ status: "True", intents: [] });
  });
});

describe("a pod that got its token after the new key was there", () => {
  it("needs persistent 401s, as ever", async () => {
    const scene = rotated();
    scene.podList = [scene.podAt(-90_000, {})];
    scene.log(UNAUTHORIZED);
    const pass = await scene.passes(6, () => undefined);
    expect(pass.intents).toEqual([]);
    const later = await scene.passes(14, () => scene.log(UNAUTHORIZED));
    expect(later.intents).toMatchObject([{ restart: { cause: "Unknown" } }]);
  });
});

const API = "https://kubernetes.default.svc";

describe("a token with an audience", () => {
  const explicit: Partial<PodView> = {
    mountsToken: false,
    audienceTokens: [
      { audience: "vault", expirationSeconds: 60 },
      { audience: API, expirationSeconds: 600 },
    ],
  };

  it.each<[string, readonly string[], Partial<PodView>, number]>([
    ["can be renewed by a restart if it names an audience of the API server", ["other", API], explicit, 1],
    ["is for somebody else if it names none", ["vault2"], explicit, 0],
    ["is for somebody else while the audiences are not known", [], explicit, 0],
    ["needs no known life", [API], { mountsToken: false, audienceTokens: [{ audience: API }] }, 1],
  ])("%s", async (_, audiences, over, intents) => {
    const scene = new Scene();
    scene.audiences = audiences;
    scene.podList = [scene.podAt(-3_600_000, over)];
    expect((await scene.passes(13, () => scene.log(UNAUTHORIZED))).intents).toHaveLength(intents);
  });

  it.each([
    [explicit, -120_000, "ServiceAccountRecreated"],
    // Of two tokens the one that is renewed first counts: 80 % of 600 s have passed.
    [{ ...explicit, mountsToken: true, tokenExpirationSeconds: 3_600 }, -520_000, "Unknown"],
  ])("is proven to be dead by age until it is renewed: %#", async (over, ageMs, cause) => {
    const scene = new Scene();
    scene.audiences = [API];
    scene.podList = [scene.podAt(ageMs, over)];
    scene.accounts.set("web", scene.account("sa-2", ageMs + 100_000));
    const pass = await scene.passes(13, () => scene.log(UNAUTHORIZED));
    expect(pass.intents).toMatchObject([{ restart: { cause } }]);
  });
});

/** Passes until the age alone is enough. */
const OVER_A_MINUTE = 14;

/** A pod that logs nothing, has its first token, and whose ServiceAccount was recreated. */
function silent(): Scene {
  const scene = new Scene();
  scene.podList = [scene.podAt(-20 * MINUTE, {})];
  scene.accounts.set("web", scene.account("sa-2", 0));
  return scene;
}

function bound(kind: "RoleBinding" | "ClusterRoleBinding", subject: SubjectView): Promise<ScenePass> {
  const scene = silent();
  scene.bindingList = [binding({ kind, namespace: kind === "RoleBinding" ? "team" : "", subjects: [subject] })];
  return scene.passes(OVER_A_MINUTE);
}

describe("the age of the ServiceAccount as the only evidence", () => {
  const web = { kind: "ServiceAccount", namespace: "team", name: "web" };

  it.each<[string, "RoleBinding" | "ClusterRoleBinding", SubjectView]>([
    ["a RoleBinding", "RoleBinding", web],
    ["a ClusterRoleBinding", "ClusterRoleBinding", web],
    ["a binding of the user name", "RoleBinding", { kind: "User", name: "system:serviceaccount:team:web" }],
  ])("restarts a pod whose ServiceAccount has %s", async (_, kind, subject) => {
    expect((await bound(kind, subject)).intents).toHaveLength(1);
  });

  it.each<[string, SubjectView]>([
    ["another ServiceAccount", { ...web, name: "web-2" }],
    ["one of another namespace", { ...web, namespace: "other" }],
    ["every ServiceAccount, as the defaults of Kubernetes do", { kind: "Group", name: "system:serviceaccounts" }],
    ["every ServiceAccount of the namespace", { kind: "Group", name: "system:serviceaccounts:team" }],
  ])("restarts no pod if bindings name only %s", async (_, subject) => {
    const pass = await bound("ClusterRoleBinding", subject);
    expect(pass).toMatchObject({ intents: [], status: "True", reason: "Suspected" });
    expect(pass.message).toBe(
      "Pod web-5d-a is older than its ServiceAccount web, so its token is invalid; no 401 response confirms it yet; without one, a restart needs a binding that names the ServiceAccount.",
    );
  });

  it("leaves unknown whether the token is used, once no 401 response has confirmed it for ten minutes", async () => {
    const scene = silent();
    scene.bindingList = [];
    expect(await scene.passes(9 * 12)).toMatchObject({ status: "True", reason: "Suspected" });
    const later = await scene.passes(2 * 12);
    expect(later).toMatchObject({ intents: [], status: "Unknown", reason: "Suspected" });
    expect(later.message).toBe(
      "Pod web-5d-a is older than its ServiceAccount web, so its token is invalid; whether its requests get 401 responses is unknown, because for 10m its log has shown no 401 that counts, and no work.",
    );
  });

  it("restarts a pod on a later token although a pass listed no pods before its ServiceAccount was recreated", async () => {
    const scene = new Scene();
    const pods = [scene.podAt(-120 * MINUTE, { volumesReadyMs: scene.nowMs - 120 * MINUTE })];
    scene.bindingList = [binding({ subjects: [web] })];
    scene.accounts.set("web", scene.account("sa-1", -180 * MINUTE));
    scene.podList = pods;
    await scene.pass();
    scene.podList = [];
    await scene.pass();
    scene.podList = pods;
    scene.accounts.set("web", scene.account("sa-2", 0));
    expect((await scene.passes(OVER_A_MINUTE)).intents).toHaveLength(1);
  });

  it.each<[string, TokenRestartSpec["evidence"], (scene: Scene) => unknown]>([
    ["becomes evidence", ["Logs"], scene => (scene.object.spec.tokenRestart = DEFAULTS)],
    ["is suspended", DEFAULTS.evidence, scene => scene.remedy.pause?.("team/it")],
    ["has another leader", DEFAULTS.evidence, scene => scene.failOver()],
  ])("waits for the log, which may show that the pod works, after it %s", async (_, evidence, change) => {
    const scene = silent();
    scene.object.spec.tokenRestart = { ...DEFAULTS, evidence };
    let logs: readonly RoundsLog[] = [];
    const keep: LogRounds["keep"] = (_owner, _key, wanted) => Promise.resolve(void (logs = wanted));
    Object.assign(scene, { rounds: { keep, drop: () => undefined } });
    const read = () => Promise.all(logs.map(log => log.read()));
    const pass = () =>
      scene.pass().then(
        ({ intents }) => intents.length,
        (error: unknown) => error,
      );
    expect(await pass()).toBeInstanceOf(NotYetError);
    await read();
    expect(await pass()).toBe(0);
    scene.clock.advance(2 * MINUTE);
    change(scene);
    await pass();
    scene.clock.advance(4_000);
    expect(await pass()).toBe(0);
    await read();
    expect(await pass()).toBe(1);
  });

  it("does not speak for a log that cannot be read", async () => {
    const scene = silent();
    scene.bindingList = [];
    scene.logs.before = () => Promise.reject(new ForbiddenError("no"));
    const pass = await scene.passes(12 * 12);
    expect(pass.message).toContain("is unknown, because its log was not read");
    expect(pass.message).not.toContain("its log has shown");
  });

  const hook = recreatingHookOf({ "helm.sh/hook": "pre-upgrade" });

  it.each([
    ["a Helm hook recreates it: helm.sh/hook: pre-upgrade", { hook }],
    ["its owner App a recreates it, or is itself recreated by a hook", { owner: { kind: "App", name: "a", uid: "o" } }],
  ])("says that %s", async (how, recreator) => {
    const scene = silent();
    scene.accounts.set("web", { ...scene.account("sa-2", 0), ...(recreator as object) });
    const pass = await scene.passes(OVER_A_MINUTE);
    expect(pass.message).toContain(
      `Pod web-5d-a is older than its ServiceAccount web (${how}), so its token is invalid`,
    );
    expect(pass.intents).toMatchObject([{ why: expect.stringContaining(how) as string }]);
  });

  it("is enough once a 401 response confirms it", async () => {
    const scene = silent();
    scene.bindingList = [];
    expect((await scene.passes(OVER_A_MINUTE)).intents).toEqual([]);
    scene.log(UNAUTHORIZED);
    expect((await scene.passes(2)).intents).toHaveLength(1);
  });

  it.each([
    ["RoleBinding", new ForbiddenError("may not list rolebindings"), "Forbidden"],
    ["ClusterRoleBinding", new TransientError("not read yet"), "ObserveFailed"],
  ] as const)("restarts no pod while %ss cannot be read, and says so", async (kind, error, reason) => {
    const scene = silent();
    scene.bindingList = [];
    scene.failing = { [kind]: error };
    const pass = await scene.passes(OVER_A_MINUTE);
    expect(pass).toMatchObject({ intents: [], status: "Unknown", reason });
    expect(pass.message).toContain(error.message);
  });

  it("needs no ClusterRoleBindings where a RoleBinding is enough", async () => {
    const scene = silent();
    scene.failing = { ClusterRoleBinding: new ForbiddenError("may not list clusterrolebindings") };
    const pass = await scene.passes(OVER_A_MINUTE);
    expect(pass.intents).toHaveLength(1);
    expect(pass.message).not.toContain("may not");
  });
});

describe("persistent 401s", () => {
  it("need no bindings", async () => {
    const scene = new Scene();
    scene.failing = { RoleBinding: new TypeError("not to be read") };
    const pass = await scene.passes(24, () => {
      scene.log(UNAUTHORIZED);
    });
    expect(pass.intents).toHaveLength(1);
  });
});
