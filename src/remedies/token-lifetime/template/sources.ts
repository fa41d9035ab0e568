import { arrayOf, type JsonObject, objectIn, objectOf } from "../../../core/json";

/** What the API server puts where a source says nothing, in seconds. */
export const DEFAULT_SECONDS = 3600;

/** The sources of a projected volume; none for any other. */
export function sourcesOf(volume: JsonObject): readonly unknown[] {
  return arrayOf(objectOf(volume["projected"])["sources"]);
}

/** The lives of its tokens for the API server, in the order of the sources. A token with an audience of its own is for somebody else. */
export function secondsOf(volume: JsonObject): readonly number[] {
  return sourcesOf(volume).flatMap(source => {
    const token = apiTokenOf(source);
    return token === undefined ? [] : [lifeOf(token)];
  });
}

/** The whole list of sources, with these lives; everything else is as it was. */
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

function lifeOf({ expirationSeconds }: JsonObject): number {
  const isNumber = typeof expirationSeconds === "number" && Number.isFinite(expirationSeconds);
  return isNumber ? expirationSeconds : DEFAULT_SECONDS;
}
