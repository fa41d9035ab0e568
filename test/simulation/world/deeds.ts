import { programOf } from "../programs/library";
import type { Kind, Kinds, Subject } from "./kind";
import { breakRollout, editTemplate, find, mark, type Ref, remove, rollOut, setSpec } from "./people";
import { enforce, followGit, type GitOptions, habit } from "./tools";
import type { World } from "./world";

// What people do, at the wrong moment, and the tools that they leave running.

const PREFIX = "controller-resilience.io";
const EXPIRES = `${PREFIX}/expires-at`;

/** A field of an object's spec has another value for a while. */
function withSpec(path: string, value: unknown, says: string, on: Subject = "object"): Kind {
  return { on, lasts: [5, 30], says, begin: ({ cluster }, { ref }) => setSpec(cluster, ref, path, value) };
}

/** Moves the expiry of a binding that has not expired. */
function moveExpiry({ cluster, clock }: World, ref: Ref, byMs: (leftMs: number) => number): void {
  const nowMs = clock.now().getTime();
  const expiresMs = Date.parse(find(cluster, ref)?.metadata.annotations?.[EXPIRES] ?? "");
  if (Number.isNaN(expiresMs) || expiresMs < nowMs) return;
  const value = new Date(expiresMs + byMs(expiresMs - nowMs)).toISOString().replace(/\.\d+/, "");
  mark(cluster, ref, { key: EXPIRES, value });
}

const OBJECTS: Kinds = {
  suspend: withSpec("suspend", true, "Someone suspends %."),
  observe: withSpec("mode", "Observe", "Someone sets % to Observe."),
  "mistype-targets": withSpec(
    "targets",
    [{ kind: "Deployment", name: "no-such-app" }],
    "Someone mistypes the targets of %.",
  ),
  "drop-restarts": withSpec("tokenRestart", undefined, "Someone removes tokenRestart from %."),
  "long-cooldown": withSpec("tokenRestart.cooldown", "1h", "Someone sets the cooldown of % to 1h."),
  "recreate-object": {
    ...{ on: "object", lasts: [0.1, 10] },
    says: "Someone deletes % for a while.",
    begin: ({ cluster }, { ref }) => remove(cluster, ref),
  },
  "delete-object": {
    on: "object",
    says: "Someone deletes % for good.",
    begin: ({ cluster }, { ref }) => void remove(cluster, ref),
  },
  "cluster-enforces": withSpec("mode", "Enforce", "Someone lets % act in all namespaces.", "cluster object"),
  "cluster-excludes": withSpec(
    "excludeNamespaces",
    ["team-0", "team-1*"],
    "Someone excludes namespaces from %.",
    "cluster object",
  ),
  "cluster-mistyped": withSpec(
    "namespaceSelector",
    { matchLabels: { team: "no-such-team" } },
    "Someone mistypes the selector of %.",
    "cluster object",
  ),
  "cluster-deleted": {
    ...{ on: "cluster object", lasts: [0.5, 20] },
    says: "Someone deletes % for a while.",
    begin: ({ cluster }, { ref }) => remove(cluster, ref),
  },
  "namespace-unprotected": {
    ...{ on: "namespace", lasts: [5, 30] },
    says: "Someone labels namespace % as not to be protected.",
    begin: ({ cluster }, { ref }) => mark(cluster, ref, { map: "labels", key: `${PREFIX}/protect`, value: "false" }),
  },
};

const WORKLOADS: Kinds = {
  skip: {
    ...{ on: "workload", lasts: [5, 30] },
    says: "Someone sets the skip annotation of %.",
    begin: ({ cluster }, { ref }) => mark(cluster, ref, { key: `${PREFIX}/skip`, value: "true" }),
  },
  "roll-out": {
    on: "workload",
    says: "Someone rolls % out again.",
    begin: ({ cluster }, { ref }) => rollOut(cluster, ref),
  },
  "break-rollout": {
    ...{ on: "workload", lasts: [5, 40] },
    says: "Someone rolls out an image of % that does not exist.",
    begin: ({ cluster }, { ref }) => breakRollout(cluster, ref),
  },
  "rolling-updates": {
    on: "DaemonSet",
    says: "Someone sets the updateStrategy of % to RollingUpdate.",
    begin: ({ cluster }, { ref }) => void setSpec(cluster, ref, "updateStrategy", { type: "RollingUpdate" }),
  },
  "keeps-token": {
    ...{ on: "workload", weight: 0, lasts: [5, 40] },
    says: "Someone rolls out a version of % that keeps the token it read first.",
    begin: ({ cluster }, { on, ref }) => {
      const image = `registry.example/${on}:keeps-token`;
      cluster.addImage(image, programOf("copies-token", { namespace: ref.namespace ?? "", name: ref.name }));
      return breakRollout(cluster, ref, image);
    },
  },
  "pause-rollout": {
    ...{ on: "Deployment", lasts: [5, 40] },
    says: "Someone pauses % and rolls it out, so nothing happens.",
    begin: ({ cluster }, { ref }) => {
      const resume = setSpec(cluster, ref, "paused", true);
      rollOut(cluster, ref);
      return resume;
    },
  },
  scale: {
    ...{ on: "workload with replicas", amount: dice => dice.int(6) },
    says: "Someone scales % to #.",
    begin: ({ cluster }, { ref, amount }) => void setSpec(cluster, ref, "replicas", amount),
  },
  "delete-pod": {
    on: "workload",
    says: "Someone deletes a pod of %.",
    begin: (world, { on }) => {
      const [pod] = world.podsOf(on);
      if (pod !== undefined) remove(world.cluster, { resource: "pods", ...pod.metadata });
    },
  },
  "recreate-workload": {
    ...{ on: "workload", lasts: [0.1, 10] },
    says: "Someone deletes % for a while.",
    begin: ({ cluster }, { ref }) => remove(cluster, ref),
  },
  "tighten-budget": {
    ...{ on: "workload", lasts: [5, 40] },
    says: "Someone gives % a PodDisruptionBudget that allows nothing.",
    begin: ({ cluster, store }, { ref: { namespace = "", name: app } }) => {
      const ref = { resource: "poddisruptionbudgets", namespace, name: `${app}-tight` };
      const isGone = store.get("namespaces", undefined, namespace) === undefined;
      if (find(cluster, ref) !== undefined || isGone) return undefined;
      const spec = { maxUnavailable: 0, selector: { matchLabels: { app } } };
      store.create(ref.resource, { metadata: { namespace, name: ref.name }, spec });
      return () => void remove(cluster, ref);
    },
  },
  "large-object": {
    ...{ on: "workload", amount: dice => Math.round(dice.between(50, 1_000)) },
    says: "Someone rolls out % with # kB of settings in its template.",
    begin: ({ cluster }, { ref, amount }) =>
      editTemplate(cluster, ref, ({ spec: { containers = [] } }) => {
        const [first] = containers;
        if (first !== undefined) first.env = [{ name: "SETTINGS", value: "x".repeat(1_000 * amount) }];
      }),
  },
};

