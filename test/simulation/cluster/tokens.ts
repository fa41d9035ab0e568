import type { TokenState } from "../programs/program";
import type { Obj } from "../server/objects";
import { type Ground, nowMs, type TokenOwner } from "./ground";
import { DEFAULT_TOKEN_SECONDS } from "./pods";

/** A token that a kubelet got, as the world knows it. */
interface Issued {
  readonly owner: TokenOwner;
  readonly accountUid: string;
  readonly podUid: string;
  readonly expiresMs: number;
}

/** A year: what the API server makes of the default. */
const EXTENDED_SECONDS = 365 * 24 * 3_600;

/** All tokens of pods, and who accepts them. */
export class Tokens {
  readonly #issued = new Map<string, Issued>();
  /** Verdicts hold until something changes, or the token expires: programs and the checker ask often. */
  readonly #verdicts = new Map<string, TokenState>();
  /** By server. */
  readonly #accepted = new Map<string, (boolean | undefined)[]>();
  #keys = -1;
  #accounts = -1;

  constructor(private readonly ground: Ground) {
    ground.store.subscribe("pods", ({ type }) => {
      if (type === "DELETED") this.changed();
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
    const token = ground.rights.issue({ ...owner, pod: name, podUid: uid, lifeSeconds: asked });
    const expiresMs = nowMs(ground) + (asked === DEFAULT_TOKEN_SECONDS ? EXTENDED_SECONDS : asked) * 1_000;
    this.#issued.set(token, { owner, accountUid: account.metadata.uid, podUid: uid, expiresMs });
    return token;
  }

  /** How a server answers a request with this token, before it looks at rights. */
  isAccepted(token: string | undefined, server: number): boolean {
    const owner = token === undefined ? undefined : this.#issued.get(token)?.owner;
    if (token === undefined || owner === undefined) return false;
    for (const refuses of this.ground.tokenRefusals) if (refuses(owner, server)) return false;
    return this.#isValid(token, server);
  }

  #isValid(token: string, server: number): boolean {
    this.#refresh();
    if (nowMs(this.ground) >= (this.#issued.get(token)?.expiresMs ?? 0)) return false;
    const known = this.#accepted.get(token) ?? [];
    this.#accepted.set(token, known);
    return (known[server] ??= this.ground.rights.accepts(token, server));
  }

  /** The truth about a token. */
  judge(token: string | undefined): TokenState {
    if (token === undefined) return { state: "refused", cause: "no-token", healedByRestart: false };
    this.#refresh();
    const known = this.#verdicts.get(token);
    const isExpired = nowMs(this.ground) >= (this.#issued.get(token)?.expiresMs ?? 0);
    if (known !== undefined && !isExpired) return known;
    const state = this.#judge(token);
    this.#verdicts.set(token, state);
    return state;
  }

  /** Whatever was known of tokens may be wrong now. */
  changed(): void {
    this.#verdicts.clear();
    this.#accepted.clear();
  }

  /** A pod is gone, and its tokens with it. */
  forget(podUid: string): void {
    for (const [token, issued] of this.#issued) {
      if (issued.podUid !== podUid) continue;
      this.#issued.delete(token);
      this.#verdicts.delete(token);
    }
  }

  #judge(token: string): TokenState {
    const accepting = this.#acceptedBy(token);
    const { count } = this.ground.servers;
    if (accepting === count) return { state: "accepted", cause: "none", healedByRestart: false };
    const state = accepting === 0 ? "refused" : "split";
    const issued = this.#issued.get(token);
    if (issued === undefined) return { state, cause: "terminating", healedByRestart: true };
    return { state, ...this.#why(issued, state), healedByRestart: this.#isHealedBy(issued) };
  }

  #refresh(): void {
    const { rights, store, tokenRefusals } = this.ground;
    const [keys, accounts] = [rights.keysVersion(), store.version("serviceaccounts")];
    if (keys === this.#keys && accounts === this.#accounts && tokenRefusals.size === 0) return;
    this.#keys = keys;
    this.#accounts = accounts;
    this.changed();
  }

  #acceptedBy(token: string): number {
    let accepting = 0;
    for (let server = 0; server < this.ground.servers.count; server++) if (this.isAccepted(token, server)) accepting++;
    return accepting;
  }

  #why({ owner, accountUid, expiresMs }: Issued, state: "split" | "refused"): Pick<TokenState, "cause"> {
    const { store, servers, tokenRefusals } = this.ground;
    const account = store.get("serviceaccounts", owner.namespace, owner.serviceAccount);
    if (account === undefined) return { cause: "service-account-missing" };
    if (account.metadata.uid !== accountUid) return { cause: "service-account-recreated" };
    if (expiresMs <= nowMs(this.ground)) return { cause: "token-expired" };
    for (const refuses of tokenRefusals)
      for (let server = 0; server < servers.count; server++)
        if (refuses(owner, server)) return { cause: "servers-refuse" };
    return { cause: state === "split" ? "key-disputed" : "key-rotated" };
  }

  /** A new pod's token would be accepted by every server. */
  #isHealedBy({ owner }: Issued): boolean {
    const { rights, store, servers, tokenRefusals } = this.ground;
    if (store.get("serviceaccounts", owner.namespace, owner.serviceAccount) === undefined) return false;
    for (let server = 0; server < servers.count; server++) {
      for (const refuses of tokenRefusals) if (refuses(owner, server)) return false;
      if (!rights.acceptsNew(server)) return false;
    }
    return true;
  }
}

/** The ServiceAccount of a pod. */
export function accountOf({ spec }: Obj): string {
  return (spec as { serviceAccountName?: string } | undefined)?.serviceAccountName ?? "default";
}
