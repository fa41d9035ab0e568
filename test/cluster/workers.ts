/** Concurrent end-to-end test files. On two cores, three slow each other down so much that the operator reads request rates too rarely to act. */
export const E2E_WORKERS = 2;

/** Concurrent integration test files. */
export const INTEGRATION_WORKERS = 2;

/** The largest number of concurrent test files of a cluster suite. */
export const MOST_WORKERS = Math.max(E2E_WORKERS, INTEGRATION_WORKERS);
