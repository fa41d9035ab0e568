import { arrayOf, type JsonObject, objectIn, objectOf } from "../../../core/json";

/** The API server's default for expirationSeconds. */
export const DEFAULT_SECONDS = 3600;

/** The sources of a projected volume; empty for other volumes. */
export function sourcesOf(volume: JsonObject): readonly unknown[] {
  return arrayOf(objectOf(volume["projected"])["sources"]);
}

/** The lifetimes of its API server tokens, in the order of the sources. A token with another audience is not for the API server. */
export function secondsOf(volume: JsonObject): readonly number[] {
  return sourcesOf(volume).flatMap(source => {
    const token = apiTokenOf(source);
    return token === undefined ? [] : [lifetimeOf(token)];
  });
}

/** The complete list of sources with these lifetimes, otherwise unchanged. */
export function withSeconds(volume: JsonObject, seconds: readonly number[]): readonly unknown[] {
  const rest = [...seconds];
  return sourcesOf(volume).map(source => {
    const token = apiTokenOf(source);
    const wanted = token === undefined ? undefined : rest.shift();
    if (token === undefined || wanted === undefined || token["expirationSeconds"] === wanted) return source;
    return { ...objectOf(source), serviceAccountToken: { ...token, expirationSeconds: wanted } };
  });
}

function apiTokenOf(source: unknown): JsonObject | undefined {
  const token = objectIn(objectOf(source)["serviceAccountToken"]);
  const audience = token?.["audience"];
  return typeof audience === "string" && audience !== "" ? undefined : token;
}

function lifetimeOf({ expirationSeconds }: JsonObject): number {
  const isNumber = typeof expirationSeconds === "number" && Number.isFinite(expirationSeconds);
  return isNumber ? expirationSeconds : DEFAULT_SECONDS;
}
