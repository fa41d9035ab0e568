import { afterAll, beforeAll, expect, it } from "vitest";
import type { ControllerResilience, StatusCondition } from "../../src/api/controller-resilience";
import { type GitObject, GitOps, type Ignore, pathTo } from "../argocd/sync";
import { describeCall, isStatus } from "../chaos/calls";
import { Rig } from "../chaos/rig";
import { NAME, type Scene } from "../chaos/scenario";
import { eventually } from "../cluster/admin";
import { letOperatorBind } from "../enforcers/rights";
import { withoutRights } from "../flood/accounts";
import { Lab } from "../lab";
import { ownLabName } from "./suite-lab";

// The operator beside a GitOps tool that keeps applying the same objects. Only the documented fields drift, and where both claim a field, the
// operator gives up. It has its own lab, in which the operator has no other objects.

/** Syncs at the end of each test during which nothing may be written. */
const QUIET_ROUNDS = 10;
const FIGHT_ROUNDS = 12;
const EXPIRY = "controller-resilience.io/expires-at";
const TIMEOUT_MS = 300_000;

let lab: Lab;
let rig: Rig;
const scenes: string[] = [];

beforeAll(async () => {
  lab = await Lab.up({ name: ownLabName("gitops"), controlPlaneOnly: true });
  rig = await Rig.up(lab);
});

afterAll(async () => {
  // If beforeAll failed, its error must stay visible.
  await (rig as Rig | undefined)?.down();
  await lab.down();
});

/** One namespace, its objects in Git, and the tool that applies them. */
class Game {
  readonly git: GitOps;

  private constructor(
    readonly scene: Scene,
    private readonly object: GitObject,
    others: readonly GitObject[],
    ignore?: Ignore,
  ) {
    this.git = new GitOps(scene.admin, [...others, object], ignore);
  }

  static async begin(
    objects: (namespace: string) => readonly [object: GitObject, ...others: GitObject[]],
    { prepare = () => Promise.resolve(), ignore }: { prepare?: (scene: Scene) => Promise<void>; ignore?: Ignore } = {},
  ): Promise<Game> {
    const scene = await rig.scene("gitops");
    await scene.client.apply(withoutRights(scene.namespace, NAME));
    await prepare(scene);
    void rig.proxy.watch({ namespace: scene.namespace, kill: rig.kill });
    const [object, ...others] = objects(scene.namespace);
    const game = new Game(scene, object, others, ignore);
    scenes.push(scene.namespace);
    await game.git.sync();
    return game;
  }

  /** All writes of the operator so far, except of status. */
  get written(): string[] {
    return rig.proxy.writes.filter(write => !isStatus(write)).map(describeCall);
  }

  async condition(type: string): Promise<StatusCondition | undefined> {
    const { status } = await this.scene.admin.get<ControllerResilience>(pathTo(this.object));
    return status?.conditions?.find(one => one.type === type);
  }

  /** Waits until a condition has a reason. */
  async until(type: string, reason: string, withinMs = 90_000): Promise<StatusCondition> {
    const found = await eventually(
      () => this.condition(type),
      condition => condition?.reason === reason,
      withinMs,
    );
    expect(found).toMatchObject({ reason });
    return found!;
  }

  /** Waits until the first pod with a shorter token is on trial, which lasts as long as its token. */
  async untilTrial(): Promise<void> {
    const found = await eventually(
      () => this.condition("TokenLifetimeBounded"),
      condition => condition?.message.includes("the first must work until") === true,
      90_000,
    );
    expect(found).toMatchObject({ reason: "Rolling" });
  }

  /** Triggers a pass over the object, which otherwise happens once a minute, and waits for its end. */
  async look(): Promise<void> {
    // The first pass may have begun before the change.
    for (const at of ["first", "second"]) {
      const before = await rig.passes();
      await this.scene.admin.patch(pathTo(this.object), { metadata: { annotations: { looked: `${at} ${before}` } } });
      expect(
        await eventually(
          () => rig.passes(),
          passes => passes > before,
        ),
      ).toBeGreaterThan(before);
    }
  }

  /** Syncs until the operator has given up the field that both claim. */
  async fight(type: string, reason: string): Promise<StatusCondition> {
    for (let round = 0; round < FIGHT_ROUNDS; round++) {
      await this.git.sync();
      await this.look();
      const [before, condition] = [this.written.length, await this.condition(type)];
      if (condition?.reason === reason) return condition;
      await eventually(
        async () => this.written.length > before || (await this.condition(type))?.reason === reason,
        Boolean,
        10_000,
      );
    }
    return this.until(type, reason, 1_000);
  }

  /** Keeps syncing; returns all writes of the operator and of the tool meanwhile. */
  async quiet(): Promise<string[]> {
    const [written, putBack] = [this.written.length, this.git.putBack.length];
    for (let round = 0; round < QUIET_ROUNDS; round++) {
      await this.git.sync();
      await this.look();
    }
    return [...this.written.slice(written), ...this.git.putBack.slice(putBack)];
  }
}

const labels = { app: NAME };

function resilience(namespace: string, spec: object, kinds: readonly string[] = ["Deployment"]): GitObject {
  const targets = kinds.map(kind => ({ kind, name: NAME }));
  const apiVersion = "controller-resilience.io/v1alpha1";
  return { apiVersion, kind: "ControllerResilience", metadata: { namespace, name: NAME }, spec: { targets, ...spec } };
}

