import { K8s } from "kubernetes-fluent-client";
import { WatchPhase } from "kubernetes-fluent-client/dist/fluent/shared-types";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FakeServer } from "../src/cluster/testing/fake-server";
import { controllerResilienceCapability, ControllerResilienceKind } from "./controller-resilience";

// Pepr binds a callback only in the process that is to watch, and looks at that when it is loaded.
vi.hoisted(() => (process.env["PEPR_WATCH_MODE"] = "true"));

/** Answers by what is asked for: a first page, its continuation, or news. */
const LISTS: Readonly<Record<string, object>> = {
  first: { metadata: { resourceVersion: "7", continue: "more" }, items: [objectOf("one")] },
  more: { metadata: { resourceVersion: "7" }, items: [objectOf("two")] },
};
const NEWS = { type: "ADDED", object: objectOf("three") };
const ANSWERED = { type: "ADDED", object: { ...objectOf("answered"), status: { observedGeneration: 2 } } };

let requests: URLSearchParams[];
let server: FakeServer;
let watcher: { close(): void } | undefined;

function objectOf(name: string): object {
  const metadata = {
    namespace: "team",
    name,
    uid: `uid-${name}`,
    resourceVersion: "5",
    generation: 2,
    managedFields: [{}],
    labels: {},
  };
  return { apiVersion: "v1", kind: "Any", metadata, spec: { targets: [] }, status: { conditions: [] } };
}

beforeEach(async () => {
  requests = [];
  server = new FakeServer(({ url = "" }) => {
    const { searchParams } = new URL(url, "http://here");
    requests.push(searchParams);
    if (searchParams.get("watch") === "true")
      return { text: [ANSWERED, NEWS].map(line => `${JSON.stringify(line)}\n`).join(""), isOpen: true };
    return { body: LISTS[searchParams.get("continue") ?? "first"] };
  });
  vi.stubEnv("KUBECONFIG", await server.start());
});

afterEach(async () => {
  watcher?.close();
  vi.unstubAllEnvs();
  await server.stop();
});

/** As Pepr watches for the capability, but with a list every second or two. Returns what the client was given back. */
async function watch(enqueue: Parameters<typeof controllerResilienceCapability>[0]): Promise<object[]> {
  const [binding] = controllerResilienceCapability(enqueue).bindings;
  const seen: object[] = [];
  const opened = K8s(ControllerResilienceKind).Watch(
    async (object, phase) => {
      if (phase === WatchPhase.Deleted) return;
      await binding?.watchCallback?.(object, phase);
      seen.push(object);
    },
    { relistIntervalSec: 1 },
  );
  watcher = opened;
  await opened.start();
  return seen;
}

it("enqueues the objects of all pages, and those that come later, once each, unless a status answers their spec", async () => {
  const keys: string[] = [];
  await watch(key => keys.push(key));
  // Three times both pages, and the watch.
  await vi.waitUntil(() => requests.length >= 7, { timeout: 100_000 });
  expect(keys).toEqual(["one", "two", "three"].map(name => `team/${name}`));
  const asked = requests.map(query => [query.get("limit"), query.get("continue"), query.get("watch")]);
  expect(asked.slice(0, 2)).toEqual([
    ["250", null, null],
    ["250", "more", null],
  ]);
  expect(asked).toContainEqual(["250", null, "true"]);
});

it("leaves of an object what the client compares, which keeps it", async () => {
  const seen = await watch(() => undefined);
  await vi.waitUntil(() => seen.length === 4, { timeout: 100_000 });
  expect(seen[0]).toEqual({ metadata: { namespace: "team", name: "one", uid: "uid-one", resourceVersion: "5" } });
});
