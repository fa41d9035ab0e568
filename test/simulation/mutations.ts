// Ways to break the operator, each a slip that a person could make, and each of which some seed of the simulation must find.

/** Which small worlds of two hours find it. */
interface Finders {
  /** One that does: it is tried first. */
  readonly seed?: number;
  /** What a plan must have, as JSON: other worlds are left out. */
  readonly needs?: RegExp;
}

/** Replaces a text that stands once in a file. */
export interface Mutation extends Finders {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** @throws Error if the text is not there exactly once: the source has changed */
export function mutated({ name, file, from, to }: Mutation, source: string): string {
  const parts = source.split(from);
  if (parts.length !== 2)
    throw new Error(`${name}: expected its text once in ${file}, got it ${parts.length - 1} times`);
  return parts.join(to);
}

type Edit = readonly [name: string, from: string, to: string, finders?: Finders];

/** Mutations of one file. */
export function inFile(file: string, edits: readonly Edit[]): Mutation[] {
  return edits.map(([name, from, to, finders]) => ({ name, file, from, to, ...finders }));
}

const IN_VAIN = /"program":"(other-cluster|other-cluster-late|hangs-again|loses-lease)"/;
const IN_VAIN_TWICE = /("program":"(other-cluster|other-cluster-late|hangs-again|loses-lease)".*){2}/;
const RECREATED = /"what":"(recreate-account|rotate-key|operator-account)/;
const BINDINGS = /"bindingRenewal".*"consents"/;
const LIFETIME = /"tokenLifetime"/;
const FLOOD = /"program":"floods".*"flowIsolation"/;
const REPLICAS = /"operators":\[[^\],]+,/;
const WIDGETS = /"program":"widgets/;
const LONG_REST = /"program":"copies-token","replicas":1,"tokenSeconds":1800/;
const BOTH = (one: RegExp, other: RegExp): RegExp => new RegExp(`(?=.*${one.source})(?=.*${other.source})`);

/** All of them. */
export const MUTATIONS: readonly Mutation[] = [
  ...inFile("src/restarts/history.ts", [
    ["no cooldown", "if (sinceLast < cooldownMs) return", "if (sinceLast < 0) return", { seed: 1, needs: IN_VAIN }],
    [
      "every restart is proven",
      "return !PROVEN_BY_POD.has(entry.cause) && entry.cause !== Cause.TokenTooLong;",
      "return false;",
      { seed: 72, needs: IN_VAIN_TWICE },
    ],
  ]),
  ...inFile("src/restarts/ledger.ts", [
    [
      "a restart is not recorded before it is requested",
      "await this.#session.writeStatus(boundStatus({ ...this.#session.object.status, restarts }));",
      "",
      { seed: 1, needs: RECREATED },
    ],
    [
      "a lost answer costs nothing",
      'if (end !== "Refused") return;',
      'if (end === "Executed" || end === "NotWritten") return;',
      { seed: 99, needs: BOTH(RECREATED, /"what":"(request-errors|answers-lost)"/) },
    ],
    [
      "the history of a recreated object is forgotten",
      "    if (isNew)",
      "    if (isNew && own.length > 0)",
      { seed: 125, needs: BOTH(IN_VAIN, /"what":"recreate-object"/) },
    ],
    ["no pace", ": Math.max(waitMs, 0);", ": 0;", { seed: 13, needs: RECREATED }],
    [
      "two permits at a time",
      "return this.#permitOut ? Math",
      "return this.#permitOut && waitMs > 1e9 ? Math",
      { seed: 171, needs: RECREATED },
    ],
  ]),
  ...inFile("src/restarts/breaker.ts", [
    [
      "no breaker",
      "if (this.#ports.breaker.state === null) this.#tripIfNeeded();",
      "",
      { seed: 146, needs: IN_VAIN_TWICE },
    ],
    [
      "many unproven restarts are open",
      "if (open === undefined) return undefined;",
      "if (open === undefined || nowMs >= 0) return undefined;",
      { seed: 72, needs: IN_VAIN_TWICE },
    ],
  ]),
  ...inFile("src/restarts/rollouts.ts", [
    [
      "two rollouts at a time",
      "if (other === undefined) return undefined;",
      "if (other !== null) return undefined;",
      { seed: 129, needs: /"tokenLifetime".*"tokenLifetime"/ },
    ],
  ]),
  ...inFile("src/restarts/limits.ts", [
    ["restarts go on in vain", "  exhausted,\n", "", { seed: 11, needs: IN_VAIN }],
    [
      "the skip annotation of a workload is ignored",
      "if (view.skip || skip) return",
      "if (view.skip) return",
      { seed: 9, needs: BOTH(RECREATED, /"isSkipped"|"what":"skip"/) },
    ],
  ]),
  ...inFile("src/remedies/token-restart/checks.ts", [
    ["no witness is needed", "  notWitnessed,\n", "", { seed: 39, needs: IN_VAIN }],
  ]),
  ...inFile("src/logs/reading/rounds.ts", [
    [
      "a refusal wakes no log",
      "return rest !== undefined && this.#refusedUntilMs(rest.wokenBy) <= startedMs ? rest.as : urgency;",
      "return rest?.as ?? urgency;",
      { seed: 185, needs: LONG_REST },
    ],
  ]),
  ...inFile("src/remedies/token-restart/settle.ts", [
    [
      "a successor has helped at once",
      "const SETTLED_MS = 90_000;",
      "const SETTLED_MS = 0;",
      { seed: 72, needs: /"program":"other-cluster-late"/ },
    ],
  ]),
  ...inFile("src/remedies/stall-detection/restart.ts", [
    [
      "onStall: Report restarts",
      '  if (scope.spec.onStall !== "Restart") return undefined;\n',
      "",
      { seed: 16, needs: /"hangs.*"onStall":"Report"/ },
    ],
    [
      "restarts go on while no work is done",
      "    maxRestarts: 1,\n",
      "    maxRestarts,\n",
      { seed: 195, needs: /"program":"widgets-poisoned"/ },
    ],
    [
      "a pod without rights is restarted",
      "  leasesDenied,\n",
      "",
      { seed: 16, needs: BOTH(/"leaseSeconds"/, /"what":"(revoke|narrow)-access"/) },
    ],
  ]),
  ...inFile("src/remedies/stall-detection/work.ts", [
    [
      "one busy worker is a reason to restart",
      "const [stuck, ...more] = stuckQueues(track);",
      "const [stuck, ...more] = [...stuckQueues(track), ...stuckWorkers(track)];",
      { seed: 118, needs: /"program":"widgets-one-poisoned"/ },
    ],
  ]),
  ...inFile("src/evidence/metrics/judge.ts", [
    [
      "work that takes long is none",
      "return Math.max(leastMs, times * slowestMs);",
      "return slowestMs < Infinity ? leastMs : times * slowestMs;",
      { seed: 19, needs: /"program":"widgets-slow"/ },
    ],
    [
      "busy workers are no stall",
      "const fullMs = Math.max(fullFromMs, done.stillFromMs);",
      "const fullMs = Math.max(fullFromMs, done.stillFromMs, Infinity);",
      { seed: 10, needs: /"program":"widgets-hanging"/ },
    ],
  ]),
  ...inFile("src/evidence/progress/judge.ts", [
    [
      "work is due too long at once",
      "nowMs - Math.max(dueMs, movedMs, steadyMs) >= forMs;",
      "nowMs - Math.max(dueMs, movedMs, steadyMs) >= 0;",
      { seed: 21, needs: WIDGETS },
    ],
  ]),
  ...inFile("src/remedies/binding-renewal/observe.ts", [
    [
      "no consent is needed",
      'const requested = listed || view.annotations[RENEW_ANNOTATION] === "true";',
      'const requested = listed || RENEW_ANNOTATION !== "";',
      { seed: 88, needs: BINDINGS },
    ],
  ]),
  ...inFile("src/remedies/binding-renewal/living.ts", [
    [
      "a shortened expiry is extended",
      "  expiryShortened,\n",
      "",
      { seed: 18, needs: BOTH(BINDINGS, /"what":"shorten-binding"/) },
    ],
    ["an expiry in the past is extended", "  expired,\n", "", { seed: 18, needs: BINDINGS }],
    [
      "bindings are not renewed",
      "if (nowMs >= schedule.renewAtMs && review !== undefined) return undefined;",
      "if (nowMs >= schedule.atMs) return undefined;",
      { seed: 88, needs: BINDINGS },
    ],
    [
      "a renewal forgets the end of all renewals",
      "planRenewal(view, schedule, spec)",
      "planRenewal(view, schedule, { ...spec, renewUntil: null })",
      { seed: 93, needs: /"renewUntil"/ },
    ],
  ]),
  ...inFile("src/remedies/binding-renewal/schedule.ts", [
    [
      "a renewal is too long",
      "const targetMs = Math.min(schedule.atMs + extendByMs, renewUntilMs(spec));",
      "const targetMs = Math.min(schedule.atMs + 2 * extendByMs, renewUntilMs(spec));",
      { seed: 88, needs: BINDINGS },
    ],
    [
      "extendBy is for all bindings",
      'listed && spec.extendBy !== "" ?',
      'spec.extendBy !== "" ?',
      { seed: 60, needs: /"extendBy":"24h"/ },
    ],
  ]),
  ...inFile("src/remedies/token-lifetime/subject.ts", [
    [
      "no trial",
      'updateStrategy: { type: "OnDelete" } } as const;',
      'updateStrategy: { type: "RollingUpdate" } } as const;',
      { seed: 129, needs: LIFETIME },
    ],
  ]),
  ...inFile("src/remedies/token-lifetime/trial.ts", [
    [
      "a trial replaces several pods",
      "return first === undefined ? replacing(subject) : trialFinding(subject, missing);",
      "return activePodsOf(subject).every(pod => isCanary(pod, spec)) ? trialFinding(subject, missing) : replacing(subject);",
      { seed: 129, needs: LIFETIME },
    ],
    [
      "a trial holds up restarts",
      "if (what === undefined || subject.lacksServiceAccount) return undefined;",
      "return undefined;",
      { needs: LIFETIME },
    ],
    [
      "a trial needs no proof",
      "return unhealthy(first, endMs) ?? unprovenNode(first, subject) ?? sparedBlocker(subject);",
      "return undefined;",
      { seed: 156, needs: LIFETIME },
    ],
    [
      "a trial lasts a minute",
      "return 1000 * expirationSeconds + TRIAL_MARGIN_MS;",
      "return 0 * expirationSeconds + TRIAL_MARGIN_MS;",
      { seed: 129, needs: LIFETIME },
    ],
  ]),
  ...inFile("src/remedies/token-lifetime/rollout.ts", [
    [
      "a trial takes down a second pod",
      "if (availablePods < replicas) return",
      "if (availablePods < replicas && !isOnTrial(view)) return",
      { seed: 5, needs: LIFETIME },
    ],
  ]),
  ...inFile("src/remedies/token-lifetime/checks.ts", [
    [
      "401s with the shorter token are no harm",
      "if (record === undefined || !isChangeHarmful(subject)) return undefined;",
      "if (record === undefined || subject.nowMs > 0) return undefined;",
      { seed: 97, needs: /"what":"keeps-token"/ },
    ],
  ]),
  ...inFile("src/remedies/token-lifetime/observe.ts", [
    [
      "a trial outlives its object",
      "if (trials.length === 0) return [];",
      "if (trials.length >= 0) return [];",
      { seed: 203, needs: BOTH(LIFETIME, /"what":"(recreate|delete|remove)-?/) },
    ],
  ]),
  ...inFile("src/remedies/flow-isolation/flow.ts", [
    [
      "a component is throttled",
      "if (account.isComponent === true || namespace === SYSTEM_NAMESPACE)",
      "if (namespace === '')",
      { seed: 3, needs: FLOOD },
    ],
  ]),
  ...inFile("src/remedies/flow-isolation/throttle.ts", [
    [
      "a throttle never ends",
      'return state === "Throttled" && lateMs >= 0 ? lateMs : undefined;',
      'return state === "Throttled" && lateMs < 0 ? undefined : undefined;',
      { seed: 3, needs: FLOOD },
    ],
  ]),
  ...inFile("src/remedies/flow-isolation/remedy.ts", [
    [
      "flows outlive their object",
      "return buildSurplus({ owner, schemas, levels });",
      "return buildSurplus({ owner, schemas, levels }, () => true);",
      { seed: 33, needs: /"flowIsolation"/ },
    ],
  ]),
  ...inFile("src/engine/cluster-wide/selection.ts", [
    [
      "staged enforcement is for all",
      'return isEnforced ? "Enforce" : mode;',
      'return isEnforced || enforce !== undefined ? "Enforce" : mode;',
      { seed: 128, needs: /"enforce"/ },
    ],
    [
      "excluded namespaces are protected",
      "if (excludeNamespaces.some(pattern => matchesName(name, pattern)))",
      "if (excludeNamespaces.every(pattern => matchesName(name, pattern)))",
      { seed: 173, needs: /"excludeNamespaces"/ },
    ],
  ]),
  ...inFile("src/engine/cluster-wide/brake.ts", [
    [
      "a typo ends all protection",
      "return lost > ALWAYS && lost > results.reduce((sum, { share }) => sum + (share?.protected ?? 0), 0);",
      "return false;",
      { seed: 128, needs: /"team-1","name":"also-9".*"cluster-mistyped"/ },
    ],
  ]),
  ...inFile("src/engine/cluster-wide/plan.ts", [
    [
      "a generated object takes what a person protects",
      "for (const workload of workloadsOf(object, facts.candidates)) claimed.set(workload, HAND_WRITTEN);",
      "for (const workload of workloadsOf(object, facts.candidates)) claimed.delete(workload);",
      { seed: 130, needs: /"everything"/ },
    ],
    [
      "objects of a person are taken over",
      "const found = facts.objects.filter(object => isGeneratedFor(object, owner));",
      "const found = facts.objects;",
      { seed: 130, needs: /"everything"/ },
    ],
  ]),
  ...inFile("src/engine/lead/leader-election.ts", [
    [
      "a Lease is taken at once",
      "unchangedMs >= expiresAfterMs(found, LEASE_DURATION_MS);",
      "unchangedMs >= 0;",
      { seed: 69, needs: REPLICAS },
    ],
    [
      "the deadline is too long",
      "const untilMs = startedMs + RENEW_DEADLINE_MS;",
      "const untilMs = startedMs + 30 * RENEW_DEADLINE_MS;",
      { seed: 32, needs: REPLICAS },
    ],
    [
      "no attempt after a failure",
      "if (this.#running) this.#scheduleAttempt(",
      "if (this.#running && this.#failures === 0) this.#scheduleAttempt(",
      { seed: 69 },
    ],
    [
      "a Lease of another is ours",
      "return this.#written.some(written => isSameHold(found, written));",
      "return this.#written.length > 0 || isSameHold(found, found);",
      { seed: 69, needs: REPLICAS },
    ],
  ]),
  ...inFile("src/engine/loop/controller.ts", [
    [
      "a pass goes on without the lead",
      "return this.#term === term && isLeader();",
      "return isLeader() || true;",
      { seed: 36, needs: REPLICAS },
    ],
    [
      "a failed pass is not repeated",
      'this.#queue.addAfter(key, Math.min(delayMs, maxDelayMs), "due");',
      "Math.min(delayMs, maxDelayMs);",
      { seed: 34 },
    ],
  ]),
  ...inFile("src/engine/write/executor.ts", [
    [
      "Observe mode acts",
      'mode === "Enforce" || isCleanup === true ? undefined',
      "mode !== undefined || isCleanup === true ? undefined",
      { seed: 171, needs: /"Observe"|"what":"observe"/ },
    ],
  ]),
  ...inFile("src/cluster/write/writer.ts", [
    [
      "an eviction has no precondition",
      "deleteOptions: { preconditions: preconditionsOf(pod) },",
      "deleteOptions: {},",
      { seed: 1, needs: RECREATED },
    ],
    [
      "a patch has no precondition",
      "{ ...metadata, ...preconditionsOf(intent.target) }",
      "metadata",
      { seed: 88, needs: BINDINGS },
    ],
  ]),
  ...inFile("src/cluster/watch/watch.ts", [
    [
      "silence is no end",
      "const stall = (): void => round.abort(",
      "const stall = (): void => void (",
      { seed: 974, needs: /"what":"watches-silent"/ },
    ],
    [
      "deletions are missed",
      "this.#cache.put(view) : this.#cache.remove(view);",
      "this.#cache.put(view) : this.#cache.put(view);",
      { seed: 11 },
    ],
    [
      "no reconnection",
      "while (!this.#isStopped()) {",
      "for (let once = true; once && !this.#isStopped(); once = false) {",
      { seed: 89 },
    ],
  ]),
];
