import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";
import type { Clock } from "../../core/time";
import { type Access, POD_CONTEXT } from "./connection";
import { type JsonObject, numberOf, parseObject, textOf } from "../../core/json";
import { SERVICE_ACCOUNT_USERS } from "../../core/text";

/** Returns the user name of requests with these headers, if the credentials show it, as those of a ServiceAccount do. */
export function ownUser({ headers }: Pick<Access, "headers">): string | undefined {
  return headers["Impersonate-User"] ?? textOf(claimsOf(headers["Authorization"])?.["sub"]);
}

/**
 * Returns the audiences of a ServiceAccount's own token. The kubelet asks for it without an audience, so it has all of those that the API
 * server accepts. Other credentials do not show them: the audience of an OIDC token is a client.
 */
export function ownAudiences({ headers }: Pick<Access, "headers">): readonly string[] {
  const { sub, aud } = claimsOf(headers["Authorization"]) ?? {};
  if (textOf(sub)?.startsWith(SERVICE_ACCOUNT_USERS) !== true) return [];
  return (Array.isArray(aud) ? aud : [aud]).flatMap(audience => textOf(audience) ?? []);
}

/** The pod's token is `token`; the chart mounts `token-2` and so on beside it. */
const TOKEN_FILE = /^token(-\d+)?$/;

/**
 * Lets a pod use the newest of its tokens. The kubelet replaces each when 80 % of its life is over (pkg/kubelet/token/token_manager.go). The chart mounts
 * several, of different lives: after a change of the signing key one is new usually within two minutes, up to ten after the pod's start. What is loaded
 * again had a token that was refused, or a certificate, so the others come first. What cannot be read stays as it is, for client-node to report.
 */
export function withNewestToken(load: () => KubeConfig, clock: Pick<Clock, "now">): () => KubeConfig {
  let tried: readonly string[] = [];
  return () => {
    const config = load();
    const provider = config.getCurrentUser()?.authProvider as { config?: { tokenFile?: string } } | undefined;
    const file = provider?.config;
    if (config.currentContext !== POD_CONTEXT || file?.tokenFile === undefined) return config;
    const nowMs = clock.now().getTime();
    // Last what an API server has issued whose clock is ahead, since the others refuse it.
    const rank = ({ token }: Token, at = issuedAt(token) ?? 0): number => (at > nowMs ? -at : at);
    const turn = ({ token }: Token): number => tried.indexOf(token);
    const tokens = tokensIn(dirname(file.tokenFile));
    const [best] = tokens.sort((a, b) => turn(a) - turn(b) || rank(b) - rank(a));
    if (best === undefined) return config;
    tried = [...tried.filter(token => token !== best.token), best.token].slice(-tokens.length);
    file.tokenFile = best.path;
    return config;
  };
}

interface Token {
  readonly path: string;
  readonly token: string;
}

function tokensIn(folder: string): Token[] {
  try {
    const paths = readdirSync(folder).flatMap(name => (TOKEN_FILE.test(name) ? [join(folder, name)] : []));
    return paths.map(path => ({ path, token: readFileSync(path, "utf8") }));
  } catch {
    return [];
  }
}

/** Returns when a ServiceAccount token was issued (claim `iat`), in milliseconds; undefined for other credentials. */
export function issuedAt(authorization: string): number | undefined {
  const seconds = numberOf(claimsOf(authorization)?.["iat"]);
  return seconds === undefined ? undefined : 1000 * seconds;
}

function claimsOf(authorization = ""): JsonObject | undefined {
  const [, payload] = authorization.replace(/^Bearer /i, "").split(".");
  return parseObject(Buffer.from(payload ?? "", "base64url").toString("utf8"));
}
