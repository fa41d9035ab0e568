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
  type Program,
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
    ...{ name: "widgets.example.com", rules: [eachStatus(namespace)] },
    ...{ sideEffects: "None", admissionReviewVersions: ["v1"] },
    ...{ clientConfig: { url: `https://${NODE_ADDRESS}:1/` }, failurePolicy: "Fail", timeoutSeconds: 1 },
  };
  return client.apply([
    { apiVersion: group, kind: "ValidatingWebhookConfiguration", metadata: { name: namespace }, webhooks: [webhook] },
  ]);
};

const ONE = { "count/configmaps": "1" };

const exhaustQuota: Act = ({ client, namespace }) =>
  client.apply([{ apiVersion: "v1", kind: "ResourceQuota", metadata: { namespace, name: "q" }, spec: { hard: ONE } }]);

/** A program, what is done to it, and what must be said of it. */
const of = (program: Program, what: string, act: Act, more: Partial<Case> = {}): Case => ({
  ...{ ...program, what, act },
  ...more,
});

const reasons = (...some: readonly string[]): RegExp => new RegExp(`^\\w*(${some.join("|")})`);
const stops = { told: reasons("ProgressStopped") };
const isStuck = { told: reasons("ProgressStopped", "QueueStuck", "Restart") };
const seesNothing = { told: reasons("ProgressStopped", "WatchesDead") };

const BLOCKED = "all workers blocked";
const HALF = "half of its workers blocked";
const HELD = "watch held in silence";
const IDLE = `${HELD} while it is idle`;

/** Its watches are held six minutes after the others', and it has work six minutes later. */
const LATE_MS = 12 * 60_000;

/** After the watches are held. */
const then = (act: Act): Act => each(pause(2_000), act);

/** A part of its objects for ever, and the others again and again. */
const EVERY_MS = 240_000;
const beside = (act: Act, others: Act): Act => each(act, again(EVERY_MS, others));

/** Its token is refused for ever, and then work is due. */
const loseAccount: Act = each(recreateAccount, pause(12_000), change());

/** It is restarted for its token. */
const dies = { remedies: { tokenRestart: {} }, told: reasons("Unauthorized", "Rejected", "Restart"), heals: true };

/** Each time, the repositories are elsewhere. */
const turns = (names: readonly string[]): Act => {
  let turn = 0;
  return hands => repositories(names, `turn-${(turn += 1)}`)(hands);
};

/** The cases of a program with two workers, a Lease and no metrics. */
const handlers = (name: string, program: typeof kopf): Record<string, Case> => ({
  [`${name}-blocked`]: of(program(), BLOCKED, change(FOR_EVER), stops),
  [`${name}-held`]: of(program(PROXY_PORT), HELD, then(change()), stops),
  [`${name}-half`]: of(program(), HALF, beside(change(FOR_EVER, ["a"]), change({}, SOME.slice(1)))),
});

const [scheduled, unschedulable] = [schedulerOf("1m", PROXY_PORT), schedulerOf("1000")];
const hurried = { for: "60s" };

