import type { Clock } from "../../../src/core/time";
import type { Dice } from "../time";
import { Rbac, type Attributes } from "./rbac";
import type { Store } from "./store";

/** Who makes a request. */
export interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
  /** The token is older than its pod asked for, and lives on in the extra year. */
  readonly isStale?: boolean;
}

/** Whom a token of a pod stands for. */
export interface Account {
  readonly namespace: string;
  readonly serviceAccount: string;
}

/** What a token is issued for. */
export interface TokenRequest extends Account {
  readonly podName?: string;
  readonly podUid?: string;
  readonly lifeSeconds: number;
}

interface Claims {
  readonly sub: string;
  readonly aud: readonly string[];
  readonly iat: number;
  readonly exp: number;
  readonly kid: string;
  readonly namespace: string;
  readonly account: { readonly name: string; readonly uid: string };
  readonly pod: { readonly name: string; readonly uid: string } | undefined;
  readonly warnafter: number | undefined;
  /** Whom it stood for when it was last accepted. */
  identity?: Identity;
  /** By server: until when it remembers that it accepted it. */
  readonly rememberedMs: number[];
}

/** The audience of the API servers, and the issuer of tokens. */
export const AUDIENCE = "https://kubernetes.default.svc.cluster.local";

/** The kubelet asks for this life for the volume that admission adds; the API server makes a year of it (KEP-1205). */
const EXTENDED_SECONDS = 3607;
const YEAR_SECONDS = 365 * 86_400;

/** A token is accepted for so long after its end, or after the deletionTimestamp of its objects (pkg/serviceaccount/claims.go, jwt.DefaultLeeway). */
export const LEEWAY_MS = 60_000;

/** An API server remembers a token that it accepted for so long (pkg/kubeapiserver/options, TokenSuccessCacheTTL). It starts anew with other keys. */
export const REMEMBERS_MS = 10_000;

/** Who may do everything. */
export const ADMIN: Identity = { user: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] };

/** Identity and rights: tokens, the keys of each server, RBAC. */
export class Access {
  readonly #clock: Clock;
  readonly #dice: Dice;
  readonly #store: Store;
  readonly #rbac: Rbac;
  /** Keys that each server accepts and publishes, oldest first. */
  readonly #keys: string[][];
  readonly #users = new Map<string, Identity>();
  readonly #claims = new Map<string, Claims>();
  #signer: string;
  #keysVersion = 0;

  constructor({ clock, dice, store, servers = 1 }: { clock: Clock; dice: Dice; store: Store; servers?: number }) {
    this.#clock = clock;
    this.#dice = dice.fork("access");
    this.#store = store;
    this.#rbac = new Rbac(store);
    this.#signer = this.#newKey();
    this.#keys = Array.from({ length: servers }, () => [this.#signer]);
  }

  /** A user with a token that never expires, such as a person. */
  addUser(token: string, identity: Identity): void {
    this.#users.set(token, identity);
  }

