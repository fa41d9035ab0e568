/**
 * What a log record says about the requests of its own process to the API server.
 * - `unauthorized`: the API server answered a request 401.
 * - `forbidden`: the API server answered a request 403.
 * - `lease-lost`: the process lost its Lease, or could not renew it in time.
 * - `watch-ended`: a watch broke or its resource version expired; clients relist.
 * - `throttled`: requests waited or were rejected because of their rate.
 * - `none`: anything else, including every 401 from or to another process.
 */
export type LogClass = "unauthorized" | "forbidden" | "lease-lost" | "watch-ended" | "throttled" | "none";

/** Every class but `none`, in the order of the checklist. */
export const LOG_CLASSES = ["unauthorized", "forbidden", "lease-lost", "watch-ended", "throttled"] as const;
