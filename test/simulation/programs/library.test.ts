import { describe, expect, it } from "vitest";
import { classify, type LogClass } from "../../../src/logs/classifier/classify";
import type { Cluster } from "../cluster/cluster";
import { install } from "../cluster/install";
import { isReady } from "../server/objects";
import { MINUTE, recreate, testCluster, withWorkload } from "../cluster/testing";
import { Dice } from "../time";
import { edit } from "../world/people";
import { enforce, followGit } from "../world/tools";
import { installWidgets } from "../world/widgets";
import { PROGRAMS } from "./library";

const states = (cluster: Cluster): string[] => cluster.truths().map(({ state, cause }) => `${state}: ${cause}`);

function classesOf(cluster: Cluster): Set<LogClass> {
  const [pod] = cluster.ground.store.list("pods", "shop");
  return new Set((cluster.logs(pod!, "main") ?? "").split("\n").map(line => classify(line)));
}

describe("programs", () => {
  it.each(
    PROGRAMS.filter(
      name =>
        !["floods", "crashes", "never-ready", "loses-lease"].includes(name) &&
        !/^(hangs|widgets-(blocked|deaf))/.test(name),
    ),
  )("%s works as long as nothing happens", async program => {
    const { clock, cluster } = withWorkload("web", { kind: "DaemonSet", program, leaseSeconds: 15 });
    await clock.run(90 * MINUTE);
    expect(new Set(cluster.truths().map(({ state }) => state))).toEqual(new Set(["works"]));
    if (!["other-cluster", "other-cluster-late", "writes-in-parts"].includes(program))
      expect(classesOf(cluster)).not.toContain("unauthorized");
  });

  it.each([
    "client-go-old",
    "client-go-middle",
    "client-go-new",
    "controller-runtime",
    "kopf",
    "fabric8",
    "kube-rs",
    "copies-token",
    "exits-on-401",
    "silent",
  ] as const)("%s is dead after its ServiceAccount was recreated, and logs 401s unless it is silent", async program => {
    const { clock, store, cluster } = withWorkload("web", { program });
    await clock.run(5 * MINUTE);
    recreate(store, "shop", "web");
    await clock.run(20 * MINUTE);
    expect(states(cluster)).toEqual(["token-dead: service-account-recreated"]);
    const { logged401Ms = 0 } = cluster.truths()[0]!;
    const isLogged = [classesOf(cluster).has("unauthorized"), logged401Ms > clock.now().getTime() - 6 * MINUTE];
    expect(isLogged).toEqual(program === "silent" ? [false, false] : [true, true]);
  });

  it("that asks only the kubelet is refused once that has forgotten it, within two minutes", async () => {
    const { clock, store, cluster } = withWorkload("web", { program: "kubelet-only", replicas: 6 });
    await clock.run(5 * MINUTE);
    recreate(store, "shop", "web");
    const isTold = (): boolean[] => cluster.truths().map(({ logged401Ms }) => logged401Ms !== undefined);
    await clock.run(5 * MINUTE + 20_000);
    expect(isTold()).toContain(false);
    await clock.run(7.5 * MINUTE);
    expect(isTold()).not.toContain(false);
  });

  it("that is refused was let in for some seconds by a server that remembered it", async () => {
    const { clock, store } = withWorkload("web", { program: "client-go-new", leaseSeconds: 15 });
    await clock.run(5 * MINUTE);
    recreate(store, "shop", "web");
    const recreatedMs = clock.now().getTime();
    await clock.run(6 * MINUTE);
    const renewedMs = Date.parse(store.get("leases", "shop", "web")?.spec?.renewTime ?? "");
    expect(renewedMs).toBeGreaterThan(recreatedMs);
    expect(renewedMs).toBeLessThanOrEqual(recreatedMs + 10_000);
  });

  it("that uses only the first copy of a short token is dead when that expires", async () => {
    for (const [program, state] of [
      ["copies-token", "token-dead: token-expired"],
      ["client-go-new", "works: none"],
    ] as const) {
      const { clock, cluster } = withWorkload("web", { program, tokenSeconds: 600 });
      await clock.run(25 * MINUTE);
      expect(states(cluster)).toEqual([state]);
    }
  });

  it("loses access with its binding, and gets it back", async () => {
    const { clock, store, cluster } = withWorkload("web", { program: "kube-rs", leaseSeconds: 15 });
    await clock.run(5 * MINUTE);
    const binding = store.delete("rolebindings", "shop", "web");
    await clock.run(12 * MINUTE);
    expect(states(cluster)).toEqual(["access-gone: binding-gone"]);
    expect(classesOf(cluster)).toContain("forbidden");
    store.create("rolebindings", {
      roleRef: binding["roleRef"],
      subjects: binding["subjects"],
      metadata: { namespace: "shop", name: "web" },
    });
    await clock.run(14 * MINUTE);
    expect(states(cluster)).toEqual(["works: none"]);
  });

  it("is not healed while its ServiceAccount is missing", async () => {
    const { clock, store, cluster, deletePod } = withWorkload("web", { program: "kopf" });
    await clock.run(MINUTE);
    store.delete("serviceaccounts", "shop", "web");
    await clock.run(2 * MINUTE);
    expect(cluster.truths()).toMatchObject([
      { state: "token-dead", cause: "service-account-missing", healedByRestart: false },
    ]);
    deletePod();
    await clock.run(4 * MINUTE);
    expect(store.list("pods", "shop")).toEqual([]);
    expect(store.list("events", "shop").map(({ reason }) => reason as string)).toContain("FailedCreate");
  });

  it("hangs, no longer renews its Lease, and works after a restart", async () => {
    const { clock, store, cluster, deletePod } = withWorkload("web", { program: "hangs", leaseSeconds: 15 });
    await clock.run(60 * MINUTE);
    expect(states(cluster)).toEqual(["hangs: hangs"]);
    const renewed = (): number => Date.parse(store.get("leases", "shop", "web")?.spec?.renewTime ?? "");
    expect(clock.now().getTime() - renewed()).toBeGreaterThan(5 * MINUTE);
    deletePod();
    await clock.run(120 * MINUTE);
    expect(states(cluster)).toEqual(["works: none"]);
    expect(clock.now().getTime() - renewed()).toBeLessThan(MINUTE);
  });

  it("loses its Lease again and again", async () => {
    const { clock, cluster } = withWorkload("web", { program: "loses-lease", leaseSeconds: 15 });
    await clock.run(60 * MINUTE);
    expect(states(cluster)).toEqual(["loses-lease: loses-lease"]);
    expect(classesOf(cluster)).toContain("lease-lost");
  });

  it("crashes with a dead token, and shows the log of the life before", async () => {
    const { clock, store, cluster } = withWorkload("web", { program: "exits-on-401", leaseSeconds: 15 });
    await clock.run(5 * MINUTE);
    recreate(store, "shop", "web");
    await clock.run(20 * MINUTE);
    expect(states(cluster)).toEqual(["token-dead: service-account-recreated"]);
    const [pod] = store.list("pods", "shop");
    const [container] = pod?.status?.["containerStatuses"] as { restartCount: number }[];
    expect(container?.restartCount).toBeGreaterThan(3);
    expect(classify(cluster.logs(pod!, "main", { previous: true, tailLines: 1 })!.trimEnd())).toBe("unauthorized");
  });

  it("floods the servers, as its own cause says", async () => {
    const { clock, cluster } = withWorkload("web", { program: "floods" });
    let requests = 0;
    cluster.ground.programFaults.add(() => void requests++);
    await clock.run(5 * MINUTE);
    expect(states(cluster)).toEqual(["floods: floods"]);
    expect(requests).toBeGreaterThan(30);
  });
});

