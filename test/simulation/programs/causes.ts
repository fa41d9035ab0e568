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

/** Why a container is in a state, and what a new pod would change. */
export interface Cause {
  readonly state: State;
  /** Whether a new pod works, as a rule; the truth of each pod says it for its moment. */
  readonly healedByRestart: boolean;
  /** What the log of such a container shows of it. */
  readonly log: "own 401s" | "own 403s" | "others' 401s" | "lost leases" | "nothing";
  readonly sentence: string;
}

/** Every cause of the simulated world. */
export const CAUSES = {
  none: { state: "works", healedByRestart: false, log: "nothing", sentence: "It works." },
  starting: { state: "starting", healedByRestart: false, log: "nothing", sentence: "It is not running yet." },
  "service-account-recreated": {
    state: "token-dead",
    healedByRestart: true,
    log: "own 401s",
    sentence: "Its token names a ServiceAccount that was deleted; a new one has the same name.",
  },
  "service-account-missing": {
    state: "token-dead",
    healedByRestart: false,
    log: "own 401s",
    sentence: "Its ServiceAccount is deleted.",
  },
  "key-rotated": {
    state: "token-dead",
    healedByRestart: true,
    log: "own 401s",
    sentence: "No API server knows the key that signed its token.",
  },
  "key-disputed": {
    state: "token-split",
    healedByRestart: false,
    log: "own 401s",
    sentence: "Some API servers know the key that signed its token, and others do not.",
  },
  "token-expired": {
    state: "token-dead",
    healedByRestart: true,
    log: "own 401s",
    sentence: "It uses a copy of its token that has expired; the mounted one is newer.",
  },
  "no-token": {
    state: "token-dead",
    healedByRestart: false,
    log: "own 401s",
    sentence: "Its pod mounts no token, and it asks without one.",
  },
  "servers-refuse": {
    state: "token-split",
    healedByRestart: false,
    log: "own 401s",
    sentence: "The API servers refuse valid tokens for a while.",
  },
  "binding-gone": {
    state: "access-gone",
    healedByRestart: false,
    log: "own 403s",
    sentence: "No binding grants what it asks for any more.",
  },
  "cni-credential": {
    state: "credential-dead",
    healedByRestart: true,
    log: "nothing",
    sentence: "The credential that it left on its node for the network plugin is refused.",
  },
  hangs: {
    state: "hangs",
    healedByRestart: true,
    log: "nothing",
    sentence: "Its process does nothing any more.",
  },
  "hangs-again": {
    state: "hangs",
    healedByRestart: false,
    log: "nothing",
    sentence: "Its process does nothing any more, and so will each successor.",
  },
  "workers-blocked": {
    state: "stuck",
    healedByRestart: true,
    log: "nothing",
    sentence: "All of its workers wait for each other.",
  },
  "workers-hang": {
    state: "stuck",
    healedByRestart: true,
    log: "nothing",
    sentence: "Each of its workers waits for an answer, and has said before that it works on its object.",
  },
  "watch-silent": {
    state: "stuck",
    healedByRestart: true,
    log: "nothing",
    sentence: "Its watch is open, and says nothing any more.",
  },
  "workers-poisoned": {
    state: "stuck",
    healedByRestart: false,
    log: "nothing",
    sentence: "All of its workers block on objects on which each successor will block, too.",
  },
  "worker-blocked": {
    state: "works",
    healedByRestart: false,
    log: "nothing",
    sentence: "A worker blocks on one object, and the others work.",
  },
  "loses-lease": {
    state: "loses-lease",
    healedByRestart: false,
    log: "lost leases",
    sentence: "It loses its Lease again and again.",
  },
  floods: { state: "floods", healedByRestart: false, log: "nothing", sentence: "It asks far too often." },
  crashes: { state: "crashes", healedByRestart: false, log: "nothing", sentence: "Its process ends again and again." },
  "other-cluster": {
    state: "works",
    healedByRestart: false,
    log: "others' 401s",
    sentence: "Another cluster refuses its credential; here it needs nothing.",
  },
  noisy: {
    state: "works",
    healedByRestart: false,
    log: "others' 401s",
    sentence: "It works, and logs 401s of others.",
  },
  "node-away": {
    state: "unreachable",
    healedByRestart: false,
    log: "nothing",
    sentence: "Its node does not answer.",
  },
  terminating: { state: "terminating", healedByRestart: false, log: "nothing", sentence: "It is being deleted." },
} as const satisfies Record<string, Cause>;

/** A name of that list. */
export type CauseName = keyof typeof CAUSES;
