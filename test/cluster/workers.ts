/** End-to-end test files that run at the same time. */
export const E2E_WORKERS = 3;

/** Integration test files that run at the same time. */
export const INTEGRATION_WORKERS = 2;

/** The most test files of a cluster suite that run at the same time. */
export const MOST_WORKERS = Math.max(E2E_WORKERS, INTEGRATION_WORKERS);
