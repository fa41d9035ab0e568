/** A refusal of the API server, and the words it comes in. */
export interface Denial {
  /** HTTP status. */
  readonly code: string;
  /** `reason` of the Status object, and its whole message: the API server says this one word and nothing else. */
  readonly word: string;
  /** What only clients of a Kubernetes API print for it, lower case. */
  readonly phrases: readonly string[];
}

/** 401: who are you? */
export const UNAUTHORIZED: Denial = {
  code: "401",
  word: "Unauthorized",
  phrases: [
    // apimachinery, for every 401 whose body it could not read: open watches, discovery, helm.
    "the server has asked for the client to provide credentials",
    // kubectl's words for both.
    "you must be logged in to the server",
    "error from server (unauthorized):",
    // fabric8, by the kind of credential it was configured with.
    "unauthorized! configured service account doesn't have access",
    "unauthorized! token may have expired",
    // kopf, after every credential it had was answered 401.
    "ran out of valid credentials",
  ],
};

/** 429: not now. */
export const TOO_MANY_REQUESTS: Denial = {
  code: "429",
  word: "TooManyRequests",
  phrases: ["error from server (toomanyrequests)", "the server has received too many requests"],
};

/** 403: you may not. */
export const FORBIDDEN: Denial = {
  code: "403",
  word: "Forbidden",
  phrases: [
    // RBAC, since 1.4 and before.
    ' is forbidden: user "',
    'user "system:',
    // Admission plugins of the API server, after the quoted name: quotas, Pod Security.
    '" is forbidden: ',
    "error from server (forbidden):",
    // apimachinery, for a 403 whose body it could not read.
    "the server does not allow access to the requested resource",
    // fabric8.
    "forbidden!configured service account doesn't have access",
    "forbidden! configured service account doesn't have access",
    // fabric8's websocket; only a watch of the API server expects this upgrade.
    "expected http 101 response but was '403 forbidden'",
  ],
};
