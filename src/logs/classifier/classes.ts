/**
 * What one log record says about its own process and the API server.
 * - `unauthorized`: a request of this process to a kube-apiserver was answered 401.
 * - `forbidden`: such a request was answered 403.
 * - `lease-lost`: leadership was lost, or the lock could not be renewed in time.
 * - `watch-ended`: a watch broke or its resource version expired; clients list again.
 * - `throttled`: requests waited or were refused for their rate.
 * - `none`: anything else, among it every 401 that is somebody else's.
 */
export type LogClass = "unauthorized" | "forbidden" | "lease-lost" | "watch-ended" | "throttled" | "none";

/** Every class that says something, in the order of the checklist. */
export const LOG_CLASSES = ["unauthorized", "forbidden", "lease-lost", "watch-ended", "throttled"] as const;