/** By namespace. */
export const CASES: Readonly<Record<string, Case>> = {
  blocked: of(manager(), BLOCKED, block, isStuck),
  "blocked-secure": of(manager({ metrics: "secure", note: "authenticated metrics" }), BLOCKED, block, isStuck),
  "blocked-alone": of(manager({ elects: false, note: "no election" }), BLOCKED, block, isStuck),
  "blocked-blind": of(manager({ metrics: "none", note: "no metrics" }), BLOCKED, block, stops),
  half: of(manager({ flags: ["--configmaps"], note: "two controllers" }), "all workers of one blocked", block, isStuck),
  "half-workers": of(
    manager({ workers: 4, note: "4 workers" }),
    HALF,
    beside(change(FOR_EVER, ["a", "b"]), change({}, SOME.slice(2))),
  ),
  held: of(manager({ proxy: PROXY_PORT }), HELD, then(change()), seesNothing),
  "held-blind": of(manager({ proxy: PROXY_PORT, metrics: "none", note: "no metrics" }), HELD, then(change()), stops),
  "held-idle": of(manager({ proxy: LATE_PROXY_PORT }), IDLE, each(pause(LATE_MS), change()), {
    ...{ told: reasons("WatchesDead", "ProgressStopped", "Restart"), heals: true },
  }),
  "kcm-held": of(replicas(PROXY_PORT), HELD, then(replicationControllers), seesNothing),
  // Each handles the objects of all namespaces: those of kcm-held are not for it.
  "kcm-held-idle": of(disruption(LATE_PROXY_PORT), IDLE, nothing, { told: reasons("WatchesDead") }),
  "scheduler-held": of(scheduled, HELD, then(scheduled.open), stops),
  "dead-token": of(manager({ elects: false, flags: ["--quiet"], note: "no log" }), "401 for ever", loseAccount, dies),
  "dead-token-blind": of(
    manager({ elects: false, metrics: "none", flags: ["--quiet"], note: "no log, no metrics" }),
    "401 for ever",
    loseAccount,
    stops,
  ),
  "kopf-blocked": of(kopf(), "its event loop blocked", change(FOR_EVER), stops),
  "kopf-held": of(kopf(PROXY_PORT), `${HELD}: it opens another after 40 s`, then(change())),
  "kopf-half": of(
    kopf(),
    "the handlers of 3 objects of 6 hang",
    beside(change({ hangs: true }, SOME.slice(3)), change({}, SOME.slice(0, 3))),
  ),
  ...handlers("fabric8", fabric8),
  ...handlers("asyncio", asyncio),
  "flux-held": of(source(PROXY_PORT), HELD, then(repositories(SOME, "other")), seesNothing),
  "flux-blocked": of(source(), "servers never answer", repositories(SOME, "silent"), { ...isStuck, heals: true }),
  "flux-half": of(source(), HALF, beside(repositories(["a"], "silent"), turns(SOME.slice(1)))),
  "flux-hung": of(source(), "hangs (SIGSTOP)", signal("source-controller", "SIGSTOP"), {
    ...{ spec: hurried, told: reasons("LeaseNotRenewed") },
  }),
  "flux-denied": of(source(), "Lease denied", deleteBinding(`${NAME}-more`), {
    ...{ spec: hurried, told: reasons("AccessLost", "LeaseNotRenewed") },
  }),
  // These two end themselves.
  "flux-401": of(source(), "401s", loseAccount, dies),
  "kopf-401": of(kopf(), "401s", loseAccount, dies),

  idle: of(manager(), "idle", nothing),
  standby: of(manager({ replicas: 2 }), "idle, with a standby", nothing),
  slow: of(manager({ workers: 1 }), "reconciles of 90 s", again(EVERY_MS, change({ seconds: 90 }))),
  slower: of(manager({ workers: 1 }), "reconciles of 10 minutes, for: 15m", change({ seconds: 600 }), {
    entry: namespace => ({ apiVersion: `${groupOf(namespace)}/v1`, kind: "Widget" }),
  }),
  fails: of(manager(), "its reconciles fail, backoff", change({ fails: true })),
  denied: of(manager(), "a policy denies writes", each(denyStatus, pause(5_000), change())),
  webhook: of(manager(), "a webhook is away", each(breakWebhook, pause(5_000), change())),
  quota: of(manager(), "a quota is used up", each(exhaustQuota, pause(5_000), change({ creates: true }))),
  paused: of(manager(), "objects are paused", change({ ignored: true, paused: true })),
  class: of(
    manager(),
    "objects of another class",
    hands => widgets(hands, SOME.slice(3), { ignored: true }, { class: "theirs" }),
    {
      entry: namespace => ({ ...manager().entry(namespace), selector: { matchLabels: { class: "ours" } } }),
      seed: async hands => {
        await widgets(hands, SOME.slice(3), {}, { class: "theirs" });
        await widgets(hands, SOME.slice(0, 3), {}, { class: "ours" });
      },
    },
  ),
  zero: of(manager(), "scaled to zero for 10 minutes", whileAtZero(each(change(), pause(600_000)))),
  rolled: of(manager(), "rolling updates", again(EVERY_MS, each(change(), roll))),
  handover: of(manager({ replicas: 2 }), "its leader is deleted each time", again(EVERY_MS, each(change(), handOver))),
  "kopf-idle": of(kopf(), "works", again(EVERY_MS, change())),
  "kcm-works": of(disruption(), "works", again(EVERY_MS, budgets)),
  "scheduler-full": of(unschedulable, "pods fit no node", unschedulable.open),
  poison: of(manager(), "one object always fails", change({ fails: true }, ["a"])),
  "poison-blind": of(
    manager({ metrics: "none", note: "no metrics" }),
    "one object always fails, others work",
    beside(change({ fails: true }, ["a"]), change({}, SOME.slice(1))),
  ),
  "flux-fails": of(source(), "repositories are missing", repositories(SOME, "missing")),
  "flux-fails-blind": of(
    { ...source(undefined, false), program: "Flux source-controller, no metrics" },
    "repositories are missing",
    repositories(SOME, "missing"),
  ),
  ...LEASE_CASES,
};
