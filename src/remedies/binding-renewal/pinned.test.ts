import { describe, expect, it } from "vitest";
import type { BindingRenewalSpec, TargetSelector } from "../../api/controller-resilience";
import type { WorkloadView } from "../../core/views";
import { account, DAY, HOUR, Scene, web } from "./testing/scene";

// Write access to a workload must not choose whose access lives on: that right belongs to authors of ControllerResiliences.

const TTL = "janitor/ttl";
const BREAK_GLASS = "break-glass";

function runAs(scene: Scene, serviceAccountName: string, name = "web"): void {
  scene.workloadList = [
    ...scene.workloadList.filter(workload => workload.name !== name),
    { ...web(), name, serviceAccountName, labels: { app: "web" } },
  ];
}

function bindTo(scene: Scene, serviceAccount: string): void {
  scene.bind({ name: `of-${serviceAccount}`, subjects: [account(serviceAccount)], annotations: { [TTL]: "7d" } });
}

/** An object for Deployment web, whose ServiceAccount and `break-glass` have a binding for a week. */
async function established(over: Partial<BindingRenewalSpec> = {}): Promise<Scene> {
  const scene = new Scene(over);
  runAs(scene, "web");
  bindTo(scene, "web");
  bindTo(scene, BREAK_GLASS);
  await scene.live(2 * HOUR);
  return scene;
}

function pinned(scene: Scene): string[][] {
  return (scene.object.status?.renewalTargets ?? []).map(({ serviceAccounts }) => serviceAccounts);
}

function written(scene: Scene): string[] {
  return [...new Set(scene.written.map(({ target }) => target.name))].toSorted();
}

const SELECTOR: TargetSelector[] = [{ kind: "Deployment", selector: { matchLabels: { app: "web" } } }];

describe("a target that changes its ServiceAccount", () => {
  it("does not have the bindings of the new one renewed", async () => {
    const scene = await established();
    runAs(scene, BREAK_GLASS);
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "ServiceAccountChanged", intents: [] });
    expect(decision.stalled?.reason).toBe("ServiceAccountChanged");
    expect(decision.message).toContain(
      "Deployment/web runs as ServiceAccount break-glass: its bindings are not renewed, because it did not when " +
        "spec.targets or spec.bindingRenewal last changed. To include it, change spec.bindingRenewal, or list its bindings there.",
    );
    await scene.live(14 * DAY);
    expect(scene.written).toEqual([]);
  });

  it("is reported as True while no binding of the new one expires", async () => {
    const scene = await established();
    runAs(scene, "other");
    expect(await scene.pass()).toMatchObject({ status: "True", reason: "ServiceAccountChanged" });
  });

  it("does not have the bindings of the old one renewed either, and status keeps them", async () => {
    const scene = await established();
    const { lifeSeconds } = scene.entry("of-web")!;
    runAs(scene, BREAK_GLASS);
    await scene.pass();
    expect(scene.entry("of-web")).toMatchObject({ state: "Refused", lifeSeconds });
    runAs(scene, "web");
    await scene.live(8 * DAY);
    expect(written(scene)).toEqual(["of-web"]);
  });

  it("does not have a shortened binding forgotten when it changes back", async () => {
    const scene = await established();
    scene.change({ annotations: { [TTL]: "1d" } }, "RoleBinding/of-web");
    await scene.pass();
    runAs(scene, BREAK_GLASS);
    await scene.pass();
    runAs(scene, "web");
    expect(await scene.pass()).toMatchObject({ reason: "RenewalContested" });
  });

  it.each<[string, (scene: Scene) => void]>([
    [
      "of the block",
      ({ object }) => void (object.spec.bindingRenewal = { ...object.spec.bindingRenewal!, warnBefore: "167h" }),
    ],
    [
      "of the target",
      ({ object }) => void (object.spec.targets = [{ kind: "Deployment", selector: { matchLabels: { app: "web" } } }]),
    ],
  ])("is followed after a change %s", async (_, change) => {
    const scene = await established();
    runAs(scene, BREAK_GLASS);
    await scene.pass();
    scene.workloads = () => Promise.resolve(scene.workloadList);
    change(scene);
    await scene.live(8 * DAY);
    expect(written(scene)).toEqual([`of-${BREAK_GLASS}`]);
    expect(pinned(scene)).toEqual([[BREAK_GLASS]]);
  });

  it.each<[string, (scene: Scene) => void]>([
    ["of another block", ({ object }) => void (object.spec = { ...object.spec, tokenRestart: {} as never })],
    [
      "of other targets",
      scene => {
        runAs(scene, "db", "db");
        scene.object.spec.targets = [{ kind: "Deployment", name: "db" }, ...scene.object.spec.targets];
      },
    ],
  ])("is not followed after a change %s", async (_, change) => {
    const scene = await established();
    runAs(scene, BREAK_GLASS);
    change(scene);
    await scene.live(8 * DAY);
    expect(scene.written).toEqual([]);
    expect(pinned(scene)).toContainEqual(["web"]);
  });

  it("is not followed because the operator observed for a while: nobody was checked again", async () => {
    const scene = await established();
    const before = pinned(scene);
    runAs(scene, BREAK_GLASS);
    scene.judged = "OperatorObserves";
    await scene.pass();
    expect(pinned(scene)).toEqual(before);
    scene.judged = undefined;
    await scene.live(8 * DAY);
    expect(written(scene)).not.toContain(`of-${BREAK_GLASS}`);
  });

  it("is followed when Observe mode ends: that author was checked", async () => {
    const scene = await established();
    runAs(scene, BREAK_GLASS);
    scene.object.spec.mode = "Observe";
    await scene.pass();
    expect(pinned(scene)).toEqual([]);
    expect(scene.entry(`of-${BREAK_GLASS}`)).toBeDefined();
    scene.object.spec.mode = "Enforce";
    await scene.live(8 * DAY);
    expect(written(scene)).toEqual([`of-${BREAK_GLASS}`]);
  });

  it("makes no difference to listed bindings", async () => {
    const scene = await established({ bindings: [{ kind: "RoleBinding", name: `of-${BREAK_GLASS}` }] });
    runAs(scene, "other");
    await scene.live(8 * DAY);
    expect(written(scene)).toEqual([`of-${BREAK_GLASS}`]);
    expect(scene.object.status).not.toHaveProperty("renewalTargets");
  });

  it("may run as a ServiceAccount of another target", async () => {
    const scene = new Scene();
    scene.object.spec.targets.push({ kind: "Deployment", name: "db" });
    runAs(scene, "web");
    runAs(scene, "db", "db");
    bindTo(scene, "web");
    bindTo(scene, "db");
    await scene.pass();
    runAs(scene, "db");
    expect(await scene.pass()).toMatchObject({ status: "True" });
    await scene.live(8 * DAY);
    expect(written(scene)).toEqual(["of-db"]);
  });
});

