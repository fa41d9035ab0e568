import { describe, expect, it } from "vitest";
import type { TokenRestartSpec } from "../../api/controller-resilience";
import { ForbiddenError, TransientError } from "../../core/errors";
import type { PodView, SandboxEventView, WorkloadView } from "../../core/views";
import { workload } from "../../core/testing/views";
import { Scene, UNAUTHORIZED } from "./testing/scene";

/** The DaemonSet `cni` with a pod on node n1, where new pods of another namespace cannot start. */
class Node extends Scene {
  #events = 0;

  constructor(spec: Partial<TokenRestartSpec> = {}, targets: readonly string[] = ["cni"]) {
    super(spec);
    this.workloadList = targets.map(name => daemonSet(name));
    this.podList = targets.map(name => this.agent(name));
    this.object.spec.targets = targets.map(name => ({ kind: "DaemonSet", name }));
  }

  agent(name = "cni", over: Partial<PodView> = {}, offsetMs = -3_600_000): PodView {
    const pod = this.podAt(offsetMs, {
      name: `${name}-a`,
      uid: `uid-${name}-a`,
      owner: { kind: "DaemonSet", name, uid: `ds-${name}` },
      labels: {},
      nodeName: "n1",
      hostNetwork: true,
      cniFolder: true,
      ...over,
    });
    this.logs.write(pod.name, "main");
    return pod;
  }

  /** The sandboxes of two teams fail now. Events of the kubelet have whole seconds. */
  fail(over: Partial<SandboxEventView> = {}): void {
    for (const namespace of ["shop", "bank"]) this.failIn(namespace, over);
  }

  /** The sandbox of one team fails now. */
  failIn(namespace: string, over: Partial<SandboxEventView> = {}): void {
    const storedMs = Math.floor(this.clock.now().getTime() / 1000) * 1000;
    const uid = `event-${this.#events++}`;
    this.sandboxEventList.push({
      ...{ namespace, name: uid, uid, node: "n1", unauthorized: true, storedMs, count: 1 },
      ...over,
      ...(over.uid === undefined ? {} : { uid: `${over.uid}-${namespace}` }),
    });
  }

  /** Replaces the evicted agent. */
  replaceAgent(name = "cni", readyAfterMs = 1_000): void {
    const createdAtMs = Math.floor(this.clock.now().getTime() / 1000) * 1000;
    this.podList = this.podList.filter(pod => pod.name !== `${name}-a`);
    this.podList.push(
      this.agent(name, {
        name: `${name}-b`,
        uid: `uid-${name}-b`,
        createdAtMs,
        readySinceMs: createdAtMs + readyAfterMs,
      }),
    );
    this.logs.write(`${name}-b`, "main", { ms: createdAtMs + 1_000, text: "started" });
  }

  /** Passes every 5 s while the kubelet retries a sandbox every 15 s. */
  async sandboxesFail(seconds: number, over: Partial<SandboxEventView> = {}): ReturnType<Scene["pass"]> {
    this.fail(over);
    return this.passes(seconds / 5, second => {
      if (second % 15 === 0) this.fail(over);
    });
  }
}

function daemonSet(name: string, over: Partial<WorkloadView> = {}): WorkloadView {
  return workload({ kind: "DaemonSet", name, uid: `ds-${name}`, ...over });
}

