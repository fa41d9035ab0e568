import type { Answer, Asked, LeaseTerms, Program, ProgramContext, Truth } from "./program";
import { leaseRequest, WORKS } from "./program";
import type { Moment, Wording } from "./wordings";

/** How a simulated controller behaves. */
export interface ControllerOptions {
  /** As its records name it. */
  readonly name: string;
  readonly wording: Wording;
  /** How long it uses what it read from the token file; Infinity: as long as it lives. */
  readonly rereadsMs?: number;
  /** What it lists and watches; the first one is also what it writes. */
  readonly watches: readonly Asked[];
  readonly lease?: LeaseTerms;
  /** Time between two rounds of its work, in milliseconds. */
  readonly worksEveryMs?: number;
  /** Requests per round. */
  readonly requests?: number;
  /** After so long it asks as others do. */
  readonly calmsAfterMs?: number;
  /** It writes nothing to its log. */
  readonly isSilent?: boolean;
  /** It ends when its first list fails, and when it loses its Lease. */
  readonly exitsOnFailure?: boolean;
  /** It is Ready from its start on, after a list that went well, or as long as its lists go well. */
  readonly readiness?: "start" | "first-list" | "lists";
  readonly hangs?: { readonly afterMs: number; readonly cause: "hangs" | "hangs-again" };
  /** It stops for longer than its Lease lasts, again and again. */
  readonly pausesEveryMs?: number;
  /** It ignores SIGTERM. */
  readonly ignoresTerm?: boolean;
}

const MINUTE = 60_000;

/** client-go reads the token file again after a minute; so do fabric8 and kube-rs. */
const REREADS_MS = MINUTE;

/** The backoff of a reflector, in milliseconds. */
const FIRST_RETRY_MS = 800;
const LONGEST_RETRY_MS = 30_000;

/** Lists that fail in a row before a program that says so is not Ready. */
const UNREADY_AFTER = 3;

/** A controller with watches, a round of work and, if it has one, a Lease. */
export class Controller implements Program {
  logged401Ms: number | undefined;
  /** Its watch stays open, and says nothing more. */
  isDeaf = false;
  /** What it asked last was refused, so its log has told it. */
  isRefused = false;
  #token: string | undefined;
  #readMs = -Infinity;
  #failures = 0;
  #isHung = false;
  #startedMs = 0;
  #pausedUntilMs = -Infinity;
  #isLeader = false;
  #renewedMs = -Infinity;
  #lostLeases = 0;
  #rounds = 0;
  #hasListed = false;
  /** What its account must be allowed. */
  readonly #needs: readonly Asked[];
  readonly #update: Asked;

  constructor(
    private readonly context: ProgramContext,
    private readonly options: ControllerOptions,
  ) {
    const { lease, watches } = options;
    this.#needs = lease === undefined ? watches : [...watches, leaseRequest(lease)];
    this.#update = { ...watches[0]!, verb: "update" };
  }

