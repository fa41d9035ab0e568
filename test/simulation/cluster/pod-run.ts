import type { Truth } from "../programs/program";
import type { Container, Obj } from "../server/objects";
import type { Dice } from "../time";
import { ContainerLife } from "./container";
import { tell } from "./events";
import { type Ground, nowMs, setCondition } from "./ground";
import type { ContainerLog } from "./log-store";
import { TOKEN_FOLDER } from "./pods";
import { accountOf, type Tokens } from "./tokens";

/** The node that a pod runs on. */
export interface Machine {
  readonly name: string;
  readonly cni: { credential: string | undefined };
  clockOffsetMs: number;
  /** The kubelet runs, and it and its pods reach the API servers. */
  isUp: boolean;
}

/** What a pod needs of its kubelet. */
export interface PodHost {
  readonly ground: Ground;
  readonly tokens: Tokens;
  readonly machine: Machine;
  readonly dice: Dice;
}

/** What is true of one container. */
export interface ContainerTruth extends Truth {
  readonly container: string;
  /** When it last wrote to its log that its own request was answered 401, since 1970. */
  readonly logged401Ms: number | undefined;
  /** Every API server refuses the token in its file, whether it uses it or not. */
  readonly isTokenDead: boolean;
}

/** A container of the pod, over its lives. */
interface Slot {
  readonly spec: Container;
  /** The volume with its token. */
  readonly home: string | undefined;
  life: ContainerLife | undefined;
  previous:
    | { readonly log: ContainerLog; readonly startedAt: string; readonly finishedAt: string; readonly exitCode: number }
    | undefined;
  restarts: number;
  isReady: boolean;
  /** When an earlier life last logged its own 401. */
  logged401Ms: number | undefined;
  /** Why it does not run. */
  waiting: string;
}

/** A crashed container starts again after this long at first, and at the latest, in milliseconds. */
const FIRST_BACKOFF_MS = 10_000;
const LONGEST_BACKOFF_MS = 300_000;

/** The kubelet renews a token late by this much at most: with the minute of a client, a token of ten minutes still lives. In milliseconds. */
const LATE_MS = 50_000;

/** The kubelet writes a status at most every so often, in milliseconds. */
const STATUS_MS = 500;

/** One pod on its node: starts and restarts its containers, renews its tokens, and reports their state. */
export class PodRun {
  readonly slots: readonly Slot[];
  readonly #files = new Map<string, string>();
  #isOver = false;
  #isStopping = false;
  #isSandboxed = false;
  #volumesSince: string | undefined;
  #isReporting = false;
  #sandboxTries = 0;
  #lastTruths: readonly ContainerTruth[] | undefined;
  readonly #address: string;

