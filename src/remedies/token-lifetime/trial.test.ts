import { describe, expect, it } from "vitest";
import { ForbiddenError } from "../../core/errors";
import type { PodView } from "../../core/views";
import { executedRestart } from "../../restarts/testing/history";
import type { ReviewedPod } from "./review";
import { PLAIN, Scene, withImage, withToken } from "./testing/scene";

// A template is tried on one node, for the life of one token, before the DaemonSet controller replaces the other pods.

const MINUTE = 60_000;

/** The first pod was replaced. */
async function begun(scene: Scene): Promise<Scene> {
  // Events are watched for two minutes before an agent is changed.
  await scene.run(scene.isAgent ? 18 : 4);
  expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod"]);
  expect(scene.entry()).toMatchObject({ outcome: "Trial" });
  expect(scene.set()).toMatchObject({ updateStrategy: "OnDelete" });
  return scene;
}

const ordinary = (): Scene => new Scene();

describe("a change of a template", () => {
  const { spec: named } = withToken(7_200) as typeof PLAIN;
  const both = { spec: { ...named, automountServiceAccountToken: true } };

  it("bounds a token that names an audience of the API server, whose audience stays", async () => {
    const [scene, audience] = [ordinary(), "https://kubernetes.default.svc"];
    scene.put("agent", withToken(86_400, audience));
    const token = { mountsToken: false, audienceTokens: [{ audience, expirationSeconds: 86_400 }] };
    for (const pod of scene.podList)
      Object.assign(pod, token, { tokenExpirationSeconds: undefined, maxTokenExpirationSeconds: undefined });
    expect((await scene.pass()).message).toContain("the audience of its tokens is not known");
    scene.audiences = [audience];
    await scene.run(103);
    expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod", "apply DaemonSet"]);
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "Bounded" });
    expect(JSON.stringify(scene.set().template)).toMatch(/"expirationSeconds":600,.*"audience":"https:/);
    // While the API server names other audiences, nothing is known of the token, and its former life is kept.
    scene.audiences = ["https://other"];
    expect(await scene.pass()).toMatchObject({ reason: "NothingToDo" });
    scene.audiences = [audience];
    await scene.pass();
    scene.setLogs("persistent");
    await scene.pass();
    expect(scene.set().template).toEqual(withToken(86_400, audience));
  });

  it("is not begun where a container keeps the default token, which would outlive every trial", async () => {
    const scene = new Scene({ defaultToken: "Leave" });
    scene.put("agent", both);
    scene.roll("agent", 7_200);
    await scene.run(60);
    expect(scene.lines).toEqual([]);
    expect(scene.last).toMatchObject({ status: "True", reason: "NothingToDo" });

    scene.object.spec.tokenLifetime!.defaultToken = "Project";
    scene.ask();
    await begun(scene);
    scene.object.spec.tokenLifetime!.defaultToken = "Leave";
    scene.ask();
    await scene.run(60);
    expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod", "apply DaemonSet"]);
    expect(scene.set()).toMatchObject({ updateStrategy: "RollingUpdate", template: both });
    expect(scene.last).toMatchObject({ status: "True", reason: "NothingToDo" });
  });

  it("does not go on if meanwhile the rolling update would replace too many pods at once", async () => {
    const scene = await begun(ordinary());
    scene.edit({ maxUnavailable: "100%" });
    await scene.run(100);
    expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod", "apply DaemonSet"]);
    expect(scene.set()).toMatchObject({ updateStrategy: "RollingUpdate", template: PLAIN });
    expect(scene.last).toMatchObject({ status: "False", reason: "Unsupported", stalled: { reason: "Unsupported" } });
  });

  it("is taken back as far as the default token goes without a trial", async () => {
    const scene = ordinary();
    scene.put("agent", both);
    scene.roll("agent", 7_200);
    await scene.run(103);
    expect(scene.entry()).toMatchObject({ outcome: "Bounded" });
    scene.object.spec.tokenLifetime!.defaultToken = "Leave";
    scene.ask();
    await scene.run(30);
    scene.roll("agent", 600);
    await scene.run(30);
    expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod", "apply DaemonSet", "apply DaemonSet"]);
    // It does not wait for the trial of another DaemonSet, which may last a day.
    expect(scene.written.at(-1)).toHaveProperty("rollout", { workload: "DaemonSet/agent", goesOn: true });
    expect(scene.written.at(-1)).toHaveProperty("eventReason", "TokenLifetimeRestored");
    expect(scene.entry()).toMatchObject({ previous: [{ volume: "api", expirationSeconds: 7_200 }] });
    expect(scene.last).toMatchObject({ status: "True", reason: "NothingToDo" });
  });

  it("is restored after an hour if no pod can be replaced, and says why, although a clock that was ahead has stamped it", async () => {
    const scene = ordinary();
    await scene.run(2);
    scene.entry()!.appliedTime = "2035-01-01T00:00:00Z";
    scene.edit({ availablePods: 2 });
    await scene.run(460);
    expect(scene.set()).toMatchObject({ updateStrategy: "RollingUpdate", template: PLAIN });
    expect(scene.written.at(-1)?.why).toContain("no pod has the shorter token yet; 2 of 3 pods are available");
    // What it replaced has not come back, which may have a cause that others share.
    scene.edit({ availablePods: 2 });
    await scene.run(1);
    expect(scene.entry()).toMatchObject({ outcome: "Unproven", waitStartTime: expect.any(String) as string });
    scene.edit({ availablePods: 3 });
    await scene.run(2);
    expect(scene.entry()).not.toHaveProperty("waitStartTime");
  });

  it("lasts as long although the clock of its node is behind", async () => {
    const scene = await begun(ordinary());
    scene.podList = scene.podList.map(pod => ({ ...pod, readySinceMs: pod.createdAtMs - 10 * MINUTE }));
    await scene.run(80);
    expect(scene.count(600)).toBe(1);
  });

  it("goes on once the log of the first pod was read at the end, a life of the token after it became Ready", async () => {
    const scene = await begun(ordinary());
    scene.podList = scene.podList.map(pod => ({ ...pod, readySinceMs: pod.readySinceMs! + 5 * MINUTE }));
    const review = scene.review.bind(scene);
    const readMs = scene.clock.now().getTime() + 1_120_000;
    scene.review = async pods => {
      const reviewed = await review(pods);
      return new Map([...reviewed].map(([uid, one]) => [uid, { ...one, readMs: Math.min(one.readMs, readMs) }]));
    };
    await scene.run(119);
    expect((await scene.pass()).message).toContain("has unread logs");
    expect(scene.count(600)).toBe(1);
    scene.review = review;
    await scene.run(10);
    expect(scene.count(600)).toBe(3);
  });

  it("does not go on while the first pod is not Ready or its log is not read, and is restored after an hour", async () => {
    const scene = await begun(ordinary());
    scene.setLogs("unreadable", 600);
    await scene.run(85 + 354);
    expect(scene.count(600)).toBe(1);
    expect((await scene.pass()).message).toContain("has unread logs");
    await scene.run(12);
    expect(scene.set().template).toEqual(PLAIN);
    expect(await scene.pass()).toMatchObject({ reason: "Reverted", stalled: { reason: "Reverted" } });
    expect(scene.entry()).toMatchObject({ outcome: "Unproven" });
    const count = scene.written.length;
    scene.setLogs("quiet");
    await scene.run(30);
    expect(scene.written).toHaveLength(count);
    scene.ask();
    await scene.run(3);
    expect(scene.written.length).toBeGreaterThan(count);
  });

  it("is tried for the whole life of the token, also on the only node", async () => {
    const single = new Scene({ expirationSeconds: 7_200 });
    single.podList = single.podList.slice(0, 1);
    single.put("agent", PLAIN, { replicas: 1, updatedPods: 1, availablePods: 1 });
    await single.run(700);
    expect(single.entry()).toMatchObject({ outcome: "Trial" });
    expect(single.last.message).toContain("the first must work until 2025-01-01T02:04:");
    await single.run(60);
    expect(single.last).toMatchObject({ status: "True", reason: "Bounded" });
  });

  it("is proven by the first pod only, although the others were recreated meanwhile", async () => {
    const scene = await begun(ordinary());
    scene.setLogs("unreadable", 600);
    for (const { name, maxTokenExpirationSeconds } of [...scene.podList]) {
      if (maxTokenExpirationSeconds !== 600) scene.replacePod(name);
    }
    expect(scene.count(600)).toBe(3);
    await scene.run(90);
    expect(scene.last.message).toContain(
      "trial on one node, 3 of 3 pods have tokens bounded to 10m; pod agent-4, the first",
    );
    expect(scene.set()).toMatchObject({ updateStrategy: "OnDelete" });
    scene.setLogs("quiet");
    await scene.run(2);
    expect(scene.last).toMatchObject({ status: "True", reason: "Bounded" });
  });

  it.each([
    ["", 1],
    [", also if it is no target any more", 0],
  ])(
    "only observes in Observe mode, and calls a person, since OnDelete holds up every update%s",
    async (_, targets) => {
      const scene = await begun(ordinary());
      scene.object.spec.mode = "Observe";
      scene.object.spec.targets.splice(targets);
      await scene.run(100);
      expect(scene.lines).toHaveLength(2);
      expect(scene.last.reason).toBe("WouldChange");
      const words = "DaemonSet agent: updateStrategy OnDelete of the trial holds every update";
      expect(scene.last.message).toContain(words);
      expect(scene.last.stalled?.message).toContain(words);
    },
  );

  it("is named while the object is suspended", async () => {
    const scene = ordinary();
    expect(scene.remedy.whileSuspended?.(scene.object)).toBeUndefined();
    await begun(scene);
    expect(scene.remedy.whileSuspended?.(scene.object)).toContain("DaemonSet agent: updateStrategy OnDelete");
    await scene.run(100);
    expect(scene.remedy.whileSuspended?.(scene.object)).toBeUndefined();
  });
});