/** A Deployment whose pods can't be scheduled, or a DaemonSet with one pod. */
function workload(kind: "Deployment" | "DaemonSet", namespace: string, spec: object = {}, pod: object = {}): GitObject {
  const template = {
    metadata: { labels },
    spec: {
      serviceAccountName: NAME,
      ...(kind === "Deployment"
        ? { nodeSelector: { "gitops.test/none": "true" } }
        : { tolerations: [{ operator: "Exists" }] }),
      ...{ containers: [{ name: "main", image: "none", volumeMounts: [{ name: "api", mountPath: "/api" }] }] },
      ...pod,
    },
  };
  const metadata = { namespace, name: NAME };
  return { apiVersion: "apps/v1", kind, metadata, spec: { ...spec, selector: { matchLabels: labels }, template } };
}

/** A volume with its own token source, as Git may declare one. */
const tokenVolume = (expirationSeconds: number) => ({
  name: "api",
  projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds } }] },
});

const agent = (namespace: string): GitObject => workload("DaemonSet", namespace, {}, { volumes: [tokenVolume(3600)] });
const plain = { containers: [{ name: "main", image: "none" }] };

function binding(namespace: string, annotations: Readonly<Record<string, string>> = {}): GitObject {
  const [apiGroup, name] = ["rbac.authorization.k8s.io", NAME];
  return {
    ...{ apiVersion: `${apiGroup}/v1`, kind: "RoleBinding", metadata: { namespace, name, annotations } },
    ...{ roleRef: { apiGroup, kind: "Role", name }, subjects: [{ kind: "ServiceAccount", namespace, name }] },
  };
}

/** A role that the operator may bind. */
async function bindable({ admin, client, namespace }: Scene): Promise<void> {
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }];
  const metadata = { name: NAME };
  await admin.create(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`, { metadata, rules });
  await letOperatorBind(client, { kind: "Role", name: NAME, namespace });
}

const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString().replace(/\.\d+/, "");
/** Due immediately, then not for 15 hours. */
const RENEWAL = { bindingRenewal: { bindings: [{ kind: "RoleBinding", name: NAME }], extendBy: "24h" } };

const changesOf = (game: Game, call: string): number => game.written.filter(one => one === call).length;

it(
  "nothing drifts with every remedy on: the operator adds only fields that Git does not set",
  async () => {
    const game = await Game.begin(
      namespace => [
        resilience(namespace, { tokenRestart: {}, tokenLifetime: {}, flowIsolation: {}, ...RENEWAL }, [
          "Deployment",
          "DaemonSet",
        ]),
        workload("Deployment", namespace, { replicas: 0 }, plain),
        workload("DaemonSet", namespace, {}, plain),
        binding(namespace),
      ],
      { prepare: bindable },
    );
    // A user other than Git creates the bindings that expire.
    await game.scene.admin.patch(pathTo(binding(game.scene.namespace)), {
      metadata: { annotations: { [EXPIRY]: inHours(7) } },
    });
    await game.until("BindingsCurrent", "Current");
    await game.untilTrial();
    await game.until("FlowsIsolated", "Isolated");
    expect(changesOf(game, "PATCH rolebindings")).toBe(1);
    expect(changesOf(game, "PATCH daemonsets")).toBe(1);
    expect(await game.quiet()).toEqual([]);
    expect(game.git.putBack).toEqual([]);
    await rig.clear(scenes.splice(0));
  },
  TIMEOUT_MS,
);

it(
  "changes a token life once although Git sets it, then names Argo CD and gives up",
  async () => {
    const game = await Game.begin(namespace => [
      resilience(namespace, { tokenLifetime: {} }, ["DaemonSet"]),
      agent(namespace),
    ]);
    const { message } = await game.fight("TokenLifetimeBounded", "Contested");
    expect(message).toContain("argocd-controller");
    // It says so from the end of the trial on, and that it gives up once the template is restored.
    const told = async () => (await game.condition("TokenLifetimeBounded"))?.message ?? "";
    await eventually(told, text => text.includes("does not retry"), 20_000);
    // The change begins a trial, which gives updateStrategy back when Git reverts the change.
    expect(changesOf(game, "PATCH daemonsets")).toBe(2);
    expect(game.git.putBack).toEqual(["DaemonSet web"]);
    expect(await game.quiet()).toEqual([]);
  },
  TIMEOUT_MS,
);

it(
  "changes a token life once if Argo CD ignores the field",
  async () => {
    const live = ({ spec }: GitObject) =>
      (spec as { template: { spec: { volumes: { name: string }[] } } }).template.spec;
    const game = await Game.begin(
      namespace => [resilience(namespace, { tokenLifetime: {} }, ["DaemonSet"]), agent(namespace)],
      {
        ignore: (wanted, there) => {
          if (wanted.kind !== "DaemonSet") return wanted;
          const volumes = live(there).volumes.filter(({ name }) => name === "api");
          return workload("DaemonSet", wanted.metadata.namespace, {}, { volumes });
        },
      },
    );
    await game.untilTrial();
    expect(await game.quiet()).toEqual([]);
    expect(changesOf(game, "PATCH daemonsets")).toBe(1);
    expect(game.git.putBack).toEqual([]);
  },
  TIMEOUT_MS,
);

it(
  "renews an expiry once although Git sets it, then gives up",
  async () => {
    const end = inHours(7);
    const game = await Game.begin(
      namespace => [
        resilience(namespace, RENEWAL),
        workload("Deployment", namespace, { replicas: 0 }, plain),
        binding(namespace, { [EXPIRY]: end }),
      ],
      { prepare: bindable },
    );
    await game.until("BindingsCurrent", "Current");
    await game.fight("BindingsCurrent", "Contested");
    expect(changesOf(game, "PATCH rolebindings")).toBe(1);
    expect(game.git.putBack).toEqual(["RoleBinding web"]);
    expect(await game.quiet()).toEqual([]);
  },
  TIMEOUT_MS,
);
