import { NODE_ADDRESS } from "../../lab/addresses";
import {
  again,
  deleteBinding,
  each,
  handOver,
  nothing,
  pause,
  recreateAccount,
  roll,
  signal,
  whileAtZero,
} from "./acts";
import { LEASE_CASES } from "./lease-cases";
import {
  type Act,
  asyncio,
  budgets,
  type Case,
  change,
  disruption,
  fabric8,
  groupOf,
  kopf,
  LATE_PROXY_PORT,
  manager,
  NAME,
  PROXY_PORT,
  replicas,
  replicationControllers,
  repositories,
  schedulerOf,
  SOME,
  source,
  widgets,
} from "./stall-programs";

/** Workers of the present process block; those of its successor do not. */
const block: Act = hands =>
  widgets(hands, SOME, { blocksBefore: new Date(Date.now() + 20_000).toISOString().replace(/\.\d+/, "") });
const FOR_EVER = { blocksBefore: "2100-01-01T00:00:00Z" };

const group = "admissionregistration.k8s.io/v1";

/** What an admission policy or a webhook is asked about: each status. */
const eachStatus = (namespace: string): object => ({
  apiGroups: [groupOf(namespace)],
  apiVersions: ["v1"],
  operations: ["UPDATE"],
  resources: ["widgets/status"],
});

/** A policy refuses each status. */
const denyStatus: Act = ({ client, namespace }) => {
  return client.apply([
    {
      ...{ apiVersion: group, kind: "ValidatingAdmissionPolicy", metadata: { name: namespace } },
      spec: { matchConstraints: { resourceRules: [eachStatus(namespace)] }, validations: [{ expression: "false" }] },
    },
    {
      ...{ apiVersion: group, kind: "ValidatingAdmissionPolicyBinding", metadata: { name: namespace } },
      spec: { policyName: namespace, validationActions: ["Deny"] },
    },
  ]);
};

/** A webhook whose server is away. */
const breakWebhook: Act = ({ client, namespace }) => {
  const webhook = {
    ...{
      name: "widgets.example.com",
      rules: [eachStatus(namespace)],
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    },
    ...{ clientConfig: { url: `https://${NODE_ADDRESS}:1/` }, failurePolicy: "Fail", timeoutSeconds: 1 },
  };
  return client.apply([
    { apiVersion: group, kind: "ValidatingWebhookConfiguration", metadata: { name: namespace }, webhooks: [webhook] },
  ]);
};

const exhaustQuota: Act = ({ client, namespace }) =>
  client.apply([
    {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { namespace, name: "q" },
      spec: { hard: { "count/configmaps": "1" } },
    },
  ]);

const MANAGER = "controller-runtime";
const HELD = "watch held in silence";
const reasons = (...some: readonly string[]): RegExp => new RegExp(`^\\w*(${some.join("|")})`);
const STOPPED = reasons("ProgressStopped");
const SEES_NOTHING = reasons("ProgressStopped", "WatchesDead");

const HALF = "half of its workers blocked";

const EVERY_MS = 240_000;

/** Its token is refused for ever, and then work is due. */
const loseAccount: Act = each(recreateAccount, pause(12_000), change());

/** It is restarted for its token. */
const DIES = {
  ...{
    act: loseAccount,
    remedies: { tokenRestart: {} },
    told: reasons("Unauthorized", "Rejected", "Restart"),
    heals: true,
  },
};

/** Each time, the repositories are elsewhere. */
const turns = (names: readonly string[]): Act => {
  let turn = 0;
  return hands => repositories(names, `turn-${(turn += 1)}`)(hands);
};

/** The cases of a program with two workers, a Lease and no metrics. */
const handlers = (name: string, of: typeof kopf, program = name): Record<string, Case> => ({
  [`${name}-blocked`]: {
    program,
    ...of(),
    what: "all workers blocked",
    act: change(FOR_EVER),
    told: STOPPED,
  },
  [`${name}-held`]: {
    ...{ program, ...of(PROXY_PORT), what: HELD, act: each(pause(2_000), change()), told: STOPPED },
  },
  [`${name}-half`]: {
    ...{ program, ...of(), what: HALF },
    act: each(change(FOR_EVER, ["a"]), again(EVERY_MS, change({}, SOME.slice(1)))),
  },
});

/** Its watches are held six minutes after the others', and it has work six minutes later. */
const LATE_MS = 12 * 60_000;

const [scheduled, unschedulable] = [schedulerOf("1m", PROXY_PORT), schedulerOf("1000")];

const STUCK = reasons("ProgressStopped", "QueueStuck", "Restart");