/** The writes of a trial that has ended. */
const TRIED = ["apply DaemonSet", "evict Pod", "apply DaemonSet"];

/** The trial has ended without a verdict. */
function expectRestored(scene: Scene, outcome: string): void {
  expect(scene.lines).toEqual(TRIED);
  expect(scene.entry()).toMatchObject({ outcome });
  expect(scene.set().template).toEqual(PLAIN);
}

function recreateAccount(scene: Scene): void {
  scene.account = { ...scene.account, uid: "sa2", createdAtMs: scene.clock.now().getTime() };
}

it("evicts no second pod within the cooldown if a webhook gives the first one a longer token again", async () => {
  const scene = ordinary();
  const makePod = scene.makePod.bind(scene);
  scene.makePod = name => makePod(name, 3607);
  await begun(scene);
  await scene.run(20);
  expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod"]);
  expect(scene.last.message).toContain("the next pod can be replaced at 2025-01-01T00:1");
  await scene.run(70);
  expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod", "evict Pod"]);
});

describe("a trial ends at once, and the template is restored", () => {
  const takenOver = { updateStrategy: "RollingUpdate", ownsUpdateStrategy: false, strategyManager: "kubectl" } as const;

  it.each<[string, (scene: Scene) => void]>([
    ["for another lifetime", scene => void (scene.object.spec.tokenLifetime!.expirationSeconds = 900)],
    ["for defaultToken: Leave", scene => void (scene.object.spec.tokenLifetime!.defaultToken = "Leave")],
    ["for another template, which its owner may need urgently", scene => scene.setImage("agent:2")],
    ["when another manager sets RollingUpdate", scene => scene.edit(takenOver)],
    ["when its DaemonSet is no target any more", scene => void scene.object.spec.targets.splice(0, 1)],
    [
      "when its DaemonSet is no target any more, and neither are more than status keeps",
      scene => {
        const others = Array.from({ length: 40 }, (_, i) => ({ name: `other-${i}`, outcome: "LeftAlone" as const }));
        scene.object.status!.daemonSets!.unshift(...others);
        scene.object.spec.targets.splice(0, 1);
      },
    ],
  ])("%s", async (_, then) => {
    const scene = await begun(ordinary());
    then(scene);
    await scene.pass();
    expect(scene.set()).toMatchObject({ updateStrategy: "RollingUpdate" });
    expect(JSON.stringify(scene.set().template)).not.toContain('"expirationSeconds":600');
  });

  it.each([
    ["Unknown", "Unproven", "because pod agent-4 is being replaced, and the shorter token may be why"],
    ["ProgressStopped", "Unproven", "because pod agent-4 is being replaced, and the shorter token may be why"],
    ["SigningKeyRotated", "Waiting", "because its ServiceAccount or a signing key changed"],
    ["ServiceAccountRecreated", "Waiting", "because its ServiceAccount or a signing key changed"],
  ] as const)(
    "when its first pod is restarted for %s, since that pod's 401s are gone with it",
    async (cause, outcome, why) => {
      const scene = await begun(ordinary());
      await scene.run(50);
      const claim = { workload: "DaemonSet/agent", pod: "agent-4", podUID: "uid-agent-4", cause };
      const [now, limits] = [scene.clock.now(), { cooldownMs: 600_000, maxRestarts: 3 }];
      const restart = executedRestart({ ...claim, newestPodMs: now.getTime(), limits }, now);
      scene.object.status = { ...scene.object.status, restarts: [restart] };
      await scene.run(1);
      expectRestored(scene, outcome);
      expect(scene.written.at(-1)?.why).toContain(why);
      await scene.run(120);
      expect(scene.entry()).toMatchObject({ outcome: outcome === "Waiting" ? "Bounded" : "Unproven" });
    },
  );

  it("when its ServiceAccount is recreated; another one begins once no pod is older than it", async () => {
    const scene = await begun(ordinary());
    recreateAccount(scene);
    await scene.run(30);
    expectRestored(scene, "Waiting");
    await scene.run(360);
    expect(scene.last).toMatchObject({ reason: "Waiting", stalled: { reason: "Waiting" } });
    for (const { name } of [...scene.podList]) scene.replacePod(name);
    await scene.run(4);
    expect(scene.entry()).toMatchObject({ outcome: "Trial" });
    await scene.run(90);
    expect(scene.last).toMatchObject({ reason: "Bounded" });
  });

  it("when its ServiceAccount is recreated; a token that is too short is reverted by the next one, and not tried again", async () => {
    const scene = await begun(new OnceScene());
    await scene.run(12);
    recreateAccount(scene);
    await scene.run(2);
    for (const { name } of [...scene.podList]) scene.replacePod(name);
    await scene.run(600);
    expect(scene.entry()).toMatchObject({ outcome: "Reverted" });
    expect(scene.lines.filter(line => line === "evict Pod")).toHaveLength(2);
  });

  it("when the object is deleted or its block is removed", async () => {
    const scene = await begun(ordinary());
    expect(await scene.pass()).toMatchObject({ needsCleanup: true });
    const intents = await scene.remedy.cleanUp!(scene.object, scene);
    expect(intents).toMatchObject([{ verb: "apply", target: { kind: "DaemonSet", name: "agent" } }]);
    expect(JSON.stringify(intents[0]?.body)).not.toContain("OnDelete");
  });

  it("and is not tried again for that generation if another manager restores the template", async () => {
    const scene = await begun(ordinary());
    await scene.run(12);
    scene.put("agent", PLAIN, { ownedVolumes: [] });
    await scene.run(30);
    expect(await scene.pass()).toMatchObject({ reason: "Contested", stalled: { reason: "Contested" } });
    expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod", "apply DaemonSet"]);
    expect(scene.set()).toMatchObject({ updateStrategy: "RollingUpdate" });
    // What would hold up a change as well does not hide it.
    scene.edit({ maxUnavailable: "100%" });
    expect(await scene.pass()).toMatchObject({ reason: "Contested", stalled: { reason: "Contested" } });
  });
});

