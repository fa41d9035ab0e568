import { describe, expect, it } from "vitest";
import { runsOperator, isWatched, readSettings } from "./settings";

const read = (env: Record<string, string>, podNamespace?: string) =>
  readSettings(env, { hostname: "host", random: () => 0.5, podNamespace });

describe("readSettings", () => {
  it("has a default for everything", () => {
    expect(read({})).toEqual({
      namespace: "controller-resilience-system",
      watchNamespaces: [],
      mode: "Enforce",
      identity: "host_i",
      healthHost: "127.0.0.1",
      healthPort: 9440,
      restartIntervalMs: 10_000,
      apiServerSettleMs: 300_000,
      logReadsPerSecond: 50,
      fullPassMs: 60_000,
      logLevel: "info",
    });
  });

  it("notifies only with a folder", () => {
    const expected = { folder: "/n", format: "cloudevents", cluster: "kubernetes" };
    expect(read({ RESILIENCE_NOTIFY_CLUSTER: "a" }).notify).toBeUndefined();
    expect(read({ RESILIENCE_NOTIFY_DIR: "/n" }).notify).toEqual(expected);
    const env = { RESILIENCE_NOTIFY_FORMAT: "slack", RESILIENCE_NOTIFY_DIR: "/n", RESILIENCE_NOTIFY_CLUSTER: "a" };
    expect(read(env).notify).toEqual({ folder: "/n", format: "slack", cluster: "a" });
  });

  it("takes what is set", () => {
    const env = {
      RESILIENCE_HEALTH_PORT: "0",
      RESILIENCE_RESTART_INTERVAL_SECONDS: "30",
      RESILIENCE_API_SERVER_SETTLE_SECONDS: "0",
      RESILIENCE_LOG_READS_PER_SECOND: "100",
      LOG_LEVEL: "debug",
      KUBERNETES_SERVICE_HOST: "10.96.0.1",
      RESILIENCE_FULL_PASS_SECONDS: "5",
      RESILIENCE_WATCH_NAMESPACES: "team-a, team-b",
      RESILIENCE_MODE: "Observe",
    };
    expect(read(env)).toMatchObject({ healthPort: 0, restartIntervalMs: 30_000, logLevel: "debug", healthHost: "*" });
    expect(read(env)).toMatchObject({ apiServerSettleMs: 0, logReadsPerSecond: 100, fullPassMs: 5_000 });
    expect(read(env).mode).toBe("Observe");
    expect(read(env).watchNamespaces).toEqual(["team-a", "team-b"]);
  });

  it("has its Lease in the pod's namespace, unless another is set", () => {
    expect(read({}, "of-the-pod").namespace).toBe("of-the-pod");
    expect(read({ RESILIENCE_NAMESPACE: "another" }, "of-the-pod").namespace).toBe("another");
  });

  it.each([
    [
      { RESILIENCE_HEALTH_PORT: "http" },
      'RESILIENCE_HEALTH_PORT: found "http", expected a whole number from 0 to 65535',
    ],
    [{ RESILIENCE_NOTIFY_FORMAT: "xml" }, 'found "xml", expected cloudevents or slack'],
    [{ RESILIENCE_HEALTH_PORT: "70000" }, "expected a whole number from 0 to 65535"],
    [{ RESILIENCE_RESTART_INTERVAL_SECONDS: "0" }, "expected a whole number from 1 to 3600"],
    [{ RESILIENCE_API_SERVER_SETTLE_SECONDS: "-1" }, "expected a whole number from 0 to 3600"],
    [{ RESILIENCE_FULL_PASS_SECONDS: "1.5" }, "expected a whole number from 5 to 90"],
    [{ RESILIENCE_FULL_PASS_SECONDS: "91" }, "expected a whole number from 5 to 90"],
    [{ RESILIENCE_WATCH_NAMESPACES: "team-a,*" }, 'found "*", expected names of namespaces, separated by commas'],
    [{ RESILIENCE_WATCH_NAMESPACES: "team-a," }, 'found "", expected names of namespaces'],
    [{ RESILIENCE_MODE: "observe" }, 'RESILIENCE_MODE: found "observe", expected Enforce or Observe'],
    [{ LOG_LEVEL: "loud" }, 'LOG_LEVEL: found "loud", expected one of debug, info, warn, error'],
  ])("refuses %j in words", (env, words) => {
    expect(() => read(env as Record<string, string>)).toThrow(words);
  });
});

it.each([
  ["in the watcher's pod and by npm start", { PEPR_WATCH_MODE: "true" }, true],
  ["under pepr dev", { PEPR_MODE: "dev" }, true],
  ["not during the build", { PEPR_MODE: "build", PEPR_WATCH_MODE: "true" }, false],
  ["not in a pod that serves webhooks", {}, false],
])("runsOperator %s", (_sentence, env, expected) => {
  expect(runsOperator(env)).toBe(expected);
});

it("which objects are looked after are those of all namespaces, or of the listed ones and no other", () => {
  expect(isWatched({ watchNamespaces: [] }, "team-a/web")).toBe(true);
  expect(isWatched({ watchNamespaces: ["team-a"] }, "team-a/web")).toBe(true);
  expect(isWatched({ watchNamespaces: ["team-a"] }, "team/web")).toBe(false);
  expect(isWatched({ watchNamespaces: ["team-a"] }, "team-b/team-a")).toBe(false);
});
