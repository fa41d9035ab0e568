/** What a container truly does, whatever its log and its conditions say. */
export type State =
  | "works"
  | "starting"
  | "token-dead"
  | "token-split"
  | "credential-dead"
  | "access-gone"
  | "hangs"
  | "stuck"
  | "floods"
  | "loses-lease"
  | "crashes"
  | "unreachable"
  | "terminating";

/** Why a container is in a state, as stories tell it. The truth of each pod says what a restart changes. */
export const CAUSES = {
  none: "It works.",
  starting: "It is not running yet.",
  "service-account-recreated": "Its token names a ServiceAccount that was deleted; a new one has the same name.",
  "service-account-missing": "Its ServiceAccount is deleted.",
  "key-rotated": "No API server knows the key that signed its token.",
  "key-disputed": "Some API servers know the key that signed its token, and others do not.",
  "token-expired": "It uses a copy of its token that has expired; the mounted one is newer.",
  "no-token": "Its pod mounts no token, and it asks without one.",
  "servers-refuse": "The API servers refuse valid tokens for a while.",
  "binding-gone": "No binding grants what it asks for any more.",
  "cni-credential": "The credential that it left on its node for the network plugin is refused.",
  hangs: "Its process does nothing any more.",
  "hangs-again": "Its process does nothing any more, and so will each successor.",
  "workers-blocked": "All of its workers wait for each other.",
  "workers-hang": "Each of its workers waits for an answer, and has said before that it works on its object.",
  "watch-silent": "Its watch is open, and says nothing any more.",
  "workers-poisoned": "All of its workers block on objects on which each successor will block, too.",
  "worker-blocked": "A worker blocks on one object, and the others work.",
  "loses-lease": "It loses its Lease again and again.",
  floods: "It asks far too often.",
  crashes: "Its process ends again and again.",
  "other-cluster": "Another cluster refuses its credential; here it needs nothing.",
  noisy: "It works, and logs 401s of others.",
  "node-away": "Its node does not answer.",
  terminating: "It is being deleted.",
} as const;

/** A name of that list. */
export type CauseName = keyof typeof CAUSES;
