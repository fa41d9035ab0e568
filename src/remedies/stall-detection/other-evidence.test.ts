import type { StallStatus } from "../../api/controller-resilience";
import type { StatusOwner } from "../../core/metrics";
import { LostBindings } from "./denials";
import { STALLED } from "./remedy";
import { beforeEach, describe, expect, it } from "vitest";
import { NotYetError } from "../../core/errors";
import { binding, Scene } from "./testing/scene";

let scene: Scene;
beforeEach(() => {
  scene = new Scene();
});

const denial = (verb = "list", resource = "pods", account = "team:web"): string =>
  `E0101 12:00:00.000000       1 reflector.go:147] "Unhandled Error" err="failed to list *v1.Pod: ${resource} is forbidden: User \\"system:serviceaccount:${account}\\" cannot ${verb} resource \\"${resource}\\" in API group \\"\\" in the namespace \\"team\\""`;
const every = (seconds: number, text: () => string) => {
  let at = 0;
  return (): void => {
    at += 10;
    if (at % seconds === 0) scene.log(text());
  };
};

it("is unknown while no log was read: it may show each of these", async () => {
  const keep = scene.rounds.keep.bind(scene.rounds);
  scene.rounds.keep = () => Promise.resolve();
  await expect(scene.pass()).rejects.toThrow(NotYetError);
  scene.time.advance(4_000);
  expect(await scene.pass()).toMatchObject({ status: "Unknown", reason: "ObserveFailed", progressing: true });
  scene.rounds.keep = keep;
  expect(await scene.pass()).toMatchObject({ status: "True", reason: "Active" });
});

describe("403s", () => {
  it("that follow a deleted binding name it, and lead to no restart", async () => {
    scene = new Scene({ onStall: "Restart" });
    scene.bindingList = [binding()];
    await scene.run(60);
    scene.bindingList = [];
    expect((await scene.run(250, every(30, denial))).status).toBe("True");
    const pass = await scene.run(120, every(30, denial));
    expect(pass).toMatchObject({ status: "False", reason: "AccessLost", intents: [] });
    expect(pass.message).toBe(
      "Deployment/web may no longer list pods in namespace team: RoleBinding web-rights (Role rights) was deleted at 2025-01-01T12:01:00Z. Restore it; a restart cannot help.",
    );
    expect(scene.object.status?.stalls).toMatchObject([
      { evidence: "Forbidden", denied: "list pods in namespace team", lost: "RoleBinding web-rights" },
    ]);
    scene.failOver();
    expect((await scene.run(60, every(30, denial))).message).toContain(
      "had allowed it (perhaps it is back). Restore it;",
    );
    scene.bindingList = [binding()];
    expect((await scene.run(300)).status).toBe("True");
  });

  it.each([
    { kind: "ServiceAccount", namespace: "team", name: "web" },
    { kind: "Group", name: "system:serviceaccounts:team" },
    { kind: "Group", name: "system:serviceaccounts" },
  ])("say that a binding was changed that named %j", async subject => {
    scene.bindingList = [binding({ subjects: [subject] })];
    await scene.run(60);
    scene.bindingList = [binding({ subjects: [] })];
    expect((await scene.run(400, every(30, denial))).message).toContain("no longer names ServiceAccount web since");
  });

  it("that began while the program ran are named without a known binding, too", async () => {
    scene.podList = [scene.pod("web-5d-a", { createdAtMs: scene.nowMs })];
    scene.bindingList = [binding()];
    await scene.run(900);
    const pass = await scene.run(400, every(30, denial));
    expect(pass.message).toBe(
      "Deployment/web may no longer list pods in namespace team: no lost binding of ServiceAccount web is known. Check its bindings and roles; a restart cannot help.",
    );
  });

  it("are innocent from the start of a program on: it probes for an optional API", async () => {
    scene.podList = [scene.pod("web-5d-a", { createdAtMs: scene.nowMs })];
    const pass = await scene.run(3_600, every(60, denial));
    expect(pass).toMatchObject({ status: "True", reason: "Active" });
    expect(pass.message).toContain("may not list pods in namespace team, as long as its log goes back");
  });

  it("are innocent if they were there before the operator looked, and if they are few", async () => {
    for (let ms = scene.nowMs - 1_800_000; ms < scene.nowMs; ms += 120_000)
      scene.logs.write("web-5d-a", "main", { ms, text: denial() });
    expect((await scene.run(3_600, every(120, denial))).status).toBe("True");
    scene = new Scene();
    await scene.run(1_800);
    scene.log(denial());
    scene.log(denial("get", "secrets"));
    expect((await scene.run(1_200)).status).toBe("True");
  });

  it("are innocent if the log begins with them, since the kubelet moves earlier lines to another file", async () => {
    for (let ms = scene.nowMs - 240_000; ms < scene.nowMs; ms += 30_000)
      scene.logs.write("web-5d-a", "main", { ms, text: denial() });
    expect(await scene.run(1_800, every(30, denial))).toMatchObject({ status: "True", reason: "Active" });
    expect(scene.object.status?.stalls).toEqual([]);
  });

  it("are innocent after a part of the log that was skipped, since it may have had some", async () => {
    scene.podList = [scene.pod("web-5d-a", { createdAtMs: scene.nowMs })];
    await scene.run(840);
    const lines = Array.from({ length: 400 }, (_, i) => ({ ms: scene.nowMs - 200_000 + i, text: "x".repeat(60_000) }));
    scene.logs.write("web-5d-a", "main", ...lines);
    const pass = await scene.run(500, every(30, denial));
    expect(pass.message).toContain("may not list pods in namespace team, as long as its log goes back");
  });

  it("that began while the program ran are still named if a part of the log is skipped later", async () => {
    scene.podList = [scene.pod("web-5d-a", { createdAtMs: scene.nowMs })];
    await scene.run(900);
    await scene.run(240, every(30, denial));
    await scene.run(150);
    const lines = Array.from({ length: 400 }, (_, i) => ({ ms: scene.nowMs - 140_000 + i, text: "x".repeat(60_000) }));
    scene.logs.write("web-5d-a", "main", ...lines);
    expect((await scene.run(300, every(30, denial))).message).toContain("may no longer list pods in namespace team");
  });

  it("are innocent of a program that is denied in more namespaces than the operator follows", async () => {
    scene.podList = [scene.pod("web-5d-a", { createdAtMs: scene.nowMs })];
    scene.bindingList = [binding({ kind: "ClusterRoleBinding", namespace: "" })];
    let at = 0;
    const probe = (): void => {
      // Most of them rarely, and each of them often for a while.
      const often = Math.floor(at / 90) % 60;
      for (const i of [at++ % 60, often]) scene.log(denial().replace('namespace \\"team', `namespace \\"ns-${i}`));
    };
    await scene.run(3_600, probe);
    scene.bindingList = [];
    for (let i = 0; i < 8; i++) expect((await scene.run(600, probe)).status).toBe("True");
  });

  it("of another ServiceAccount are those of a proxy's user", async () => {
    await scene.run(900);
    const others = every(30, () => denial("list", "pods", "other:user"));
    expect((await scene.run(600, others)).status).toBe("True");
    scene.renewer = undefined;
    const pass = await scene.run(
      600,
      every(30, () => denial("update", "leases", "other:user")),
    );
    expect(pass.message).toMatch(/no longer renews it\.$/);
  });
});