describe("a selector", () => {
  async function selected(): Promise<Scene> {
    const scene = await established();
    scene.object.spec.targets = SELECTOR;
    scene.workloads = () => Promise.resolve(scene.workloadList);
    await scene.pass();
    return scene;
  }

  it("does not have the bindings of a new workload's ServiceAccount renewed", async () => {
    const scene = await selected();
    runAs(scene, BREAK_GLASS, "new");
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "ServiceAccountChanged" });
    expect(decision.message).toContain("Deployment/new runs as ServiceAccount break-glass");
    await scene.live(8 * DAY);
    expect(written(scene)).toEqual(["of-web"]);
  });

  it("follows new workloads that run as a known ServiceAccount", async () => {
    const scene = await selected();
    runAs(scene, "web", "new");
    expect(await scene.pass()).toMatchObject({ status: "True" });
    scene.workloadList = scene.workloadList.filter(({ name }) => name === "new");
    await scene.live(8 * DAY);
    expect(written(scene)).toEqual(["of-web"]);
  });
});

describe("a target that does not exist yet", () => {
  async function waiting(forMs: number): Promise<Scene> {
    const scene = new Scene();
    scene.workloadList = [];
    bindTo(scene, "web");
    await scene.pass();
    await scene.clock.run(forMs);
    await scene.pass();
    runAs(scene, "web");
    return scene;
  }

  it("is known by the ServiceAccount with which it appears within an hour", async () => {
    const scene = await waiting(59 * 60_000);
    await scene.live(8 * DAY);
    expect(pinned(scene)).toEqual([["web"]]);
    expect(written(scene)).toEqual(["of-web"]);
  });

  it("needs a change of the object if it appears later", async () => {
    const scene = await waiting(61 * 60_000);
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "ServiceAccountChanged", intents: [] });
    await scene.live(8 * DAY);
    expect(scene.written).toEqual([]);
  });

  it("that was there before keeps its ServiceAccount", async () => {
    const scene = await established();
    const [workload] = scene.workloadList as [WorkloadView];
    scene.workloadList = [];
    await scene.live(3 * HOUR);
    runAs(scene, BREAK_GLASS);
    expect(await scene.pass()).toMatchObject({ reason: "ServiceAccountChanged", intents: [] });
    scene.workloadList = [workload];
    await scene.live(8 * DAY);
    expect(written(scene)).toEqual(["of-web"]);
  });
});

describe("status without a record of ServiceAccounts", () => {
  it("of an earlier version of the operator gets those that the targets run as now", async () => {
    const scene = await established();
    const { bindings = [] } = scene.object.status ?? {};
    scene.object = { ...scene.object, status: { bindings } };
    await scene.pass();
    expect(pinned(scene)).toEqual([["web"]]);
    runAs(scene, BREAK_GLASS);
    expect(await scene.pass()).toMatchObject({ reason: "ServiceAccountChanged" });
  });

  it("gets no more names than it has room for", async () => {
    const scene = await established();
    scene.object.spec.targets = SELECTOR;
    scene.workloads = () => Promise.resolve(scene.workloadList);
    for (let i = 0; i < 2_000; i++) runAs(scene, `account-${i}`.padEnd(200, "x"), `web-${i}`);
    await scene.pass();
    expect(JSON.stringify(scene.object.status?.renewalTargets).length).toBeLessThan(32 * 1024);
  });
});