describe("sandbox Events", () => {
  it("are Suspected at first, and reject the agent of their node once they are persistent", async () => {
    const node = new Node();
    node.podList.push(node.agent("cni", { name: "cni-z", uid: "uid-z", nodeName: "n2" }));
    expect(await node.pass()).toMatchObject({ status: "True", reason: "Accepted" });
    const suspected = await node.sandboxesFail(55);
    expect(suspected).toMatchObject({ status: "True", reason: "Suspected", intents: [], recheckAfterMs: 5_000 });
    const pass = await node.passes(1, () => node.fail());
    expect(pass).toMatchObject({ status: "False", reason: "Rejected", progressing: true });
    expect(pass.intents).toMatchObject([
      {
        verb: "evict",
        target: { kind: "Pod", namespace: "team", name: "cni-a", uid: "uid-cni-a" },
        restart: { workload: "DaemonSet/cni", cause: "CniCredentialRejected" },
      },
    ]);
    expect(pass.intents[0]?.restart).not.toHaveProperty("serviceAccountUID");
    expect(pass.message).toBe(
      "Pod cni-a, CNI agent of node n1, left a rejected credential there: pods cannot start or end, with 401 responses on 3 or more occasions over 1m or more (the agent's next pod writes a new credential). The operator is about to evict the pod.",
    );
    expect(pass.lists?.targets).toMatchObject([{ rejectedPods: 1, lastUnauthorizedTime: "2025-01-01T12:01:00Z" }]);
  });

  it("lead to no restart while no API server refuses a request, as if someone had made them up", async () => {
    for (const isRefused of [false, true]) {
      const node = new Node();
      const known = { fromMs: node.nowMs, toMs: node.nowMs + 190_000 };
      node.rates = { refusals: { ...known, refused: isRefused ? [known] : [] } };
      const pass = await node.sandboxesFail(200);
      if (isRefused) expect(pass.intents).toHaveLength(1);
      else expect(pass).toMatchObject({ reason: "Rejected", intents: [], stalled: { reason: "Rejected" } });
    }
  });

  it("reject only after enough occasions over enough time that still go on", async () => {
    const short = new Node({ minDuration: "5m" });
    expect(await short.sandboxesFail(240)).toMatchObject({ reason: "Suspected", intents: [] });
    const burst = new Node();
    for (let i = 0; i < 20; i++) burst.fail();
    await burst.pass();
    burst.clock.advance(61_000);
    burst.fail();
    expect(await burst.pass()).toMatchObject({ reason: "Suspected", intents: [] });
    const over = new Node();
    await over.sandboxesFail(45);
    over.clock.advance(91_000);
    expect(await over.pass()).toMatchObject({ reason: "Accepted", intents: [] });
  });

  it("of other causes or other nodes, or disabled by the spec, have no effect", async () => {
    expect(await new Node().sandboxesFail(180, { unauthorized: false })).toMatchObject({
      reason: "Accepted",
      intents: [],
    });
    expect(await new Node().sandboxesFail(180, { node: "n2" })).toMatchObject({ reason: "Accepted", intents: [] });
    const notAsked = new Node({ evidence: ["Logs"] });
    notAsked.failing.sandboxEvents = new ForbiddenError("not requested");
    expect(await notAsked.sandboxesFail(180)).toMatchObject({ reason: "Accepted", intents: [] });
  });
});

describe("Events that an editor of one namespace has made up", () => {
  const forge = (node: Node, count = 20): void => {
    for (let i = 0; i < count; i++) node.failIn("shop", { count: 10 + i });
  };

  it("restart nothing, and the message says why and what a person can do", async () => {
    const node = new Node();
    forge(node);
    const pass = await node.passes(60, () => forge(node));
    expect(pass).toMatchObject({ status: "False", reason: "Rejected", intents: [], stalled: { reason: "Rejected" } });
    expect(pass.message).toContain("Pods of namespace shop cannot start or end on node n1");
    expect(pass.message).toContain("delete its pod by hand");
    expect(pass.lists?.targets).toMatchObject([{ rejectedPods: 0 }]);
  });

  it("are not confirmed by a stray failure elsewhere", async () => {
    const node = new Node();
    const pass = await node.passes(30, second => {
      forge(node);
      if (second === 100) node.failIn("bank");
    });
    expect(pass.intents).toEqual([]);
  });

  it("are believed once pods of a second namespace fail, or in the namespace of the agent", async () => {
    const node = new Node();
    await node.passes(20, () => node.failIn("shop"));
    expect((await node.passes(3, () => node.failIn("bank"))).intents).toMatchObject([{ restart: { pod: "cni-a" } }]);
    const own = new Node();
    expect((await own.passes(13, () => own.failIn("team"))).intents).toMatchObject([{ restart: { pod: "cni-a" } }]);
  });

  it("report nothing about an agent with the skip annotation", async () => {
    const node = new Node();
    node.podList = [node.agent("cni", { skip: true })];
    const pass = await node.passes(60, () => forge(node));
    expect(pass).not.toHaveProperty("stalled");
  });

  it.each([
    ["one namespace", (node: Node) => forge(node, 1)],
    ["two namespaces", (node: Node) => node.fail()],
  ])("and in %s do not keep a restart by other evidence from being Recovered", async (_, forgeOne) => {
    const node = new Node();
    const { intents } = await node.passes(13, () => node.log(UNAUTHORIZED, "cni-a"));
    expect(intents).toMatchObject([{ restart: { cause: "Unknown" } }]);
    node.noteRestart(intents[0]!);
    node.replaceAgent();
    expect((await node.passes(25, () => forgeOne(node))).restarts).toMatchObject([{ outcome: "Recovered" }]);
  });

  it("in two namespaces do not keep a restart open for ever", async () => {
    const node = new Node({ minDuration: "10m" });
    const { intents } = await node.sandboxesFail(900);
    node.noteRestart(intents[0]!);
    node.replaceAgent();
    const trickle = (second: number): void => {
      if (second % 80 === 0) node.fail();
    };
    expect((await node.passes(100, trickle)).restarts).toMatchObject([{ outcome: "Restarted" }]);
    expect((await node.passes(30, trickle)).restarts).toMatchObject([{ outcome: "Ineffective" }]);
  });
});

