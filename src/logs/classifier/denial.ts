/** A denial by the API server, and its wording. */
export interface Denial {
  /** HTTP status. */
  readonly code: string;
  /** `reason` of the Status object, and its whole message: the API server says only this word. */
  readonly word: string;
  /** Phrases that only Kubernetes clients print for it, in lower case. */
  readonly phrases: readonly string[];
}

/** 401: not authenticated. */
export const UNAUTHORIZED: Denial = {
  code: "401",
  word: "Unauthorized",
  phrases: [
    // apimachinery, for a 401 without a readable body: open watches, discovery, helm.
    "the server has asked for the client to provide credentials",
    // kubectl, for both.
    "you must be logged in to the server",
    "error from server (unauthorized):",
    // fabric8, depending on its kind of credential.
    "unauthorized! configured service account doesn't have access",
    "unauthorized! token may have expired",
    // kopf, after a 401 for each of its credentials.
    "ran out of valid credentials",
  ],
};

/** 429: too many requests. */
export const TOO_MANY_REQUESTS: Denial = {
  code: "429",
  word: "TooManyRequests",
  phrases: ["error from server (toomanyrequests)", "the server has received too many requests"],
};

/** 403: not permitted. */
export const FORBIDDEN: Denial = {
  code: "403",
  word: "Forbidden",
  phrases: [
    // RBAC of Kubernetes 1.4 and later, and of earlier versions.
    ' is forbidden: user "',
    'user "system:',
    // Admission plugins, after the quoted object name: quotas, Pod Security.
    '" is forbidden: ',
    "error from server (forbidden):",
    // apimachinery, for a 403 without a readable body.
    "the server does not allow access to the requested resource",
    // fabric8.
    "forbidden!configured service account doesn't have access",
    "forbidden! configured service account doesn't have access",
    // fabric8's websocket; only a watch of the API server uses this upgrade.
    "expected http 101 response but was '403 forbidden'",
  ],
};