it("a trial does not wait while the owner of another DaemonSet replaces its pods", async () => {
  const scene = ordinary();
  await scene.run(2);
  expect(scene.lines).toEqual(["apply DaemonSet"]);
  scene.addAnother();
  scene.put("other", withImage(PLAIN, "agent:2"));
  const appliedTime = "2025-01-01T00:00:00Z";
  scene.object.status!.daemonSets!.push({ name: "other", uid: "uid-other", outcome: "Bounded", appliedTime });
  await scene.run(2);
  expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod"]);
});

it("a trial that ends without proof is repeated for an object that has changed meanwhile", async () => {
  const scene = await begun(ordinary());
  scene.setLogs("unreadable", 600);
  scene.ask();
  await scene.run(440);
  scene.setLogs("quiet");
  await scene.run(100);
  expect(scene.last).toMatchObject({ reason: "Bounded" });
});

it("a webhook that changes the template with each update ends the trial before a pod is replaced, and there is no other", async () => {
  const scene = ordinary();
  for (let i = 0; i < 20; i++) {
    await scene.run(1);
    scene.setImage(`agent:${scene.written.length}`);
  }
  expect(scene.lines).toEqual(["apply DaemonSet", "apply DaemonSet"]);
  expect(await scene.pass()).toMatchObject({ reason: "Contested", stalled: { reason: "Contested" } });
});

