// Ways to break the operator, each small, each of which some seed of the simulation must find.

/** Replaces a text that stands once in a file. */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** What the plan of a world must have, as JSON, to find it: other worlds are left out. */
  readonly needs?: RegExp;
}

/** @throws Error if the text is not there exactly once: the source has changed */
export function mutated({ name, file, from, to }: Mutation, source: string): string {
  const parts = source.split(from);
  if (parts.length !== 2)
    throw new Error(`${name}: expected its text once in ${file}, got it ${parts.length - 1} times`);
  return parts.join(to);
}

const BUDGETS = "src/core/restarts.ts";
const RESTARTS = "src/engine/restarts/restarts.ts";
const BREAKER = "src/engine/restarts/breaker.ts";
const ROLLOUTS = "src/engine/restarts/rollouts.ts";
const PACER = "src/engine/restarts/restart-pacer.ts";
const ELECTION = "src/engine/lead/leader-election.ts";
const EXECUTOR = "src/engine/write/executor.ts";
const RECONCILE = "src/engine/pass/reconcile.ts";
const WATCH = "src/cluster/watch/watch.ts";
const STREAM = "src/cluster/watch/stream.ts";

/** All of them. */
export const MUTATIONS: readonly Mutation[] = [
  // Budgets and outcomes of restarts.
  { name: "no cooldown", file: BUDGETS, from: "if (sinceLast < cooldownMs) return", to: "if (sinceLast < 0) return" },
  {
    name: "no maxRestarts",
    file: BUDGETS,
    from: "if (incidents.size < claim.limits.maxRestarts)",
    to: "if (incidents.size < 1_000)",
  },
  {
    name: "cooldowns do not double",
    file: BUDGETS,
    from: "claim.limits.cooldownMs * 2 ** Math.min(MAX_DOUBLINGS, failures)",
    to: "claim.limits.cooldownMs * 2 ** Math.min(0, failures)",
  },
  {
    name: "open restarts do not wait for each other",
    file: BUDGETS,
    from: "open.length < (claim.maxOpen ?? 1)",
    to: "open.length < 100",
  },
  {
    name: "a request in flight is forgotten",
    file: BUDGETS,
    from: "Date.parse(entry.time) < IN_FLIGHT_MS ? entry : undefined",
    to: "Date.parse(entry.time) < 0 ? entry : undefined",
  },
  {
    name: "in vain is helped",
    file: BUDGETS,
    from: 'entry.outcome !== "Ineffective");',
    to: 'entry.outcome === "Ineffective");',
  },
  {
    name: "a restart is not recorded before it is requested",
    file: RESTARTS,
    from: "await this.#session.writeStatus(boundStatus({ ...this.#session.object.status, restarts }, now));",
    to: "",
  },
  {
    name: "the history of a recreated object is forgotten",
    file: RESTARTS,
    from: "if (isNew) return {",
    to: "if (isNew && own.length > 0) return {",
  },
  { name: "no warm-up of a new leader", file: RESTARTS, from: "|| warmup.isComplete()", to: "|| true" },
  {
    name: "a lost answer costs nothing",
    file: RESTARTS,
    from: 'if (end !== "Refused") return;',
    to: 'if (end !== "Unknown" && end !== "Refused") return;',
  },
  // The breaker.
  { name: "no breaker", file: BREAKER, from: "if (this.#ports.breaker.state === null) this.#tripIfNeeded();", to: "" },
  {
    name: "the breaker holds nothing",
    file: BREAKER,
    from: "breaker.state === null ? undefined :",
    to: "true ? undefined :",
  },
  {
    name: "many unproven restarts are open",
    file: BREAKER,
    from: "return open && limited(",
    to: "return open && undefined && limited(",
  },
  {
    name: "own trouble is no reason to wait",
    file: BREAKER,
    from: "if (sinceMs >= OWN_TROUBLE_MS)",
    to: "if (sinceMs >= 0)",
  },
  {
    name: "every restart is proven",
    file: BUDGETS,
    from: "return cause === Cause.Unknown || cause === Cause.LeaseNotRenewed;",
    to: "return cause === Cause.LeaseNotRenewed;",
  },
  // Pace and rollouts.
  { name: "no pace", file: PACER, from: "if (waitMs > 0) return {", to: "if (waitMs > 1e9) return {" },
  {
    name: "two permits at a time",
    file: PACER,
    from: "if (this.#permitOut) return {",
    to: "if (this.#permitOut && waitMs > 1e9) return {",
  },
  {
    name: "two rollouts at a time",
    file: ROLLOUTS,
    from: "if (other === undefined) return undefined;",
    to: "return undefined;",
  },
  // The lead.
  {
    name: "the lead never ends",
    file: ELECTION,
    from: "this.#ports.clock.monotonicMs() < this.#leadingUntilMs;",
    to: "true;",
  },
  {
    name: "a Lease is taken at once",
    file: ELECTION,
    from: "unchangedMs >= expiresAfterMs(found, this.#timing.leaseDurationMs);",
    to: "unchangedMs >= 0;",
  },
  {
    name: "the deadline counts from the answer",
    file: ELECTION,
    from: "const untilMs = startedMs + this.#timing.renewDeadlineMs;",
    to: "const untilMs = clock.monotonicMs() + 10 * this.#timing.renewDeadlineMs;",
  },
  {
    name: "the creator of a Lease leads at once",
    file: ELECTION,
    from: "return this.#created === undefined || startedMs",
    to: "return true || startedMs",
  },
  {
    name: "no attempt after a failure",
    file: ELECTION,
    from: "if (this.#running) this.#scheduleAttempt(",
    to: "if (this.#running && this.#failures === 0) this.#scheduleAttempt(",
  },
  // Writes.
  {
    name: "everybody writes",
    file: EXECUTOR,
    from: '(mayWrite() ? undefined : { result: "NotLeader" }),',
    to: "(mayWrite() ? undefined : undefined),",
  },
  {
    name: "no uid is needed",
    file: EXECUTOR,
    from: "if (target.uid !== undefined ||",
    to: "if (target.uid !== 'x' ||",
  },
  {
    name: "a suspended object acts",
    file: RECONCILE,
    from: "object.spec.suspend\n          ? withReport",
    to: "false\n          ? withReport",
  },
  {
    name: "a late leader writes status",
    file: RECONCILE,
    from: 'if (!pass.mayWrite()) return { next: "recheck" };\n    await pass.session.writeStatus(status);',
    to: "await pass.session.writeStatus(status);",
  },
  // Watches.
  {
    name: "silence is no end",
    file: STREAM,
    from: "if (leftMs <= 0) this.#onSilence();",
    to: "if (leftMs <= -1e9) this.#onSilence();",
  },
  {
    name: "410 does not list again",
    file: STREAM,
    from: 'relist: reason === "expired" || reason',
    to: "relist: reason",
  },
  { name: "deletions are missed", file: WATCH, from: "this.#cache.remove(view);", to: "this.#cache.put(view);" },
  {
    name: "a stale cache is read",
    file: WATCH,
    from: "if (trouble === null) return;",
    to: "if (trouble !== undefined) return;",
  },
  {
    name: "no reconnection",
    file: WATCH,
    from: "while (!this.#isStopped()) {",
    to: "for (let once = true; once && !this.#isStopped(); once = false) {",
  },
];