describe("the rejected agent", () => {
  it.each<[string, Partial<PodView>]>([
    ["without hostNetwork", { hostNetwork: false }],
    ["without a CNI folder of the host", { cniFolder: false }],
    ["that is not Ready", { ready: false }],
    ["that is being deleted", { deletedAtMs: 1 }],
    ["with the skip annotation", { skip: true }],
  ])("is never a pod %s", async (_, over) => {
    const node = new Node();
    node.podList = [node.agent("cni", over)];
    expect((await node.sandboxesFail(180)).intents).toEqual([]);
  });

  it("is never a pod of a Deployment", async () => {
    const node = new Node();
    node.workloadList = [workload()];
    node.object.spec.targets = [{ kind: "Deployment", name: "web" }];
    const owner = { kind: "ReplicaSet", name: "web-5d", uid: "rs" };
    node.podList = [node.agent("cni", { owner, labels: { "pod-template-hash": "5d" } })];
    expect(await node.sandboxesFail(180)).toMatchObject({ reason: "Accepted", intents: [] });
  });

  it("is none of two possible DaemonSets, which the message names with the remedy", async () => {
    const node = new Node({}, ["multus", "cni"]);
    const pass = await node.sandboxesFail(60);
    expect(pass).toMatchObject({
      status: "False",
      reason: "Rejected",
      intents: [],
      stalled: { reason: "Rejected" },
    });
    expect(pass.message).toContain("node n1");
    expect(pass.message).toContain("DaemonSet/cni or of DaemonSet/multus");
    expect(pass.message).toContain("create a separate ControllerResilience for each CNI agent");
  });

  it("is none while one of two DaemonSets is between two pods, but one where they share no node", async () => {
    const gap = new Node({}, ["multus", "cni"]);
    await gap.sandboxesFail(55);
    gap.podList = gap.podList.filter(({ name }) => name !== "multus-a");
    expect(await gap.passes(2, () => gap.fail())).toMatchObject({ reason: "Rejected", intents: [] });
    const apart = new Node({}, ["multus", "cni"]);
    apart.podList = [apart.agent("multus", { nodeName: "n2" }), apart.agent("cni")];
    expect((await apart.sandboxesFail(60)).intents).toMatchObject([{ restart: { workload: "DaemonSet/cni" } }]);
    const other = new Node({}, ["proxy", "cni"]);
    other.podList = [other.agent("proxy", { cniFolder: false }), other.agent("cni")];
    expect((await other.sandboxesFail(60)).intents).toMatchObject([{ restart: { workload: "DaemonSet/cni" } }]);
  });

  it("is a young pod only for failures after it became Ready", async () => {
    const node = new Node();
    await node.sandboxesFail(45);
    node.replaceAgent("cni", 10_000);
    const becomeReady = (ready: boolean): void => void (node.podList = node.podList.map(pod => ({ ...pod, ready })));
    becomeReady(false);
    expect(await node.passes(2, () => node.fail())).toMatchObject({ intents: [] });
    becomeReady(true);
    expect(await node.passes(12, () => node.fail())).toMatchObject({ intents: [] });
    expect((await node.passes(3, () => node.fail())).intents).toMatchObject([{ restart: { pod: "cni-b" } }]);
  });

  it("is reported with another cause when its log or its age is as strong", async () => {
    const node = new Node();
    const pass = await node.passes(13, () => {
      node.fail();
      node.log(UNAUTHORIZED, "cni-a");
    });
    expect(pass.intents).toMatchObject([{ restart: { cause: "Unknown" } }]);
    const old = new Node();
    old.accounts.set("web", old.account("sa-2", 0));
    expect((await old.sandboxesFail(60)).intents).toMatchObject([
      { restart: { cause: "ServiceAccountRecreated", serviceAccountUID: "sa-2" } },
    ]);
  });
});