  constructor(
    private readonly host: PodHost,
    readonly pod: Obj,
  ) {
    const { containers = [] } = pod.spec!;
    this.#address = `10.244.${host.ground.addresses >> 8}.${host.ground.addresses++ & 255}`;
    const volumes = this.#projected().map(({ name }) => name);
    this.slots = containers.map(spec => ({
      ...{ spec, home: homeOf(spec, volumes), life: undefined, previous: undefined },
      ...{ restarts: 0, isReady: false, logged401Ms: undefined, waiting: "ContainerCreating" },
    }));
    this.#after(host.dice.between(300, 1_500), () => this.#begin());
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Its kubelet answers. */
  get isReachable(): boolean {
    return this.host.machine.isUp;
  }

  /** The truth of each container with a program. */
  truths(): readonly ContainerTruth[] {
    return this.#lastTruths ?? this.#truths();
  }

  #truths(): readonly ContainerTruth[] {
    return this.slots.map(({ spec, home, life, logged401Ms: before }) => {
      const { state, cause, healedByRestart } = truthOf(life);
      const logged401Ms = life?.program.logged401Ms ?? before;
      return { container: spec.name, state, cause, healedByRestart, logged401Ms, isTokenDead: this.#isTokenDead(home) };
    });
  }

  /** What it answers on its port of metrics; undefined: nothing listens there. */
  page(): string | undefined {
    const life = this.slots.map(one => one.life).find(one => one?.program.page !== undefined);
    return life === undefined || life.isOver ? undefined : life.program.page!();
  }

  logOf(container: string, previous: boolean): ContainerLog | undefined {
    const slot = this.slots.find(({ spec }) => spec.name === container);
    return previous ? slot?.previous?.log : slot?.life?.log;
  }

  /** The pod has a deletionTimestamp: stops it within its grace period, then removes it. */
  stop(graceSeconds: number): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#lastTruths = this.#truths().map(one => ({ ...one, state: "terminating", cause: "terminating" }));
    const needed = this.slots.map(({ life }) => (life === undefined || life.isOver ? 0 : life.stop()));
    const graceMs = graceSeconds * 1_000;
    const takesMs = Math.min(graceMs, Math.max(0, ...needed) + this.host.dice.between(200, 1_500));
    this.host.ground.clock.after(takesMs, () => this.#remove());
  }

  /** Nothing of it runs any more. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const { life } of this.slots) life?.kill();
    this.host.tokens.forget(this.pod.metadata.uid);
  }

  /** The kubelet is back: says what it knows. */
  resume(): void {
    this.#report();
    if (this.#isStopping) this.#remove();
  }

  #remove(): void {
    if (!this.host.machine.isUp) return;
    this.end();
    const { store } = this.host.ground;
    const { namespace, name, uid } = this.pod.metadata;
    if (store.get("pods", namespace, name)?.metadata.uid !== uid) return;
    store.delete("pods", namespace, name, { graceSeconds: 0 });
  }

  #after(delayMs: number, callback: () => void): void {
    this.host.ground.clock.after(delayMs, () => {
      if (this.#isOver || this.#isStopping) return;
      if (this.host.machine.isUp) callback();
      else this.#after(10_000, callback);
    });
  }

  /** Volumes, sandbox, images, containers. */
  #begin(): void {
    if (!this.#mount()) {
      this.#after(this.host.dice.between(5_000, 20_000), () => this.#begin());
      return;
    }
    this.#makeSandbox();
  }

