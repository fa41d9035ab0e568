/**
 * The server that a word or an address points to.
 * - `kubernetes`: the API server.
 * - `noun`: an ordinary word that is also a Kubernetes kind.
 * - `other`: another service.
 */
export type Side = "kubernetes" | "noun" | "other";

/**
 * How much a piece of evidence says: an address is the server itself, a name (a client library, a Go type, "apiserver")
 * rarely means anything else, a word only hints.
 */
export type Weight = "address" | "name" | "word";

/** A word or an address that points to one side, and its offset. */
export interface Evidence {
  readonly at: number;
  readonly side: Side;
  readonly weight: Weight;
}
