import { defineConfig } from "vitest/config";
import { MOST_WORKERS } from "./test/cluster/workers";

// A failure names all that was found, since often nobody can look again.
// A busy machine answers late, and a fresh one builds first what a hook needs; only a failure waits for so long.
const common = {
  testTimeout: 600_000,
  hookTimeout: 1_800_000,
  chaiConfig: { truncateThreshold: 2000 },
  expect: { poll: { timeout: 100_000 } },
  setupFiles: ["test/end-with-vitest.ts"],
};

// Suites that differ in what they need: nothing, a control plane, a node, and, only when asked for, time.
export default defineConfig({
  test: {
    // vitest takes the number of workers from here alone, never from a project.
    maxWorkers: MOST_WORKERS,
    minWorkers: 1,
    projects: [
      {
        test: {
          ...common,
          name: "unit",
          // They need nothing that has to be built.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          setupFiles: [...common.setupFiles, "test/unit-setup.ts"],
          include: [
            "src/**/*.test.ts",
            "capabilities/**/*.test.ts",
            "test/lab/**/*.test.ts",
            "test/flood/**/*.test.ts",
            "test/attack/**/*.test.ts",
            "test/bench/**/*.test.ts",
            "test/controllers/**/*.test.ts",
            "test/docs/**/*.test.ts",
            "test/enforcers/**/*.test.ts",
            "test/monitoring/**/*.test.ts",
            "test/release/**/*.test.ts",
            "test/simulation/**/*.test.ts",
          ],
        },
      },
      {
        test: {
          ...common,
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          globalSetup: ["test/integration/setup.ts"],
          setupFiles: [...common.setupFiles, "test/integration/worker.ts"],
        },
      },
      {
        test: {
          ...common,
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/e2e/setup.ts"],
        },
      },
      {
        // npm run test:versions, no part of npm test.
        test: {
          ...common,
          name: "versions",
          include: ["test/versions/**/*.test.ts"],
        },
      },
      {
        // npm run test:upgrade, no part of npm test.
        test: {
          ...common,
          name: "upgrade",
          include: ["test/upgrade/**/*.test.ts"],
        },
      },
      {
        // npm run test:gitops, no part of npm test.
        test: {
          ...common,
          name: "gitops",
          include: ["test/gitops/**/*.test.ts"],
          // A trial of a shorter token takes as long as the token lives, and DaemonSets are tried one after the other.
          testTimeout: 4_200_000,
          // The first run builds Argo CD.
          hookTimeout: 3_600_000,
        },
      },
    ],
  },
});
