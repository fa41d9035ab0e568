import { expect, it } from "vitest";
import type { ControllerResilience } from "../../../api/controller-resilience";
import { makeObject } from "../../../core/testing/objects";
import { eventFacts, type EventFacts, type OperatorState } from "../reader";
import { parseSubject } from "../subject";
import { explain, type ExplainFacts } from "./explain";
import { formatExplanation } from "./format";
import type { LiveSubject } from "./live";

const NOW = Date.parse("2026-01-31T12:00:00Z");
const ago = (minutes: number): string => new Date(NOW - minutes * 60_000).toISOString();

function object(changes: { spec?: object; status?: object } = {}): ControllerResilience {
  const targets = [{ kind: "Deployment", name: "web" }];
  const spec = { targets, tokenRestart: { cooldown: "10m", maxRestarts: 3 }, ...changes.spec };
  return makeObject(
    "shop/app",
    spec as never,
    {
      conditions: [
        { type: "Ready", status: "True", reason: "AllHold", message: "fine", lastTransitionTime: ago(60) },
        {
          type: "TokensAccepted",
          status: "False",
          reason: "BreakerTripped",
          message: "m ".repeat(90),
          lastTransitionTime: ago(3),
        },
        { type: "Stalled", status: "False", reason: "Idle", message: "", lastTransitionTime: ago(60) },
      ],
      targets: [
        { kind: "Deployment", name: "web", pods: 3, rejectedPods: 1, lastUnauthorizedTime: ago(1) },
        { kind: "Deployment", name: "other", pods: 1, rejectedPods: 0 },
      ],
      restarts: [
        {
          pod: "web-1",
          podUID: "p",
          workload: "Deployment/web",
          time: ago(4),
          cause: "Unknown",
          outcome: "Ineffective",
        },
      ],
      ...changes.status,
    } as never,
  );
}

const pod: LiveSubject = {
  namespace: "shop",
  ids: ["Pod/web-2", "ReplicaSet/web-7d", "Deployment/web", "ServiceAccount/web"],
  uids: new Set(["p2"]),
  workloads: [{ kind: "Deployment", name: "web", labels: { app: "web" } }],
  notes: ["Created 1h ago."],
};

const explained = (changes: Partial<ExplainFacts> = {}) =>
  explain({
    nowMs: NOW,
    subject: parseSubject("app", "shop"),
    objects: [object()],
    events: [],
    unread: [],
    session: { command: line => line },
    ...changes,
  });

const text = (changes: Partial<ExplainFacts> = {}): string =>
  formatExplanation(explained(changes), { paint: (_, plain) => plain, columns: 80, nowMs: NOW });

it("shows what is wrong first, with its help, and the command that helps", () => {
  const [one] = explained().objects;
  expect(one?.conditions.map(({ type }) => type)).toEqual(["TokensAccepted", "Ready"]);
  expect(one?.conditions[0]?.help).toContain("until a person resets the breaker");
  expect(one?.actions).toEqual([
    {
      text: "find out why the restarts did not help, then reset the breaker:",
      command:
        "kubectl annotate lease -n controller-resilience-system controller-resilience controller-resilience.io/breaker-",
    },
  ]);
  const operator = { lease: "mine/controller-resilience", leads: true };
  expect(explained({ operator }).objects[0]?.actions[0]?.command).toContain("annotate lease -n mine ");
  const deferred = explained({
    operator: { ...operator, breaker: "why" },
    ...observed([{ reason: "RestartDeferred" }]),
  });
  expect(deferred.objects[0]?.actions[0]?.command).toContain("controller-resilience.io/breaker-");
});

/** In Observe mode, with these conditions. */
const observed = (conditions: object[], status: object = {}): Pick<ExplainFacts, "objects"> => {
  const condition = { type: "TokensAccepted", status: "False", message: "m", lastTransitionTime: ago(3) };
  const all = conditions.map(one => ({ ...condition, ...one }));
  return { objects: [object({ spec: { mode: "Observe" }, status: { conditions: all, ...status } })] };
};

it("shows the message of a condition that is True, which names what the operator cannot tell", () => {
  const of = (reason: string, message: string, type = "TokensAccepted") =>
    text(observed([{ type, status: "True", reason, message }]));
  expect(of("Suspected", "Pod web-1 is older than its ServiceAccount.")).toContain("    Pod web-1 is older");
  expect(of("Accepted", "Part of the log of pod web-1 was skipped.")).toContain("    Part of the log");
  expect(of("Isolated", "ServiceAccount web is left to FlowSchema x.", "FlowsIsolated")).toContain(
    "    ServiceAccount",
  );
  expect(of("AllHold", "All remedies report True.", "Ready")).not.toContain("All remedies");
});

