/** End-to-end test files that run at the same time. Three starve each other on two cores: the operator then reads request rates too seldom to act. */
export const E2E_WORKERS = 2;

/** Integration test files that run at the same time. */
export const INTEGRATION_WORKERS = 2;

/** The most test files of a cluster suite that run at the same time. */
export const MOST_WORKERS = Math.max(E2E_WORKERS, INTEGRATION_WORKERS);