it("a trial with the skip annotation calls a person, since OnDelete holds up every update", async () => {
  const scene = await begun(ordinary());
  scene.edit({ skip: true });
  const decision = await scene.pass();
  expect(decision).toMatchObject({ status: "False", reason: "Unsupported" });
  // With RollingUpdate alone, every pod would get the shorter token without proof.
  expect(decision.stalled?.message).toMatch(/remove the annotation, or take it back by hand \(docs\S+\)\.$/);
  expect(scene.entry()).toMatchObject({ outcome: "Trial" });
  scene.edit({ skip: false });
  await scene.run(100);
  expect(scene.count(600)).toBe(3);
});

describe("a right that the trial needs and the operator lacks", () => {
  const noEviction = (scene: Scene): void => {
    scene.evictionOutcome = { result: "Forbidden", message: "it needs a right" };
  };
  const noList = (scene: Scene): void => {
    scene.nodeError = new ForbiddenError("may not list pods");
  };
  const grant = (scene: Scene): void => {
    scene.evictionOutcome = undefined;
    scene.nodeError = undefined;
  };

  it.each([
    ["create pods/eviction", noEviction, "may not create pods/eviction in namespace team, as the trial"],
    ["list pods", noList, "may not list pods in all namespaces, as the trial"],
  ])("is %s: nothing is changed before it is granted", async (_, deny, cause) => {
    const scene = new Scene({}, true);
    deny(scene);
    await scene.run(6 * 75);
    expect(scene.written).toEqual([]);
    expect(scene.entry()).toMatchObject({ outcome: "Waiting" });
    expect(scene.last).toMatchObject({ status: "False", reason: "Forbidden", stalled: { reason: "Forbidden" } });
    expect(scene.last.message).toContain(cause);
    grant(scene);
    await scene.run(20);
    expect(scene.count(600)).toBe(1);
  });

  it("is not to list pods, unless the pods are agents of a node", async () => {
    const scene = ordinary();
    noList(scene);
    await scene.run(90);
    expect(scene.last).toMatchObject({ reason: "Bounded" });
  });

  it("ends no trial when it is missed for a while", async () => {
    const scene = await begun(new Scene({}, true));
    noList(scene);
    noEviction(scene);
    scene.start(scene.trialNode);
    await scene.run(100);
    expect(scene.entry()).toMatchObject({ outcome: "Trial" });
    expect(scene.last.message).toContain("the operator may not list the pods of all namespaces");
    grant(scene);
    scene.start(scene.trialNode);
    await scene.run(10);
    expect(scene.count(600)).toBe(3);
  });

  it("does not keep a template from being restored", async () => {
    const scene = await begun(ordinary());
    await scene.run(100);
    expect(scene.last).toMatchObject({ reason: "Bounded" });
    noEviction(scene);
    scene.object.spec.tokenLifetime!.defaultToken = "Leave";
    await scene.run(3);
    expect(scene.set().template).toEqual(PLAIN);
  });
});

