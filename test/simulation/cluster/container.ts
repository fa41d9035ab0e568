import type { Answer, Asked, LeaseTerms, Program, ProgramContext, ProgramFactory, Truth } from "../programs/program";
import { leaseRequest, WORKS } from "../programs/program";
import { type Account, accountIdentity, type Identity } from "../server/access";
import type { Obj, Spec } from "../server/objects";
import { microTime } from "../../../src/core/time";
import type { Dice } from "../time";
import { type Ground, nowMs } from "./ground";
import { ContainerLog } from "./log-store";
import { rbacVersion } from "../server/rbac";
import { accountOf, type Tokens } from "./tokens";

/** What a container has of its node and of its pod. */
export interface Host {
  readonly ground: Ground;
  readonly tokens: Tokens;
  readonly pod: Obj;
  readonly dice: Dice;
  /** Reads the token file of the pod. */
  readonly tokenFile: () => string | undefined;
  /** The credential of the node's network plugin. */
  readonly cni: { credential: string | undefined };
  /** How far the clock of the node is ahead, in milliseconds. */
  readonly clockOffsetMs: () => number;
  /** The node has its network. */
  readonly isOnline: () => boolean;
  readonly onReady: (isReady: boolean) => void;
  readonly onExit: (code: number) => void;
}

/** One life of a container: runs a program, and knows the truth about it. */
export class ContainerLife {
  readonly log = new ContainerLog();
  readonly startedMs: number;
  readonly program: Program;
  #isOver = false;
  #renewals = 0;
  #access: { readonly version: number; readonly truth: Truth | undefined } | undefined;
  #server: number;
  readonly #owner: Account;
  readonly #identity: Identity;

