import { defineConfig } from "vitest/config";

// Three suites that differ in what they need: nothing, a control plane, a node.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          testTimeout: 120_000,
          include: [
            "src/**/*.test.ts",
            "capabilities/**/*.test.ts",
            "test/lab/**/*.test.ts",
            "test/enforcers/**/*.test.ts",
          ],
        },
      },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          globalSetup: ["test/integration/setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 240_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/e2e/setup.ts"],
          testTimeout: 600_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