it("shows of an object only what concerns the pod, its workload and its ServiceAccount", () => {
  const subject = parseSubject("pod/web-2", "shop");
  const [one] = explained({ subject, live: pod }).objects;
  expect(one?.evidence).toEqual([
    "Deployment/web: pods: 3; rejected pods: 1",
    "Deployment/web: pod: web-1; time: 4m ago (2026-01-31 11:56:00Z); cause: Unknown; outcome: Ineffective",
  ]);
  const foreign = { ...pod, ids: ["Pod/db-0", "StatefulSet/db"], workloads: [] };
  expect(explained({ subject, live: foreign }).objects).toEqual([]);
  expect(text({ subject, live: foreign })).toContain("No ControllerResilience concerns it");
  const binding = { subject: parseSubject("rolebinding/web", "shop"), live: { ...foreign, ids: ["RoleBinding/web"] } };
  expect(text(binding).replaceAll(/\s+/g, " ")).toContain("leaves it alone. It has no expiry, or is of no target");
  expect(text({ subject, live: foreign, unread: ["list x: no rights (403)"] })).not.toContain("leaves it alone");
});

it("finds a workload by the selector of a target", () => {
  const targets = [{ kind: "Deployment", selector: { matchLabels: { app: "web" } } }];
  const live = { ...pod, ids: ["Pod/web-2", "Deployment/web"] };
  const found = (namespace: string) =>
    explained({
      live: { ...live, namespace },
      objects: [object({ spec: { targets }, status: { targets: [], restarts: [] } })],
    }).objects.length;
  expect([found("shop"), found("elsewhere")]).toEqual([1, 0]);
});

it("finds a ClusterRoleBinding by its name in an object of any namespace", () => {
  const bindingRenewal = { bindings: [{ kind: "ClusterRoleBinding", name: "on-call" }] };
  const live = { ids: ["ClusterRoleBinding/on-call"], uids: new Set<string>(), workloads: [], notes: [] };
  const found = (spec: object) => explained({ live, objects: [object({ spec })] }).objects.length;
  expect([found({ bindingRenewal }), found({})]).toEqual([1, 0]);
});

const none = { lease: "system/controller-resilience", leads: false };

const flows = [{ serviceAccount: "web", state: "Throttled", since: ago(9), until: ago(-1) }];

it("says when a throttle ends and a binding is renewed only while the operator acts, and always when it expires", () => {
  const bindings = [
    { kind: "RoleBinding", name: "b", namespace: "shop", state: "Current", renewTime: ago(-5), expiryTime: ago(-60) },
  ];
  const of = (operator: OperatorState, spec: object = {}) =>
    explained({ operator, objects: [object({ spec, status: { flows, bindings, targets: [], restarts: [] } })] })
      .objects[0]?.evidence;
  const throttled = "ServiceAccount/web: state: Throttled; since: 9m ago (2026-01-31 11:51:00Z)";
  const past = [throttled, "RoleBinding/b: state: Current; expiry time: in 1h (2026-01-31 13:00:00Z)"];
  const leading = { ...none, leads: true };
  expect(of(leading)).toEqual([
    `${throttled}; until: in 1m (2026-01-31 12:01:00Z)`,
    "RoleBinding/b: state: Current; renew time: in 5m (2026-01-31 12:05:00Z); expiry time: in 1h (2026-01-31 13:00:00Z)",
  ]);
  expect([of(none), of(leading, { mode: "Observe" }), of(leading, { suspend: true })]).toEqual([past, past, past]);
});