  constructor(
    private readonly host: Host,
    make: ProgramFactory,
  ) {
    this.startedMs = this.#nodeMs();
    this.#owner = { namespace: host.pod.metadata.namespace ?? "", serviceAccount: accountOf(host.pod) };
    this.#identity = accountIdentity(this.#owner);
    this.program = make(this.#context());
    this.#server = host.dice.int(host.ground.servers.count);
    this.program.onStart();
  }

  truth(): Truth {
    return this.program.truth();
  }

  /** SIGTERM; returns how long the program takes to end, in milliseconds. */
  stop(): number {
    return this.program.onStop?.() ?? 1_000;
  }

  /** SIGKILL. */
  kill(): void {
    this.#isOver = true;
  }

  /** Someone else writes a record that looks like an own 401. */
  forgeLog(record: string): void {
    this.log.append(this.#nodeMs(), record);
    Object.assign(this.program, { logged401Ms: this.#nodeMs() });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  #context(): ProgramContext {
    const { host } = this;
    const { metadata } = host.pod;
    return {
      ...{ pod: metadata.name ?? "", namespace: metadata.namespace ?? "" },
      serviceAccount: accountOf(host.pod),
      dice: host.dice,
      nowMs: () => this.#nodeMs(),
      log: (...records) => records.forEach(record => this.log.append(this.#nodeMs(), record)),
      token: () => host.tokenFile(),
      ask: (token, asked, times) => this.#ask(token, asked, times),
      renew: (token, lease) => this.#renew(token, lease),
      objects: resource => host.ground.store.list(resource, metadata.namespace).filter(one => isOf(one, metadata)),
      writeStatus: (token, resource, name, status) => this.#writeStatus(token, resource, name, status),
      release: (token, lease) => this.#release(token, lease),
      writeCniCredential: token => void (host.cni.credential = token),
      after: (delayMs, callback) => this.#after(delayMs, callback),
      setReady: isReady => host.onReady(isReady),
      exit: code => this.#exit(code),
      judgeToken: token => host.tokens.judge(token),
      judgeAccess: asked => this.#judgeAccess(asked),
      judgeCniCredential: () => this.#judgeCni(),
    };
  }

  #after(delayMs: number, callback: () => void): void {
    this.host.ground.clock.after(delayMs, () => {
      if (!this.#isOver) callback();
    });
  }

  #exit(code: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.host.onExit(code);
  }

  #nodeMs(): number {
    return nowMs(this.host.ground) + this.host.clockOffsetMs();
  }

  /** With a count of 0 the request is counted elsewhere. */
  #ask(token: string | undefined, asked: Asked, count = 1): Answer {
    const { ground, isOnline } = this.host;
    const server = isOnline() ? this.#connect() : undefined;
    if (server === undefined) return 0;
    for (const fault of ground.programFaults) {
      const answer = fault(this.#owner, asked, server);
      if (answer !== undefined) return answer;
    }
    const code = this.#review(token, asked, server);
    const answer = count === 0 ? code : ground.servers.request(this.#owner, asked, { server, code, count });
    return code === 200 ? answer : code;
  }

  /** Authenticates and authorizes a request. */
  #review(token: string | undefined, asked: Asked, server: number): Answer {
    if (!this.host.tokens.isAccepted(token, server)) return 401;
    return this.#isAllowed(asked) ? 200 : 403;
  }

  #isAllowed(asked: Asked): boolean {
    return this.host.ground.access.authorize(this.#identity, asked);
  }

  /** A connection stays at its server as long as that is there. */
  #connect(): number | undefined {
    const { servers } = this.host.ground;
    for (let tries = 0; tries < servers.count; tries++) {
      const server = (this.#server + tries) % servers.count;
      if (servers.isDown(server)) continue;
      return (this.#server = server);
    }
    return undefined;
  }

  #renew(token: string | undefined, lease: LeaseTerms): Answer {
    const { ground, pod } = this.host;
    // Renewals are counted in fives, for the sake of speed.
    const answer = this.#ask(token, leaseRequest(lease), this.#renewals++ % 5 === 0 ? 5 : 0);
    if (answer !== 200) return answer;
    const now = nowMs(ground);
    const holderIdentity = `${pod.metadata.name}_${pod.metadata.uid}`;
    const before = ground.store.get("leases", lease.namespace, lease.name);
    if (before === undefined && ground.store.get("namespaces", undefined, lease.namespace) === undefined) return 404;
    const next = nextTerm(before?.spec, holderIdentity, { lease, now });
    if (next === undefined) return 409;
    writeLease(ground, lease, next, before !== undefined);
    return 200;
  }

  #writeStatus(token: string | undefined, resource: string, name: string, status: object): Answer {
    const { store } = this.host.ground;
    const { namespace, labels } = this.host.pod.metadata;
    const { group, kind } = store.info(resource);
    const asked = { verb: "update", group, resource: `${resource}/status`, kind, namespace: namespace ?? "", name };
    const answer = this.#ask(token, asked);
    if (answer !== 200) return answer;
    if (store.get(resource, namespace, name) === undefined) return 404;
    const by = { manager: labels?.["app"] ?? "manager", subresource: "status" };
    store.as(by, () => store.set(resource, namespace, name, { status }));
    return answer;
  }

  #release(token: string | undefined, lease: LeaseTerms): void {
    const { ground, pod } = this.host;
    const before = ground.store.get("leases", lease.namespace, lease.name);
    const holder = `${pod.metadata.name}_${pod.metadata.uid}`;
    if (before?.spec?.holderIdentity !== holder) return;
    if (this.#ask(token, leaseRequest(lease)) !== 200) return;
    ground.store.update("leases", lease.namespace, lease.name, draft => void (draft.spec!.holderIdentity = ""));
  }

  #judgeAccess(asked: readonly Asked[]): Truth | undefined {
    const { ground } = this.host;
    const version = rbacVersion(ground.store, this.#owner.namespace);
    if (this.#access?.version === version) return this.#access.truth;
    const truth = asked.every(one => this.#isAllowed(one)) ? undefined : WITHOUT_ACCESS;
    this.#access = { version, truth };
    return truth;
  }

  #judgeCni(): Truth {
    const truth = this.host.tokens.judge(this.host.cni.credential);
    // The agent's own token was forgotten with the pod that wrote the credential.
    const healedByRestart = truth.healedByRestart || truth.cause === "no-token";
    return truth === WORKS ? WORKS : { state: "credential-dead", cause: "cni-credential", healedByRestart };
  }
}

const WITHOUT_ACCESS: Truth = { state: "access-gone", cause: "binding-gone", healedByRestart: false };

/** An object is for the program of this pod. */
function isOf({ metadata }: Obj, { labels }: Obj["metadata"]): boolean {
  return metadata.labels?.["app"] === labels?.["app"];
}

type Term = Partial<Spec>;

/** Returns what the holder writes; undefined while another one holds the Lease. */
function nextTerm(
  before: Term | undefined,
  holderIdentity: string,
  { lease, now }: { readonly lease: LeaseTerms; readonly now: number },
): Term | undefined {
  const renewTime = microTime(now);
  const leaseDurationSeconds = lease.seconds;
  const { leaseTransitions = 0 } = before ?? {};
  if (before?.holderIdentity === holderIdentity) return { ...before, leaseDurationSeconds, renewTime };
  const isFree = before === undefined || (before.holderIdentity ?? "") === "" || isStale(before, now);
  if (!isFree) return undefined;
  const transitions = before === undefined ? 0 : leaseTransitions + 1;
  return { holderIdentity, leaseDurationSeconds, acquireTime: renewTime, renewTime, leaseTransitions: transitions };
}

function isStale({ renewTime, leaseDurationSeconds = 15 }: Term, now: number): boolean {
  return renewTime === undefined || Date.parse(renewTime) + leaseDurationSeconds * 1_000 < now;
}

function writeLease({ store }: Ground, { namespace, name }: LeaseTerms, spec: Term, isThere: boolean): void {
  if (isThere) store.set("leases", namespace, name, { spec });
  else store.create("leases", { metadata: { namespace, name }, spec });
}