const BINDINGS: Kinds = {
  "shorten-binding": {
    on: "binding",
    says: "Someone halves the time that % has left.",
    begin: (world, { ref }) => moveExpiry(world, ref, leftMs => -leftMs / 2),
  },
  "extend-binding": {
    on: "binding",
    says: "Someone extends % by six hours.",
    begin: (world, { ref }) => moveExpiry(world, ref, () => 6 * 3_600_000),
  },
  "mistype-expiry": {
    ...{ on: "binding", lasts: [5, 60] },
    says: "Someone mistypes the expiry of %.",
    begin: ({ cluster }, { ref }) => {
      const value = find(cluster, ref)?.metadata.annotations?.[EXPIRES];
      // Mistyped already: its end would mistype it again.
      if (Number.isNaN(Date.parse(value ?? ""))) return undefined;
      return mark(cluster, ref, { key: EXPIRES, value: "tomorrow" });
    },
  },
  "revoke-binding": {
    on: "binding",
    says: "Someone deletes %.",
    begin: ({ cluster }, { ref }) => void remove(cluster, ref),
  },
  "withdraw-consent": {
    ...{ on: "binding", lasts: [5, 60] },
    says: "Someone removes the annotation that lets % be renewed.",
    begin: ({ cluster }, { ref }) => {
      const key = `${PREFIX}/renew`;
      mark(cluster, ref, { key, value: undefined });
      return () => mark(cluster, ref, { key, value: "true" });
    },
  },
};

/** A GitOps tool follows Git for an object from now on. */
function git(on: Subject, says: string, options: Omit<GitOptions, "everyMs" | "dice">): Kind {
  return {
    ...{ on, says },
    begin: ({ cluster }, { ref, dice }) => followGit(cluster, ref, { ...options, everyMs: 180_000, dice }),
  };
}

/** Tools go on until the world ends, if the plan does not say how long. */
export const TOOLS: Kinds = {
  "git-keeps-workload": git("workload", "From now on a GitOps tool keeps % as it is, every three minutes.", {}),
  "git-heals-workload": git("workload", "From now on a GitOps tool reverts each change of % within seconds.", {
    selfHeals: true,
  }),
  "git-replaces-workload": git("workload", "From now on a GitOps tool replaces % every three minutes.", {
    replaces: true,
  }),
  "git-keeps-object": git("object", "From now on a GitOps tool keeps % as it is.", { selfHeals: true }),
  "git-keeps-binding": git("binding", "From now on a GitOps tool keeps % as it is, expiry and all.", {}),
  "own-enforcer": {
    weight: 5,
    says: "From now on a script deletes expired bindings.",
    begin: ({ cluster }, { dice }) => enforce(cluster, dice),
  },
  autoscaler: {
    ...{ on: "workload with replicas", amount: dice => 2 + dice.int(4) },
    says: "From now on an autoscaler gives % one to # pods.",
    begin: ({ cluster }, { ref, amount, dice }) =>
      habit(cluster, { everyMs: 240_000, dice }, () => setSpec(cluster, ref, "replicas", 1 + dice.int(amount))),
  },
  "rolls-out-often": {
    ...{ on: "workload", lasts: [20, 100], amount: dice => 2 + dice.int(15) },
    says: "From now on a pipeline rolls % out every # minutes.",
    begin: ({ cluster }, { ref, amount, dice }) =>
      habit(cluster, { everyMs: 60_000 * amount, dice }, () => rollOut(cluster, ref)),
  },
};

/** All that people do. */
export const DEEDS: Kinds = { ...OBJECTS, ...WORKLOADS, ...BINDINGS };