describe("lost Leases", () => {
  const lose = (also?: string): void => {
    if (also !== undefined) scene.log(also);
    scene.log('E0101 12:00:00.000000       1 main.go:12] "leader election lost"');
  };

  it.each<[string, string | undefined]>([
    ["its log names no denial", undefined],
    [
      "its log names no denial",
      'E0101 12:00:00.000000       1 leaderelection.go:461] "Error retrieving lease lock" err="client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline" lock="team/web"',
    ],
    [
      "throttled",
      "I0101 12:00:00 request.go:697] Waited for 5s due to client-side throttling, not priority and fairness",
    ],
    ["its requests for Leases get 403 responses", denial("update", "leases")],
  ])("again and again: %s", async (cause, also) => {
    await scene.run(60);
    for (let i = 0; i < 3; i++) {
      lose(also);
      scene.log('E0101 12:00:00.000000       1 main.go:12] "failed to renew lease"');
      const pass = await scene.run(120);
      if (i < 2) expect(pass.status).toBe("True");
      else expect(pass).toMatchObject({ status: "False", reason: "LeadershipLost", intents: [] });
      if (i === 2) expect(pass.message).toContain(cause);
    }
    expect((await scene.run(3_600)).status).toBe("True");
  });

  it("are no attempts that came too late, which one on standby makes, too", async () => {
    const late =
      'E0101 12:00:00.000000       1 leaderelection.go:461] "Error retrieving lease lock" err="context deadline exceeded"';
    const often = every(120, () => late);
    expect((await scene.run(600, often)).status).toBe("True");
  });

  it("once, with many lines, is a normal day", async () => {
    await scene.run(60);
    const lines = every(10, () => "failed to renew lease team/web: timed out");
    expect((await scene.run(60, lines)).status).toBe("True");
  });
});

const MANY = 400;

it("remembers a bounded number of bindings that went, the latest", () => {
  const bindings = new LostBindings();
  const present = (round: number) =>
    Array.from({ length: MANY }, (_, i) => binding({ name: `x-${round}-${i}`, uid: `x-${round}-${i}` }));
  for (let round = 0; round < 50; round++) {
    bindings.follow(present(round), ["team/web"], round * 4_000);
    const lost = bindings.follow([], ["team/web"], round * 4_000 + 2_000);
    expect(lost).toHaveLength(64);
    expect(lost.every(({ atMs }) => atMs === round * 4_000 + 2_000)).toBe(true);
  }
  bindings.follow([binding()], ["team/web"], 300_000);
  expect(bindings.follow([], ["team/web"], 310_000).at(-1)).toMatchObject({ name: "web-rights", atMs: 310_000 });
});

it("counts the evidence against each workload by its kind, while no pass is suspended", () => {
  const stall = { workload: "Deployment/web", evidence: "Lease", since: "" } satisfies StallStatus;
  const stalls: StallStatus[] = [stall, stall, { ...stall, evidence: "Forbidden" }];
  const sampled = (status: object, spec = {}) => STALLED.samples("team/it", { spec, status } as StatusOwner);
  const labels = { namespace: "team", name: "it", workload: "Deployment/web" };
  expect(sampled({ stalls })).toEqual([
    { labels: { ...labels, evidence: "Lease" }, value: 2 },
    { labels: { ...labels, evidence: "Forbidden" }, value: 1 },
  ]);
  expect([sampled({}), sampled({ stalls }, { suspend: true })]).toEqual([[], []]);
});