/** Its pods have a network of their own, as those of istio-cni in sidecar mode. */
class ChainedScene extends Scene {
  override makePod(...args: Parameters<Scene["makePod"]>): PodView {
    return { ...super.makePod(...args), hostNetwork: false };
  }
}

describe("the trial of a CNI agent", () => {
  it.each([
    ["with the network of its node", Scene],
    ["with a network of its own", ChainedScene],
  ])("%s waits until a pod has started on that node after the first token expired", async (_, OfAgent) => {
    const scene = await begun(new OfAgent({}, true));
    await scene.run(60);
    // The API server accepts an expired copy for a while.
    scene.start(scene.trialNode);
    await scene.run(40);
    expect(scene.count(600)).toBe(1);
    expect((await scene.pass()).message).toContain(`was seen to start on node ${scene.trialNode} since`);
    scene.start("node-2");
    scene.start(scene.trialNode, { hostNetwork: true });
    await scene.run(10);
    expect(scene.count(600)).toBe(1);
    scene.start(scene.trialNode);
    await scene.run(5);
    expect(scene.count(600)).toBe(3);
  });

  it("restores the template and calls a person if no pod starts there for an hour", async () => {
    const scene = await begun(new Scene({}, true));
    await scene.run(85 + 370);
    expect(scene.set().template).toEqual(PLAIN);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ reason: "Reverted", stalled: { reason: "Reverted" } });
    expect(scene.entry()).toMatchObject({ outcome: "Unproven" });
    expect(decision.message).toContain("take the DaemonSet out of the targets");
  });
});