describe("keys", () => {
  it("that are replaced make every token die, and new pods work", async () => {
    const { clock, access, cluster, deletePod } = withWorkload("web", { program: "kube-rs" });
    await clock.run(5 * MINUTE);
    access.rotateKey();
    cluster.changed();
    await clock.run(6 * MINUTE);
    expect(cluster.truths()).toMatchObject([{ state: "token-dead", cause: "key-rotated", healedByRestart: true }]);
    expect(clock.monotonicMs() - cluster.truths()[0]!.sinceMs).toBe(MINUTE);
    deletePod();
    await clock.run(7 * MINUTE);
    expect(states(cluster)).toEqual(["works: none"]);
  });

  it("of one server that differ split the servers, and a restart does not help", async () => {
    const { clock, access, cluster } = withWorkload("web", { program: "kube-rs" });
    await clock.run(5 * MINUTE);
    expect(states(cluster)).toEqual(["works: none"]);
    access.setKey(1, access.signer, false);
    expect(cluster.truths()).toMatchObject([{ state: "token-split", cause: "key-disputed", healedByRestart: false }]);
  });
});

describe("a network plugin's agent", () => {
  it.each(["cni-thin", "cni-renewing"] as const)(
    "%s leaves a credential that dies with its token, so no pod starts there",
    async program => {
      const { clock, store, access, cluster } = testCluster();
      install(cluster, { kind: "DaemonSet", namespace: "net", name: "mesh", program });
      install(cluster, { kind: "Deployment", namespace: "shop", name: "web", program: "kopf" });
      await clock.run(5 * MINUTE);
      access.rotateKey();
      cluster.changed();
      store.delete("pods", "shop", store.list("pods", "shop")[0]!.metadata.name);
      await clock.run(10 * MINUTE);
      const [event] = store.list("events", "shop").filter(({ reason }) => reason === "FailedCreatePodSandBox");
      expect(event?.["message"]).toMatch(/failed to setup network for sandbox ".*: Unauthorized$/);
      expect(event?.["count"]).toBeGreaterThan(10);
      const node = (event?.["source"] as { host: string }).host;
      const agent = cluster.truths().find(truth => truth.namespace === "net" && truth.node === node)!;
      expect(agent).toMatchObject({ healedByRestart: true });
      store.delete("pods", "net", agent.name);
      await clock.run(12 * MINUTE);
      expect(cluster.truths().filter(({ namespace }) => namespace === "shop")).toMatchObject([{ state: "works" }]);
    },
  );
});

describe("tools", () => {
  it("delete expired bindings by their own rules", async () => {
    const binding = { annotations: { "janitor/ttl": "10m" } };
    const { clock, store, cluster } = withWorkload("web", { binding });
    const stop = enforce(cluster, new Dice(1));
    await clock.run(9 * MINUTE);
    expect(store.get("rolebindings", "shop", "web")).toBeDefined();
    await clock.run(11 * MINUTE);
    expect(store.get("rolebindings", "shop", "web")).toBeUndefined();
    stop();
  });

  it("revert what differs from Git, and keep what Git does not say", async () => {
    const { clock, store, cluster, ref: web } = withWorkload("web", { kind: "DaemonSet", tokenSeconds: 3600 });
    await clock.run(MINUTE);
    const stop = followGit(cluster, web, { everyMs: 180_000, dice: new Dice(1), selfHeals: true });
    edit(cluster, web, ({ spec }) => {
      const { volumes = [] } = spec!.template.spec;
      volumes[0]!.projected!.sources![0]!.serviceAccountToken!.expirationSeconds = 600;
      volumes.push({ name: "other" });
    });
    await clock.run(2 * MINUTE);
    expect(store.get("daemonsets", "shop", "web")?.spec?.template.spec.volumes).toMatchObject([
      { projected: { sources: [{ serviceAccountToken: { expirationSeconds: 3600 } }, {}] } },
      { name: "other" },
    ]);
    stop();
  });
});

describe("a program that handles Widgets", () => {
  it.each([
    ["widgets", "none"],
    ["widgets-slow", "none"],
    ["widgets-blocked", "workers-blocked"],
    ["widgets-hanging", "workers-hang"],
    ["widgets-deaf", "watch-silent"],
    ["widgets-poisoned", "workers-poisoned"],
    ["widgets-one-poisoned", "worker-blocked"],
  ] as const)("as %s comes to this: %s", async (program, cause) => {
    const { clock, store, cluster, plan } = withWorkload("web", { program, changesEveryMinutes: 3 });
    installWidgets({ cluster, store }, plan, new Dice(1));
    await clock.run(90 * MINUTE);
    const [{ cause: found } = {}] = cluster.truths();
    expect(found).toBe(cause);
    const { podIP = "" } = store.list("pods", "shop")[0]!.status!;
    const depth = /^workqueue_depth\{.*\} (\d+)$/m.exec(cluster.pageAt(podIP).page ?? "")?.[1];
    expect(Number(depth) > 0).toBe(["widgets-blocked", "widgets-poisoned", "widgets-slow"].includes(program));
  });

  it("is stuck also after its Role has lost a right, until it is refused", async () => {
    const { clock, store, cluster, plan } = withWorkload("web", { program: "widgets-blocked" });
    installWidgets({ cluster, store }, plan, new Dice(1));
    await clock.run(45 * MINUTE);
    store.update("roles", "shop", "web", role => {
      role["rules"] = (role["rules"] as { verbs: string[] }[]).map(rule => ({ ...rule, verbs: ["update"] }));
    });
    const found = (): unknown => cluster.truths()[0];
    expect(found()).toMatchObject({ state: "stuck", cause: "workers-blocked", healedByRestart: false });
    await clock.run(60 * MINUTE);
    expect(found()).toMatchObject({ state: "access-gone", cause: "binding-gone" });
  });
});

describe("a world", () => {
  it("is the same for the same seed, also after a restore from a backup", async () => {
    const story = async (): Promise<string> => {
      const { clock, store, cluster } = testCluster(7);
      for (const [at, program] of PROGRAMS.entries())
        install(cluster, {
          kind: at % 3 === 0 ? "DaemonSet" : "Deployment",
          namespace: "shop",
          name: `app-${at}`,
          program,
          leaseSeconds: 15,
        });
      await clock.run(10 * MINUTE);
      const backup = store.snapshot();
      recreate(store, "shop", "app-1");
      await clock.run(20 * MINUTE);
      store.restore(backup);
      cluster.catchUp();
      await clock.run(30 * MINUTE);
      const logs = store.list("pods").map(pod => cluster.logs(pod, "main", { timestamps: true }));
      return JSON.stringify([cluster.truths(), logs, store.list("pods"), store.revision]);
    };
    const [first, second] = [await story(), await story()];
    expect(first === second).toBe(true);
    expect(first).toContain('"state":"works"');
  });
});

describe("readiness", () => {
  it("of some programs follows their requests, of others it does not", async () => {
    const { clock, store, cluster } = testCluster(3);
    install(cluster, { kind: "Deployment", namespace: "shop", name: "web", program: "client-go-old", replicas: 24 });
    await clock.run(5 * MINUTE);
    expect(store.list("pods", "shop").map(isReady)).toEqual(Array(24).fill(true));
    recreate(store, "shop", "web");
    await clock.run(30 * MINUTE);
    const ready = store.list("pods", "shop").filter(isReady).length;
    expect(ready).toBeGreaterThan(0);
    expect(ready).toBeLessThan(24);
  });
});