it("says how to end a throttle or to resume: by the object's own spec, or its owner's, while the operator acts on it", () => {
  const commandOf = (one: ControllerResilience): string | undefined =>
    explained({ objects: [one] }).objects[0]?.actions.at(-1)?.command;
  const throttled = object({ status: { flows } });
  const onRunaway = '{"flowIsolation":{"requestRate":{"onRunaway":"Report"}}}';
  expect(commandOf(throttled)).toBe(`kubectl patch cres app -n shop --type merge -p '{"spec":${onRunaway}}'`);
  const { apiVersion } = throttled;
  const ownerReferences = [{ apiVersion, kind: "ClusterControllerResilience", name: "app", uid: "o" }];
  expect(commandOf({ ...throttled, metadata: { ...throttled.metadata, ownerReferences } })).toBe(
    `kubectl patch ccres app --type merge -p '{"spec":{"template":${onRunaway}}}'`,
  );
  const suspended = object({ spec: { suspend: true }, status: { conditions: [] } });
  expect(commandOf({ ...suspended, metadata: { ...suspended.metadata, ownerReferences } })).toBe(
    `kubectl patch ccres app --type merge -p '{"spec":{"suspend":false}}'`,
  );
  // Of another version, whose owner nobody looks for, an author can write whatever owner.
  const forged = ownerReferences.map(owner => ({ ...owner, apiVersion: "v1" }));
  expect(commandOf({ ...suspended, metadata: { ...suspended.metadata, ownerReferences: forged } })).toBe(
    `kubectl patch cres app -n shop --type merge -p '{"spec":{"suspend":false}}'`,
  );
  expect(commandOf(object({ spec: { mode: "Observe" }, status: { flows } }))).toBe(
    "kubectl get flowschemas -l app.kubernetes.io/managed-by=controller-resilience",
  );
});

const event = (changes: Partial<EventFacts>): EventFacts => ({
  ...{ time: ago(2), reason: "PodEvicted", note: "n" },
  ...{ kind: "Pod", name: "web-2", uids: ["p2", "uid-of-app"], ...changes },
});

it("shows the Events of this object alone, and those that say the same once", () => {
  const events = [
    event({ time: ago(8) }),
    event({ time: ago(5) }),
    event({ note: "of another object", uids: ["p2", "other"] }),
    event({ note: "of a deleted namesake", uids: ["gone"], kind: "ControllerResilience", name: "app" }),
    event({ note: "of an earlier pod", uids: ["p1", "uid-of-app"] }),
  ];
  const told = (facts: Partial<ExplainFacts>) =>
    explained({ events, ...facts }).objects[0]?.timeline.map(({ time, note }) => `${time} ${note}`);
  expect(told({})).toEqual([`${ago(5)} n`, `${ago(2)} of an earlier pod`]);
  expect(told({ live: pod })).toEqual([`${ago(5)} n`]);
  expect(text({ events })).toContain("Timeline\n  - 5m ago (2026-01-31 11:55:00Z) PodEvicted: n\n");
});

it("says that what the conditions tell is old while no replica leads, and where to look", () => {
  const all = text({ operator: none });
  expect(all).toContain("State that the last leader left; now unknown\n  TokensAccepted was False BreakerTripped;");
  expect(all).toContain("    kubectl get pods -n system\n");
  expect(text({ operator: { ...none, leads: true } })).toContain("State\n  TokensAccepted False BreakerTripped;");
});

it("is readable in 80 columns", () => {
  const long = text({
    operator: { lease: "system/controller-resilience", leads: false, breaker: "why ".repeat(60) },
    unread: ["list events.events.k8s.io in shop: no rights (403)"],
  });
  // A command stays whole, so that it can be copied.
  expect(long.split("\n").filter(line => line.length > 80 && !line.startsWith("    kubectl "))).toEqual([]);
  expect(long).toContain("no replica leads");
  expect(long).toContain("Not readable, so unknown");
});

it("takes only Events of the operator, without control characters", () => {
  const raw = {
    eventTime: ago(2),
    reason: "Restarted",
    note: "a\u001b[31mb",
    regarding: { kind: "Pod", name: "web-1", namespace: "shop" },
  };
  expect(eventFacts({ ...raw, reportingController: "kubelet" })).toBeNull();
  expect(eventFacts({ ...raw, reportingController: "controller-resilience" })?.note).toBe("a [31mb");
});

it.each(["nope/x", "pod/", "pod/a/b", ""])("refuses %s as an object", bad => {
  expect(() => parseSubject(bad, "shop")).toThrow(/^expected NAME or KIND\/NAME, got/);
});

it("knows kubectl's names of the kinds", () => {
  expect(parseSubject("deploy/web", "shop")).toEqual({ kind: "Deployment", namespace: "shop", name: "web" });
  expect(parseSubject("deployments.apps/web", "shop").kind).toBe("Deployment");
  expect(parseSubject("clusterrolebinding/x", "shop")).toEqual({ kind: "ClusterRoleBinding", name: "x" });
});
