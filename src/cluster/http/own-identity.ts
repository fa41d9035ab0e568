import type { Clock } from "../../core/time";
import type { Identity } from "../../core/ports";
import type { Api } from "./api";
import type { Connection } from "./connection";
import { numberOf, parseObject, textOf } from "../../core/json";
import { pathOf } from "./resources";
import { KINDS } from "../../core/kinds";
import { SERVICE_ACCOUNT_USERS } from "../../core/text";

export class OwnIdentity implements Identity {
  readonly #api: Api;
  readonly #connection: Pick<Connection, "access">;
  readonly #clock: Clock;
  #issuedAtMs: number | undefined;
  /** Taken apart once for each token, since every pass asks for its audiences. */
  #parsed: { readonly authorization: string; readonly claims: Claims } | undefined;

  constructor(api: Api, connection: Pick<Connection, "access">, clock: Clock) {
    this.#api = api;
    this.#connection = connection;
    this.#clock = clock;
  }

  /** Every authenticated user may create a SelfSubjectReview (system:basic-user). */
  async review(): Promise<void> {
    const { headers } = await this.#connection.access();
    this.#issuedAtMs = issuedAt(headers["Authorization"] ?? "");
    await this.#api.json({
      what: "create selfsubjectreviews",
      method: "POST",
      path: pathOf(KINDS.SelfSubjectReview),
      body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    });
  }

  tokenAgeMs(): number | undefined {
    return this.#issuedAtMs === undefined ? undefined : this.#clock.now().getTime() - this.#issuedAtMs;
  }

  /** The user name of the requests, if the credentials show it, as those of a ServiceAccount do. */
  async user(): Promise<string | undefined> {
    const { headers } = await this.#connection.access();
    return headers["Impersonate-User"] ?? textOf(this.#claimsOf(headers["Authorization"])?.["sub"]);
  }

  /**
   * The audiences of the operator's own ServiceAccount token. The kubelet asks for it without an audience, so it has all of those that the API
   * server accepts. Other credentials do not show them: the audience of an OIDC token is a client.
   */
  async audiences(): Promise<readonly string[]> {
    const { headers } = await this.#connection.access();
    const claims = this.#claimsOf(headers["Authorization"]);
    if (textOf(claims?.["sub"])?.startsWith(SERVICE_ACCOUNT_USERS) !== true) return [];
    const { aud } = claims ?? {};
    return (Array.isArray(aud) ? aud : [aud]).flatMap(audience => textOf(audience) ?? []);
  }

  #claimsOf(authorization = ""): Claims {
    if (this.#parsed?.authorization !== authorization)
      this.#parsed = { authorization, claims: claimsOf(authorization) };
    return this.#parsed.claims;
  }
}

/** Returns when a ServiceAccount token was issued (claim `iat`), in milliseconds; undefined for other credentials. */
export function issuedAt(authorization: string): number | undefined {
  const seconds = numberOf(claimsOf(authorization)?.["iat"]);
  return seconds === undefined ? undefined : 1000 * seconds;
}

type Claims = ReturnType<typeof parseObject>;

function claimsOf(authorization: string): Claims {
  const [, payload] = authorization.replace(/^Bearer /i, "").split(".");
  return parseObject(Buffer.from(payload ?? "", "base64url").toString("utf8"));
}