describe("an agent whose signing key was replaced", () => {
  async function restarted(step: (node: Node, second: number) => void): Promise<Node> {
    const node = new Node();
    node.podList = [node.agent("cni", {}, -1_200_000)];
    const changedMs = node.clock.now().getTime();
    node.rotation = { beforeMs: changedMs, unchangedMs: changedMs, changedMs };
    const { intents } = await node.passes(26, second => {
      node.fail();
      step(node, second);
    });
    expect(intents).toMatchObject([{ restart: { cause: "SigningKeyRotated" } }]);
    node.noteRestart(intents[0]!);
    node.replaceAgent();
    return node;
  }

  it("is restarted in vain if the credential of its successor is refused as well", async () => {
    const node = await restarted(() => undefined);
    const open = await node.passes(12, () => node.fail());
    expect(open.restarts).toMatchObject([{ outcome: "Restarted" }]);
    expect((await node.passes(2, () => node.fail())).restarts).toMatchObject([{ outcome: "Ineffective" }]);
  });

  it("has helped once no sandbox has failed for as long as after a restart without proof", async () => {
    const node = await restarted(() => undefined);
    expect((await node.passes(17)).restarts).toMatchObject([{ outcome: "Restarted" }]);
    expect((await node.passes(2)).restarts).toMatchObject([{ outcome: "Recovered" }]);
  });

  it("has helped while Events go on if it was its own log that confirmed the proof", async () => {
    const node = await restarted((one, second) => second === 125 && one.log(UNAUTHORIZED, "cni-a"));
    expect((await node.passes(14, () => node.fail())).restarts).toMatchObject([{ outcome: "Recovered" }]);
  });
});

it("an agent whose ServiceAccount was recreated has been helped, whatever Events go on: they proved nothing", async () => {
  const node = new Node();
  node.accounts.set("web", node.account("sa-2", 0));
  const { intents } = await node.sandboxesFail(60);
  expect(intents).toMatchObject([{ restart: { cause: "ServiceAccountRecreated" } }]);
  node.noteRestart(intents[0]!);
  node.replaceAgent();
  expect((await node.passes(14, () => node.fail())).restarts).toMatchObject([{ outcome: "Recovered" }]);
});

describe("a node whose agent is gone", () => {
  const abandoned = async (hours: number): Promise<Node> => {
    const node = new Node();
    node.podList.push(node.agent("cni", { name: "cni-z", uid: "uid-z", nodeName: "n2" }));
    await node.pass();
    node.podList = node.podList.filter(({ nodeName }) => nodeName === "n2");
    node.clock.advance(hours * 3_600_000);
    return node;
  };

  it.each([["its DaemonSet runs elsewhere"], ["its DaemonSet is gone, too"]])("is named where %s", async where => {
    const node = await abandoned(25);
    if (where.includes("gone")) [node.podList, node.workloadList] = [[], []];
    const pass = await node.sandboxesFail(60);
    expect(pass).toMatchObject({ intents: [], stalled: { reason: "Rejected" } });
    expect(pass.message).toMatch(/Pods cannot start or end on node n1: .* its agent is gone; no restart, .*net\.d/);
    node.clock.advance(120_000);
    expect((await node.pass()).message).not.toContain("n1");
  });

  it("is not named between two pods, for one namespace's Events, for another agent's node, nor after two days", async () => {
    const pass = await (await abandoned(0)).sandboxesFail(90);
    const forged = await abandoned(25);
    const oneSided = await forged.passes(30, () => forged.failIn("shop"));
    const elsewhere = await (await abandoned(25)).sandboxesFail(60, { node: "n3" });
    const later = await (await abandoned(49)).sandboxesFail(60);
    for (const one of [pass, oneSided, elsewhere, later])
      expect(one).toMatchObject({ reason: "Accepted", intents: [] });
  });
});