  #mount(): boolean {
    for (const { name, seconds } of this.#projected()) {
      if (this.#files.has(name)) continue;
      const token = this.host.tokens.issue(this.pod, seconds);
      if (token === undefined) {
        this.#tell(
          "FailedMount",
          `MountVolume.SetUp failed for volume "${name}" : failed to fetch token: serviceaccounts "${accountOf(this.pod)}" not found`,
        );
        return false;
      }
      this.#files.set(name, token);
      this.#renewSoon(name, seconds);
    }
    return true;
  }

  #projected(): readonly { readonly name: string; readonly seconds: number | undefined }[] {
    const { volumes = [] } = this.pod.spec!;
    return volumes.flatMap(({ name, projected }) => {
      const source = projected?.sources?.find(
        ({ serviceAccountToken: token }) => token && (token.audience ?? "") === "",
      );
      return source === undefined ? [] : [{ name, seconds: source.serviceAccountToken?.expirationSeconds }];
    });
  }

  /** At 80 % of its life, with the next round of the kubelet. */
  #renewSoon(name: string, seconds = 3_607): void {
    const dueMs = Math.min(seconds * 0.8, 24 * 3_600) * 1_000 + this.host.dice.between(0, LATE_MS);
    this.#after(dueMs, () => this.#renew(name, seconds));
  }

  #renew(name: string, seconds: number): void {
    const { servers } = this.host.ground;
    const isAlone = Array.from({ length: servers.count }, (_, at) => servers.isDown(at)).every(isDown => isDown);
    const token = isAlone ? undefined : this.host.tokens.issue(this.pod, seconds);
    if (token === undefined) {
      this.#after(this.host.dice.between(60_000, 120_000), () => this.#renew(name, seconds));
      return;
    }
    this.#files.set(name, token);
    this.#renewSoon(name, seconds);
  }

  #makeSandbox(): void {
    const isHostNetwork = this.pod.spec!.hostNetwork === true;
    const { cni, clockOffsetMs } = this.host.machine;
    if (!isHostNetwork && cni.credential !== undefined && !this.#isAccepted(cni.credential)) {
      this.#tell("FailedCreatePodSandBox", this.#sandboxMessage());
      this.#after(this.host.dice.between(10_000, 15_000), () => this.#makeSandbox());
      return;
    }
    this.#isSandboxed = true;
    this.#volumesSince = new Date(nowMs(this.host.ground) + clockOffsetMs).toISOString().replace(/\.\d+/, "");
    this.#report();
    for (const slot of this.slots) this.#after(this.host.dice.between(500, 4_000), () => this.#start(slot));
  }

  #isAccepted(credential: string): boolean {
    const { tokens, ground, dice } = this.host;
    const up = Array.from({ length: ground.servers.count }, (_, at) => at).filter(at => !ground.servers.isDown(at));
    return up.length === 0 || tokens.isAccepted(credential, dice.pick(up));
  }

  #sandboxMessage(): string {
    const { namespace = "", name, uid } = this.pod.metadata;
    const id = `${uid.replaceAll("-", "")}${String(this.#sandboxTries++ % 10)}`;
    return `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "${id}": plugin type="multus" name="multus-cni-network" failed (add): Multus: [${namespace}/${name}/${uid}]: error getting pod: Unauthorized`;
  }

  #start(slot: Slot): void {
    const { ground, tokens, machine, dice } = this.host;
    const make = ground.images.get(slot.spec.image ?? "");
    if (make === undefined) {
      this.#awaitImage(slot);
      return;
    }
    slot.waiting = "";
    slot.isReady = false;
    const { namespace = "", name } = this.pod.metadata;
    const luck = dice.fork(`${namespace}/${name}/${slot.spec.name}/${slot.restarts}`);
    slot.life = new ContainerLife(
      {
        ...{ ground, tokens, pod: this.pod, dice: luck, cni: machine.cni },
        tokenFile: () => this.#tokenIn(slot.home),
        clockOffsetMs: () => machine.clockOffsetMs,
        isOnline: () => machine.isUp,
        onReady: isReady => this.#setReady(slot, isReady),
        onExit: code => this.#crashed(slot, code),
      },
      make,
    );
    this.#report();
  }

  #awaitImage(slot: Slot): void {
    slot.waiting = "ImagePullBackOff";
    this.#report();
    this.#after(this.host.dice.between(20_000, 60_000), () => this.#start(slot));
  }

  #isTokenDead(home: string | undefined): boolean {
    const token = this.#tokenIn(home);
    return token !== undefined && this.host.tokens.judge(token).state === "token-dead";
  }

  #tokenIn(home: string | undefined): string | undefined {
    return home === undefined ? undefined : this.#files.get(home);
  }

  /** Readiness is probed every few seconds. */
  #setReady(slot: Slot, isReady: boolean): void {
    if (slot.isReady === isReady) return;
    this.#after(this.host.dice.between(500, 5_000), () => {
      if (slot.life?.isOver !== false) return;
      slot.isReady = isReady;
      this.#report();
    });
  }

  #crashed(slot: Slot, exitCode: number): void {
    const { life } = slot;
    if (life === undefined) return;
    const now = this.host.ground.store.time();
    const startedAt = new Date(life.startedMs).toISOString().replace(/\.\d+/, "");
    slot.logged401Ms = life.program.logged401Ms ?? slot.logged401Ms;
    slot.previous = { log: life.log, startedAt, finishedAt: now, exitCode };
    slot.isReady = false;
    slot.waiting = "CrashLoopBackOff";
    const ranMs = nowMs(this.host.ground) - life.startedMs;
    // After ten minutes without a crash the backoff starts again.
    const backoffMs =
      slot.restarts === 0 || ranMs > 2 * LONGEST_BACKOFF_MS
        ? 1_000
        : Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (slot.restarts - 1));
    this.#report();
    this.#after(backoffMs, () => {
      slot.restarts++;
      this.#start(slot);
    });
  }

  #tell(reason: string, message: string): void {
    const { ground, machine } = this.host;
    tell(ground, { object: this.pod, reason, message, component: "kubelet", host: machine.name });
  }

  /** Writes the status soon, all changes of that time together. */
  #report(): void {
    if (this.#isReporting) return;
    this.#isReporting = true;
    this.host.ground.clock.after(this.host.dice.between(50, STATUS_MS), () => {
      this.#isReporting = false;
      if (!this.#isOver && this.host.machine.isUp) this.#writeStatus();
    });
  }

  #writeStatus(): void {
    const { store } = this.host.ground;
    const { namespace, name, uid } = this.pod.metadata;
    if (store.get("pods", namespace, name)?.metadata.uid !== uid) return;
    store.update("pods", namespace, name, draft => this.#fill(draft));
  }

  #fill(draft: Obj): void {
    const now = new Date(nowMs(this.host.ground) + this.host.machine.clockOffsetMs).toISOString().replace(/\.\d+/, "");
    const isRunning = this.slots.some(({ life }) => life !== undefined);
    const isAllReady = this.slots.every(({ isReady }) => isReady) && !this.#isStopping;
    const status = (draft.status ??= {});
    status.phase = isRunning ? "Running" : "Pending";
    status["startTime"] ??= now;
    status["hostIP"] = "192.0.2.10";
    if (this.slots.some(({ spec }) => spec.ports !== undefined)) status.podIP = this.#address;
    const condition = (type: string, isTrue: boolean, at = now): void =>
      setCondition(
        draft,
        { type, status: isTrue ? "True" : "False", ...(isTrue ? {} : { reason: "ContainersNotReady" }) },
        at,
      );
    condition("PodReadyToStartContainers", this.#isSandboxed, this.#volumesSince);
    // Of a pod that a backup brought back it was True before, of another sandbox.
    const sandboxed = status.conditions!.find(({ type }) => type === "PodReadyToStartContainers");
    Object.assign(sandboxed!, this.#volumesSince !== undefined && { lastTransitionTime: this.#volumesSince });
    condition("Initialized", true);
    condition("ContainersReady", isAllReady);
    condition("Ready", isAllReady);
    status["containerStatuses"] = this.slots.map(slot => statusOf(slot));
  }
}

function homeOf({ volumeMounts = [] }: Container, volumes: readonly string[]): string | undefined {
  const mounted = volumeMounts.filter(({ name }) => volumes.includes(name));
  return (mounted.find(({ mountPath }) => mountPath === TOKEN_FOLDER) ?? mounted[0])?.name;
}

const STARTING: Truth = { state: "starting", cause: "starting", healedByRestart: false };

/** A container between two lives does not work, but what kept its last life from working may keep the next one, too. */
function truthOf(life: ContainerLife | undefined): Truth {
  const truth = life?.truth() ?? STARTING;
  return life?.isOver === true && truth.state === "works" ? STARTING : truth;
}

function statusOf({ spec, life, previous, restarts, isReady, waiting }: Slot): object {
  const startedAt = life && new Date(life.startedMs).toISOString().replace(/\.\d+/, "");
  const isRunning = life !== undefined && !life.isOver;
  const ended = previous && {
    terminated: {
      ...{ exitCode: previous.exitCode, reason: previous.exitCode === 0 ? "Completed" : "Error" },
      ...{ startedAt: previous.startedAt, finishedAt: previous.finishedAt },
    },
  };
  return {
    ...{ name: spec.name, image: spec.image, imageID: "", ready: isReady, restartCount: restarts, started: isRunning },
    state: isRunning ? { running: { startedAt } } : { waiting: { reason: waiting } },
    lastState: ended ?? {},
  };
}