  /** @throws Error if there is no such ServiceAccount, as a TokenRequest would be refused */
  issueToken(request: TokenRequest): string {
    const { namespace, serviceAccount, podName, podUid } = request;
    const uid = this.#store.get("serviceaccounts", namespace, serviceAccount)?.metadata.uid;
    if (uid === undefined) throw new Error(`serviceaccounts "${serviceAccount}" not found`);
    const iat = Math.floor(this.#clock.now().getTime() / 1000);
    const isExtended = request.lifeSeconds === EXTENDED_SECONDS;
    const exp = iat + (isExtended ? YEAR_SECONDS : request.lifeSeconds);
    const pod = podUid === undefined ? undefined : { name: podName ?? "", uid: podUid };
    const warnafter = isExtended ? iat + EXTENDED_SECONDS : undefined;
    const sub = accountIdentity(request).user;
    const account = { name: serviceAccount, uid };
    const claims = { sub, aud: [AUDIENCE], iat, exp, kid: this.#signer, namespace, account, pod, warnafter };
    const token = this.#encode(claims);
    this.#claims.set(token, { ...claims, rememberedMs: [] });
    return token;
  }

  /** Returns undefined for a 401: an unknown key, an expired token, or one whose ServiceAccount or pod is gone. */
  authenticate(token: string, server = 0): Identity | undefined {
    const user = this.#users.get(token);
    if (user !== undefined) return user;
    const claims = this.#claims.get(token);
    const nowMs = this.#clock.now().getTime();
    if (claims === undefined || !this.keysOf(server).includes(claims.kid)) return undefined;
    if (!(nowMs < claims.rememberedMs[server]!)) {
      if (!this.#isValid(claims, nowMs)) return undefined;
      claims.rememberedMs[server] = nowMs + REMEMBERS_MS;
    }
    return identityOf(claims, nowMs);
  }

  /** Whether a server that remembers nothing accepts a token. */
  accepts(token: string, server: number): boolean {
    const claims = this.#claims.get(token);
    const isKnown = claims !== undefined && this.keysOf(server).includes(claims.kid);
    return isKnown && this.#isValid(claims, this.#clock.now().getTime());
  }

  #isValid(claims: Claims, nowMs: number): boolean {
    return nowMs <= 1000 * claims.exp + LEEWAY_MS && this.#isBoundToLiving(claims, nowMs);
  }

  authorize(identity: Identity, attributes: Attributes): boolean {
    return this.#rbac.allows(identity, attributes);
  }

  /** The rules that a user has in a namespace, as a SelfSubjectRulesReview lists them, and as binding a role needs them. */
  get rbac(): Rbac {
    return this.#rbac;
  }

  /** The ids of the keys that a server accepts and publishes. */
  keysOf(server: number): readonly string[] {
    return this.#keys[server] ?? this.#keys[0] ?? [];
  }

  /** A number that changes with the keys of a server. */
  get keysVersion(): number {
    return this.#keysVersion;
  }

  /** The key that signs new tokens. */
  get signer(): string {
    return this.#signer;
  }

  /** Signs with a new key from now on. Tokens of the former keys die, unless the servers keep these. */
  rotateKey({ keepOld = false } = {}): void {
    this.#signer = this.#newKey();
    this.#keysVersion++;
    for (const [server, keys] of this.#keys.entries())
      this.#keys[server] = keepOld ? [...keys, this.#signer] : [this.#signer];
  }

  /** Lets a server accept a key, or no more. */
  setKey(server: number, key: string, isAccepted: boolean): void {
    this.#keysVersion++;
    const others = this.keysOf(server).filter(one => one !== key);
    this.#keys[server] = isAccepted ? [...others, key] : others;
  }

  #newKey(): string {
    return Buffer.from(Array.from({ length: 24 }, () => this.#dice.int(256))).toString("base64url");
  }

  #isBoundToLiving({ namespace, account, pod }: Claims, nowMs: number): boolean {
    const isLiving = (resource: string, name: string, uid: string): boolean => {
      const metadata = this.#store.get(resource, namespace, name)?.metadata;
      if (metadata?.uid !== uid) return false;
      return metadata.deletionTimestamp === undefined || nowMs < Date.parse(metadata.deletionTimestamp) + LEEWAY_MS;
    };
    return (
      isLiving("serviceaccounts", account.name, account.uid) &&
      (pod === undefined || isLiving("pods", pod.name, pod.uid))
    );
  }

  #encode({ sub, aud, iat, exp, kid, namespace, account, pod, warnafter }: Omit<Claims, "rememberedMs">): string {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const bound = {
      namespace,
      serviceaccount: account,
      ...(pod && { pod }),
      ...(warnafter !== undefined && { warnafter }),
    };
    const payload = { aud, exp, iat, iss: AUDIENCE, "kubernetes.io": bound, nbf: iat, sub };
    const signature = Buffer.from(Array.from({ length: 32 }, () => this.#dice.int(256))).toString("base64url");
    return `${part({ alg: "RS256", kid })}.${part(payload)}.${signature}`;
  }
}

/** The same object each time, until the token is stale. */
function identityOf(claims: Claims, nowMs: number): Identity {
  const { namespace, account, warnafter = Infinity } = claims;
  const isStale = nowMs > 1000 * warnafter;
  if (claims.identity?.isStale === isStale) return claims.identity;
  return (claims.identity = { ...accountIdentity({ namespace, serviceAccount: account.name }), isStale });
}

/** The user that a ServiceAccount is. */
export function accountIdentity({ namespace, serviceAccount }: Account): Identity {
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
  return { user: `system:serviceaccount:${namespace}:${serviceAccount}`, groups };
}