describe("a node's clock", () => {
  const MINUTES = [-10, 10];

  it.each(MINUTES)("that is off by %i minutes does not hide failures since the agent became Ready", async minutes => {
    const node = new Node();
    node.podList = [];
    await node.passes(5);
    node.replaceAgent("cni", 1_000 + minutes * 60_000);
    expect((await node.passes(14, () => node.fail())).intents).toMatchObject([{ restart: { pod: "cni-b" } }]);
  });

  it.each(MINUTES)("that is off by %i minutes attributes no earlier failure to the agent", async minutes => {
    const node = new Node();
    await node.sandboxesFail(45);
    node.replaceAgent("cni", 1_000 + minutes * 60_000);
    expect((await node.passes(12, () => node.fail())).intents).toEqual([]);
  });

  it.each([
    [0, true],
    [0, false],
    [30, false],
  ])(
    "is unknown to a new leader what its predecessor rejected, until it has followed Events for a while: %d passes unread, then failing: %s",
    async (unread, isBroken) => {
      const node = new Node();
      expect((await node.sandboxesFail(60)).reason).toBe("Rejected");
      node.failOver();
      node.failing.sandboxEvents = new TransientError("watch events: not filled yet");
      if (unread > 0) await node.passes(unread);
      node.failing = {};
      node.log(UNAUTHORIZED, "cni-a");
      const seen = new Set<string>();
      for (let i = 0; i < 17; i++) {
        if (isBroken && i % 3 === 0) node.fail();
        seen.add((await node.passes(1)).status);
      }
      expect([...seen]).toEqual(isBroken ? ["Unknown", "False"] : ["Unknown"]);
      expect((await node.passes(2)).status).toBe(isBroken ? "False" : "True");
    },
  );

  it("does not matter for a new leader, to which a young agent is Ready from now on", async () => {
    const node = new Node();
    node.replaceAgent("cni", -300_000);
    await node.passes(5, () => node.fail());
    node.failOver();
    expect((await node.passes(12, () => node.fail())).intents).toEqual([]);
    expect((await node.passes(3, () => node.fail())).intents).toMatchObject([{ restart: { pod: "cni-b" } }]);
  });
});

describe("the restart of an agent", () => {
  async function replaced(): Promise<Node> {
    const node = new Node();
    const { intents } = await node.sandboxesFail(60);
    node.noteRestart(intents[0]!);
    node.replaceAgent();
    return node;
  }

  it("is Recovered when its successor is Ready and no sandbox has failed for a while", async () => {
    const node = await replaced();
    expect(await node.passes(17)).toMatchObject({ reason: "Restarting", intents: [] });
    const recovered = await node.passes(2);
    expect(recovered).toMatchObject({ reason: "Accepted", restarts: [{ outcome: "Recovered" }] });
    expect(recovered.events).toMatchObject([
      { reason: "PodRecovered", note: expect.stringContaining("no new pod on its node has failed") as string },
    ]);
  });

  it("is not Recovered for a new leader, which has followed Events for too short a time", async () => {
    const node = new Node();
    node.podList.push(node.agent("cni", { name: "cni-z", uid: "uid-z", nodeName: "n2" }));
    const { intents } = await node.sandboxesFail(60);
    await node.sandboxesFail(60, { node: "n2" });
    node.noteRestart(intents[0]!);
    node.replaceAgent();
    await node.passes(2);
    node.failOver();
    const outcomes = new Set<unknown>();
    for (let i = 0; i < 50; i++) {
      if (i % 12 === 2) node.fail();
      outcomes.add((await node.passes(1)).restarts[0]?.outcome);
    }
    expect([...outcomes]).toEqual(["Restarted", "Ineffective"]);
  });

  it("stays open for a while after a single failed sandbox", async () => {
    const node = await replaced();
    await node.passes(8);
    node.fail();
    expect((await node.passes(14)).restarts).toMatchObject([{ outcome: "Restarted" }]);
    expect((await node.passes(6)).restarts).toMatchObject([{ outcome: "Recovered" }]);
  });

  it("stays open while Events cannot be read, and is unconfirmed in the end", async () => {
    const node = await replaced();
    node.failing.sandboxEvents = new ForbiddenError("list events: forbidden (403)");
    expect((await node.passes(30)).restarts).toMatchObject([{ outcome: "Restarted" }]);
    expect((await node.passes(90)).restarts).toMatchObject([{ outcome: "Replaced" }]);
  });
});

describe("unreadable Events", () => {
  it.each([
    [new ForbiddenError("list events: forbidden (403)"), "Forbidden"],
    [new TransientError("watch events: not filled yet"), "ObserveFailed"],
  ] as const)("are reported, and log evidence still works: %s", async (error, reason) => {
    const node = new Node();
    node.failing.sandboxEvents = error;
    const pass = await node.pass();
    expect(pass).toMatchObject({ status: "Unknown", reason, intents: [] });
    // Only a person can grant a right.
    expect(pass.stalled?.reason).toBe(reason === "Forbidden" ? reason : undefined);
    expect(pass.message).toContain("events");
    node.log(UNAUTHORIZED, "cni-a");
    const rejected = await node.passes(13, () => node.log(UNAUTHORIZED, "cni-a"));
    expect(rejected).toMatchObject({ reason: "Rejected", intents: [{ restart: { cause: "Unknown" } }] });
    expect(rejected.message).toContain("events");
  });
});
