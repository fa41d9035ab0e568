import type { CauseName } from "../programs/causes";
import { type Truth, WORKS } from "../programs/program";
import { type Account, LEEWAY_MS, REMEMBERS_MS } from "../server/access";
import type { Obj } from "../server/objects";
import { type Ground, nowMs } from "./ground";
import { DEFAULT_TOKEN_SECONDS } from "./pods";

/** A token that a kubelet got, as the world knows it. */
interface Issued {
  readonly owner: Account;
  readonly accountUid: string;
  /** When the servers no longer accept it, if nothing else happens. */
  readonly expiresMs: number;
  /** By server: until when it remembers that it accepted it, and with which keys. */
  readonly remembered: { readonly untilMs: number; readonly keys: number }[];
  known: Known;
}

/** What was found out about a token. It holds until something changes, or the token expires: programs and the checker ask often. */
interface Known {
  readonly epoch: number;
  /** Version of the ServiceAccounts of its namespace. */
  readonly accounts: number;
  /** By server. */
  readonly accepted: (boolean | undefined)[];
  state?: Truth;
  untilMs: number;
}

/** A year: what the API server makes of the default. */
const EXTENDED_SECONDS = 365 * 24 * 3_600;

const NO_TOKEN: Truth = { state: "token-dead", cause: "no-token", healedByRestart: false };
const FORGOTTEN: Truth = { state: "token-dead", cause: "terminating", healedByRestart: true };
const UNKNOWN: Known = { epoch: -1, accounts: -1, accepted: [], untilMs: 0 };

/** All tokens of pods, and who accepts them. */
export class Tokens {
  readonly #issued = new Map<string, Issued>();
  /** By uid of the pod. */
  readonly #ofPod = new Map<string, string[]>();
  /** Grows when whatever was known of tokens may be wrong. */
  #epoch = 0;
  #keys = -1;

  constructor(private readonly ground: Ground) {
    // A token is bound to its pod.
    ground.store.subscribe("pods", ({ type, object }) => {
      if (type !== "DELETED") return;
      for (const token of this.#ofPod.get(object.metadata.uid) ?? []) this.#issued.get(token)!.known = UNKNOWN;
    });
  }

  /** Issues a token for a pod, as the kubelet asks for it; undefined if its ServiceAccount is not there. */
  issue(pod: Obj, expirationSeconds: number | undefined): string | undefined {
    const { ground } = this;
    const { namespace = "", name, uid } = pod.metadata;
    const serviceAccount = accountOf(pod);
    const account = ground.store.get("serviceaccounts", namespace, serviceAccount);
    if (account === undefined) return undefined;
    const asked = expirationSeconds ?? DEFAULT_TOKEN_SECONDS;
    const owner = { namespace, serviceAccount };
    const token = ground.access.issueToken({ ...owner, podName: name, podUid: uid, lifeSeconds: asked });
    const seconds = asked === DEFAULT_TOKEN_SECONDS ? EXTENDED_SECONDS : asked;
    const expiresMs = nowMs(ground) + seconds * 1_000 + LEEWAY_MS;
    this.#issued.set(token, { owner, accountUid: account.metadata.uid, expiresMs, remembered: [], known: UNKNOWN });
    this.#ofPod.set(uid, [...(this.#ofPod.get(uid) ?? []), token]);
    return token;
  }

  /** How a server answers a request with this token, before it looks at rights. */
  isAccepted(token: string | undefined, server: number): boolean {
    const issued = token === undefined ? undefined : this.#issued.get(token);
    if (issued === undefined) return false;
    const now = nowMs(this.ground);
    const keys = this.ground.access.keysVersion;
    const { untilMs, keys: knownKeys } = issued.remembered[server] ?? { untilMs: 0, keys };
    if (now < untilMs && knownKeys === keys) return true;
    if (!this.#isAccepted(token!, issued, server)) return false;
    issued.remembered[server] = { untilMs: now + REMEMBERS_MS, keys };
    return true;
  }

  #isAccepted(token: string, issued: Issued, server: number): boolean {
    for (const refuses of this.ground.tokenRefusals) if (refuses(issued.owner, server)) return false;
    const { accepted } = this.#knownOf(issued);
    if (nowMs(this.ground) >= issued.expiresMs) return false;
    return (accepted[server] ??= this.ground.access.accepts(token, server));
  }

  /** The truth about a token. */
  judge(token: string | undefined): Truth {
    if (token === undefined) return NO_TOKEN;
    const issued = this.#issued.get(token);
    if (issued === undefined) return FORGOTTEN;
    const known = this.#knownOf(issued);
    const now = nowMs(this.ground);
    if (known.state !== undefined && now < known.untilMs) return known.state;
    known.untilMs = now < issued.expiresMs ? issued.expiresMs : Infinity;
    return (known.state = this.#judge(token, issued));
  }

  /** Whatever was known of tokens may be wrong now. */
  changed(): void {
    this.#epoch++;
  }

  /** A pod is gone, and its tokens with it. */
  forget(podUid: string): void {
    for (const token of this.#ofPod.get(podUid) ?? []) this.#issued.delete(token);
    this.#ofPod.delete(podUid);
  }

  #judge(token: string, issued: Issued): Truth {
    const { count } = this.ground.servers;
    let accepting = 0;
    for (let server = 0; server < count; server++) if (this.#isAccepted(token, issued, server)) accepting++;
    if (accepting === count) return WORKS;
    const state = accepting === 0 ? "token-dead" : "token-split";
    return { state, cause: this.#why(issued, state), healedByRestart: this.#isHealedBy(issued) };
  }

  #knownOf(issued: Issued): Known {
    const { access, store, tokenRefusals } = this.ground;
    const keys = access.keysVersion;
    if (keys !== this.#keys || tokenRefusals.size > 0) this.changed();
    this.#keys = keys;
    const accounts = store.version("serviceaccounts", issued.owner.namespace);
    const { known } = issued;
    if (known.epoch === this.#epoch && known.accounts === accounts) return known;
    return (issued.known = { epoch: this.#epoch, accounts, accepted: [], untilMs: 0 });
  }

  #why({ owner, accountUid, expiresMs }: Issued, state: Truth["state"]): CauseName {
    const { store, servers, tokenRefusals } = this.ground;
    const account = store.get("serviceaccounts", owner.namespace, owner.serviceAccount);
    if (account === undefined) return "service-account-missing";
    if (account.metadata.uid !== accountUid) return "service-account-recreated";
    if (expiresMs <= nowMs(this.ground)) return "token-expired";
    for (const refuses of tokenRefusals)
      for (let server = 0; server < servers.count; server++) if (refuses(owner, server)) return "servers-refuse";
    return state === "token-split" ? "key-disputed" : "key-rotated";
  }

  /** A new pod's token would be accepted by every server. */
  #isHealedBy({ owner }: Issued): boolean {
    const { access, store, servers, tokenRefusals } = this.ground;
    if (store.get("serviceaccounts", owner.namespace, owner.serviceAccount) === undefined) return false;
    for (let server = 0; server < servers.count; server++) {
      for (const refuses of tokenRefusals) if (refuses(owner, server)) return false;
      if (!access.keysOf(server).includes(access.signer)) return false;
    }
    return true;
  }
}

/** The ServiceAccount of a pod. */
export function accountOf({ spec }: Obj): string {
  return spec?.serviceAccountName ?? "default";
}