  onStart(): void {
    const { context, options } = this;
    this.#startedMs = context.nowMs();
    if ((options.readiness ?? "start") === "start") context.setReady(true);
    if (options.hangs !== undefined)
      context.after(options.hangs.afterMs * context.dice.between(0.8, 1.2), () => (this.#isHung = true));
    if (options.pausesEveryMs !== undefined) this.#pauseSoon(options.pausesEveryMs);
    context.after(context.dice.between(100, 2_000), () => this.#list());
    if (options.lease !== undefined) this.#elect(options.lease);
    const everyMs = options.worksEveryMs ?? 30_000;
    context.after(everyMs * context.dice.next(), () => this.#work(everyMs));
  }

  onStop(): number {
    if (this.#isHung || this.options.ignoresTerm === true) return Infinity;
    const { lease } = this.options;
    if (lease !== undefined && this.#isLeader) this.context.release(this.#current(), lease);
    return 1_000;
  }

  truth(): Truth {
    const refused = this.#refused();
    const { hangs } = this.options;
    if (!this.#isHung || hangs === undefined) return refused ?? this.#ownTrouble() ?? WORKS;
    // A process that does nothing is not refused anything; its successor may be.
    const healedByRestart = hangs.cause === "hangs" && (refused?.healedByRestart ?? true);
    return { state: "hangs", cause: hangs.cause, healedByRestart };
  }

  #refused(): Truth | undefined {
    const truth = this.context.judgeToken(this.#current());
    return truth === WORKS ? this.context.judgeAccess(this.#needs) : truth;
  }

  #ownTrouble(): Truth | undefined {
    if (this.#requests >= 100) return { state: "floods", cause: "floods", healedByRestart: false };
    if (this.options.pausesEveryMs !== undefined && this.#lostLeases > 0)
      return { state: "loses-lease", cause: "loses-lease", healedByRestart: false };
    return undefined;
  }

  /** It does the work: it has no Lease, or holds it. */
  get leads(): boolean {
    return !this.#stands && (this.options.lease === undefined || this.#isLeader);
  }

  /** Its watch tells it what changes. */
  get hears(): boolean {
    return this.#hasListed && this.#failures === 0 && !this.isDeaf;
  }

  /** The token that its next request has. */
  get token(): string | undefined {
    return this.#current();
  }

  #current(): string | undefined {
    const nowMs = this.context.nowMs();
    if (nowMs - this.#readMs < (this.options.rereadsMs ?? REREADS_MS)) return this.#token;
    this.#readMs = nowMs;
    return (this.#token = this.context.token());
  }

  get #stands(): boolean {
    return this.#isHung || this.context.nowMs() < this.#pausedUntilMs;
  }

  get #requests(): number {
    const { requests = 1, calmsAfterMs = Infinity } = this.options;
    return this.context.nowMs() - this.#startedMs < calmsAfterMs ? requests : 1;
  }

  /** Lists, then watches for some minutes. An open watch is not authenticated again. */
  #list(): void {
    const { context } = this;
    if (this.#stands || this.isDeaf) {
      context.after(1_000, () => this.#list());
      return;
    }
    const asked = context.dice.pick(this.options.watches);
    const answer = context.ask(this.#current(), asked);
    this.#report(answer, asked);
    if (answer === 200) {
      this.#failures = 0;
      this.#hasListed = true;
      context.setReady(true);
      context.after(context.dice.between(5, 10) * MINUTE, () => this.#list());
      return;
    }
    if (this.options.exitsOnFailure === true && this.#rounds === 0) {
      context.exit(1);
      return;
    }
    if (this.options.readiness === "lists" && this.#failures === UNREADY_AFTER) context.setReady(false);
    const waitMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#failures++);
    context.after(waitMs * context.dice.between(1, 2), () => this.#list());
  }

  #work(everyMs: number): void {
    const { context } = this;
    context.after(everyMs * context.dice.between(0.8, 1.2), () => this.#work(everyMs));
    const waitsForLease = this.options.lease !== undefined && !this.#isLeader;
    if (this.#stands || waitsForLease || this.#failures > 0) return;
    const asked = this.#update;
    const answer = context.ask(this.#current(), asked, this.#requests);
    if (answer !== 200) {
      this.#report(answer, asked);
      return;
    }
    this.#rounds++;
    this.#log(this.options.wording.progress(context.dice.int(500) + 1, this.#moment()));
  }

  #elect(lease: LeaseTerms): void {
    const { context } = this;
    // Those who wait look half as often, for the sake of speed, unless it is seldom anyway.
    const everyMs = lease.everySeconds * (this.#isLeader || lease.everySeconds > 60 ? 1_000 : 2_000);
    context.after(everyMs * context.dice.between(1, 1.2), () => this.#elect(lease));
    if (this.#stands) return;
    const answer = context.renew(this.#current(), lease);
    if (answer === 401 || answer === 403) this.#reportLease(answer, `${lease.namespace}/${lease.name}`);
    this.#follow(answer, lease);
  }

  #follow(answer: Answer, lease: LeaseTerms): void {
    const { context } = this;
    const nowMs = context.nowMs();
    const deadlineMs = 1_000 * Math.max((lease.seconds * 2) / 3, lease.everySeconds * 1.3);
    const isLate = this.#isLeader && nowMs - this.#renewedMs > deadlineMs;
    if (answer === 200) this.#renewedMs = nowMs;
    if (!isLate) return void (this.#isLeader = answer === 200 || (this.#isLeader && answer !== 409));
    this.#isLeader = false;
    this.#lostLeases++;
    this.#log(this.options.wording.leaseLost(`${lease.namespace}/${lease.name}`, this.#moment()));
    if (this.options.exitsOnFailure === true) context.exit(1);
  }

  #pauseSoon(everyMs: number): void {
    const { context } = this;
    context.after(everyMs * context.dice.between(0.8, 1.2), () => {
      this.#pausedUntilMs = context.nowMs() + (this.options.lease?.seconds ?? 15) * 1_500;
      this.#pauseSoon(everyMs);
    });
  }

  #report(answer: Answer, asked: Asked): void {
    const { wording } = this.options;
    const at = this.#moment();
    this.isRefused = answer === 401 || answer === 403;
    if (answer === 200) return;
    if (answer === 401) {
      this.#log401(wording.unauthorized(asked, at));
      return;
    }
    if (answer === 403) {
      this.#log(wording.forbidden(asked, at));
      return;
    }
    this.#log(answer === 429 ? wording.throttled(asked, at) : wording.unavailable(asked, at));
  }

  #reportLease(answer: 401 | 403, lease: string): void {
    const record = this.options.wording.lease(answer, lease, this.#moment());
    if (answer === 401) this.#log401(record);
    else this.#log(record);
  }

  #log401(record: string): void {
    if (this.options.isSilent !== true) this.logged401Ms = this.context.nowMs();
    this.#log(record);
  }

  #log(record: string): void {
    if (this.options.isSilent !== true) this.context.log(record);
  }

  #moment(): Moment {
    const { namespace, serviceAccount } = this.context;
    return { ms: this.context.nowMs(), namespace, serviceAccount, program: this.options.name };
  }
}