// What once spread harm without a trial, or with one that proved nothing.
describe.each([
  ["an ordinary DaemonSet", false],
  ["a CNI agent", true],
])("%s with an empty node pool", (_, isAgent) => {
  function empty(): Scene {
    const scene = new Scene({}, isAgent);
    scene.podList = [];
    scene.put("agent", PLAIN, { replicas: 0, updatedPods: 0, availablePods: 0 });
    return scene;
  }

  it("is not bounded without a trial", async () => {
    const scene = empty();
    await scene.run(60);
    expect([
      scene.last.reason,
      scene.last.message,
      scene.written.map(({ verb, target }) => `${verb} ${target.kind}`),
    ]).toEqual(["Waiting", expect.stringContaining("it has no pods"), []]);
    await scene.run(360);
    expect(scene.last.stalled).toBeUndefined();
  });

  it("reverts when the first nodes that join hours later cannot start pods", async () => {
    const scene = empty();
    await scene.run(60);
    await scene.clock.run(3 * 3_600_000);
    await scene.run(6);
    scene.put("agent", scene.set().template, { replicas: 3, availablePods: 3 });
    scene.roll("agent", 3607);
    await scene.run(60);
    expect(scene.count(600)).toBe(1);
    // The copy of the first token is dead: no pod starts on its node, and the agent's own requests fail.
    scene.setLogs("persistent", 600);
    await scene.run(360, [scene.trialNode]);
    expect([scene.last.status, scene.last.reason]).toEqual(["False", "Reverted"]);
    expect(scene.count(600)).toBe(0);
  });
});

/** Its pods get 401s once the kubelet's cache, too, has forgotten their token of 600 seconds. */
class OnceScene extends Scene {
  override review(pods: readonly PodView[]): Promise<ReadonlyMap<string, ReviewedPod>> {
    const readMs = this.nowMs;
    const isRefused = ({ tokenExpirationSeconds: life = 0, createdAtMs }: PodView): boolean =>
      life <= 600 && readMs - createdAtMs > 790_000;
    const reviewed = (pod: PodView): ReviewedPod => ({ state: isRefused(pod) ? "persistent" : "quiet", readMs });
    return Promise.resolve(new Map(pods.map(pod => [pod.uid, reviewed(pod)])));
  }
}

describe("a trial of another template proves nothing", () => {
  /** One pod has had the shorter token for two minutes, and for a moment there is no ServiceAccount. */
  async function changed(): Promise<Scene> {
    const scene = await begun(ordinary());
    await scene.run(12);
    scene.hasAccount = false;
    scene.setImage("agent:2");
    await scene.run(1);
    return scene;
  }

  it("also if the ServiceAccount is missing for a moment", async () => {
    const scene = await changed();
    scene.hasAccount = true;
    for (let i = 0; i < 100 && scene.set().updateStrategy === "OnDelete"; i++) await scene.run(1);
    expect(JSON.stringify(scene.set().template)).not.toContain('"expirationSeconds":600');
  });

  it("also if it is no target any more when its ServiceAccount is back, which a person must see to in time", async () => {
    const scene = await changed();
    expect(scene.last).toMatchObject({ reason: "Waiting", progressing: true });
    await scene.run(361);
    expect(scene.last).toMatchObject({ reason: "Waiting", stalled: { reason: "Waiting" } });
    scene.hasAccount = true;
    scene.object.spec.targets.splice(0, 1);
    await scene.run(1);
    expect(scene.set()).toMatchObject({ updateStrategy: "RollingUpdate" });
  });
});