/** By namespace. */
export const CASES: Readonly<Record<string, Case>> = {
  blocked: {
    program: MANAGER,
    ...manager(),
    what: "all workers blocked",
    act: block,
    told: STUCK,
  },
  "blocked-secure": {
    ...{ program: `${MANAGER}, authenticated metrics`, ...manager({ metrics: "secure" }) },
    ...{ what: "all workers blocked", act: block, told: STUCK },
  },
  "blocked-alone": {
    ...{ program: `${MANAGER}, no election`, ...manager({ elects: false }) },
    ...{ what: "all workers blocked", act: block, told: STUCK },
  },
  "blocked-blind": {
    ...{ program: `${MANAGER}, no metrics`, ...manager({ metrics: "none" }) },
    ...{ what: "all workers blocked", act: block, told: STOPPED },
  },
  half: {
    ...{ program: `${MANAGER}, two controllers`, ...manager({ flags: ["--configmaps"] }) },
    ...{ what: "all workers of one blocked", act: block, told: STUCK },
  },
  "half-workers": {
    ...{ program: `${MANAGER}, 4 workers`, ...manager({ workers: 4 }), what: HALF },
    act: each(change(FOR_EVER, ["a", "b"]), again(EVERY_MS, change({}, SOME.slice(2)))),
  },
  held: {
    ...{ program: MANAGER, ...manager({ proxy: PROXY_PORT }) },
    ...{ what: HELD, act: each(pause(2_000), change()), told: SEES_NOTHING },
  },
  "held-blind": {
    ...{ program: `${MANAGER}, no metrics`, ...manager({ proxy: PROXY_PORT, metrics: "none" }) },
    ...{ what: HELD, act: each(pause(2_000), change()), told: STOPPED },
  },
  "held-idle": {
    ...{ program: MANAGER, ...manager({ proxy: LATE_PROXY_PORT }), what: `${HELD} while it is idle` },
    ...{ act: each(pause(LATE_MS), change()), told: reasons("WatchesDead", "ProgressStopped", "Restart"), heals: true },
  },
  "kcm-held": {
    ...{ program: "kube-controller-manager", ...replicas(PROXY_PORT), what: HELD },
    ...{ act: each(pause(2_000), replicationControllers), told: SEES_NOTHING },
  },
  "kcm-held-idle": {
    // Each handles the objects of all namespaces: those of kcm-held are not for it.
    ...{ program: "kube-controller-manager", ...disruption(LATE_PROXY_PORT), what: `${HELD} while it is idle` },
    ...{ act: nothing, told: reasons("WatchesDead") },
  },
  "scheduler-held": {
    ...{ program: "kube-scheduler", ...scheduled, what: HELD },
    ...{ act: each(pause(2_000), scheduled.open), told: STOPPED },
  },
  "dead-token": {
    ...{ program: `${MANAGER}, no log`, ...manager({ elects: false, flags: ["--quiet"] }), what: "401 for ever" },
    ...DIES,
  },
  "dead-token-blind": {
    program: `${MANAGER}, no log, no metrics`,
    ...manager({ elects: false, metrics: "none", flags: ["--quiet"] }),
    ...{ what: "401 for ever", act: loseAccount, told: STOPPED },
  },
  "kopf-blocked": {
    ...{ program: "kopf", ...kopf(), what: "its event loop blocked" },
    ...{ act: change(FOR_EVER), told: STOPPED },
  },
  "kopf-held": {
    ...{ program: "kopf", ...kopf(PROXY_PORT), what: `${HELD}: it opens another after 40 s` },
    act: each(pause(2_000), change()),
  },
  "kopf-half": {
    ...{ program: "kopf", ...kopf(), what: "the handlers of 3 objects of 6 hang" },
    act: each(change({ hangs: true }, SOME.slice(3)), again(EVERY_MS, change({}, SOME.slice(0, 3)))),
  },
  ...handlers("fabric8", fabric8),
  ...handlers("asyncio", asyncio, "kubernetes_asyncio"),
  "flux-held": {
    ...{ program: "Flux source-controller", ...source(PROXY_PORT), what: HELD },
    ...{ act: each(pause(2_000), repositories(SOME, "other")), told: SEES_NOTHING },
  },
  "flux-blocked": {
    ...{ program: "Flux source-controller", ...source(), what: "servers never answer" },
    ...{ act: repositories(SOME, "silent"), told: STUCK, heals: true },
  },
  "flux-half": {
    ...{ program: "Flux source-controller", ...source(), what: HALF },
    act: each(repositories(["a"], "silent"), again(EVERY_MS, turns(SOME.slice(1)))),
  },
  "flux-hung": {
    ...{ program: "Flux source-controller", ...source(), what: "hangs (SIGSTOP)", spec: { for: "60s" } },
    ...{ act: signal("source-controller", "SIGSTOP"), told: reasons("LeaseNotRenewed") },
  },
  "flux-denied": {
    ...{ program: "Flux source-controller", ...source(), what: "Lease denied", spec: { for: "60s" } },
    ...{ act: deleteBinding(`${NAME}-more`), told: reasons("AccessLost", "LeaseNotRenewed") },
  },
  // These two end themselves.
  "flux-401": { program: "Flux source-controller", ...source(), what: "401s", ...DIES },
  "kopf-401": { program: "kopf", ...kopf(), what: "401s", ...DIES },

  idle: { program: MANAGER, ...manager(), what: "idle", act: nothing },
  standby: { program: MANAGER, ...manager({ replicas: 2 }), what: "idle, with a standby", act: nothing },
  slow: {
    ...{ program: MANAGER, ...manager({ workers: 1 }), what: "reconciles of 90 s" },
    act: again(EVERY_MS, change({ seconds: 90 })),
  },
  slower: {
    ...{ program: MANAGER, ...manager({ workers: 1 }), what: "reconciles of 10 minutes, for: 15m" },
    entry: namespace => ({ apiVersion: `${groupOf(namespace)}/v1`, kind: "Widget" }),
    act: change({ seconds: 600 }),
  },
  fails: { program: MANAGER, ...manager(), what: "its reconciles fail, backoff", act: change({ fails: true }) },
  denied: {
    program: MANAGER,
    ...manager(),
    what: "a policy denies writes",
    act: each(denyStatus, pause(5_000), change()),
  },
  webhook: {
    program: MANAGER,
    ...manager(),
    what: "a webhook is away",
    act: each(breakWebhook, pause(5_000), change()),
  },
  quota: {
    program: MANAGER,
    ...manager(),
    what: "a quota is used up",
    act: each(exhaustQuota, pause(5_000), change({ creates: true })),
  },
  paused: { program: MANAGER, ...manager(), what: "objects are paused", act: change({ ignored: true, paused: true }) },
  class: {
    ...{ program: MANAGER, ...manager(), what: "objects of another class" },
    entry: namespace => ({ ...manager().entry(namespace), selector: { matchLabels: { class: "ours" } } }),
    seed: async hands => {
      await widgets(hands, SOME.slice(3), {}, { class: "theirs" });
      await widgets(hands, SOME.slice(0, 3), {}, { class: "ours" });
    },
    act: hands => widgets(hands, SOME.slice(3), { ignored: true }, { class: "theirs" }),
  },
  zero: {
    ...{ program: MANAGER, ...manager(), what: "scaled to zero for 10 minutes" },
    act: whileAtZero(each(change(), pause(600_000))),
  },
  rolled: {
    ...{ program: MANAGER, ...manager(), what: "rolling updates" },
    act: again(EVERY_MS, each(change(), roll)),
  },
  handover: {
    ...{ program: MANAGER, ...manager({ replicas: 2 }), what: "its leader is deleted, again and again" },
    act: again(EVERY_MS, each(change(), handOver)),
  },
  "kopf-idle": { program: "kopf", ...kopf(), what: "works", act: again(EVERY_MS, change()) },
  "kcm-works": {
    ...{ program: "kube-controller-manager", ...disruption(), what: "works" },
    act: again(EVERY_MS, budgets),
  },
  "scheduler-full": {
    ...{ program: "kube-scheduler", ...unschedulable, what: "pods fit no node" },
    act: unschedulable.open,
  },
  poison: {
    ...{ program: MANAGER, ...manager(), what: "one object always fails" },
    act: change({ fails: true }, ["a"]),
  },
  "poison-blind": {
    ...{
      program: `${MANAGER}, no metrics`,
      ...manager({ metrics: "none" }),
      what: "one object always fails, others work",
    },
    act: each(change({ fails: true }, ["a"]), again(EVERY_MS, change({}, SOME.slice(1)))),
  },
  "flux-fails": {
    ...{ program: "Flux source-controller", ...source(), what: "repositories are missing" },
    act: repositories(SOME, "missing"),
  },
  "flux-fails-blind": {
    ...{ program: "Flux source-controller, no metrics", ...source(undefined, false), what: "repositories are missing" },
    act: repositories(SOME, "missing"),
  },
  ...LEASE_CASES,
};
