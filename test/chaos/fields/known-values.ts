import type { Values } from "./values";
import { FOREIGN_LEVEL, IN_THREE_DAYS, LABEL, NAMESPACE, WORKLOADS } from "./world";

// Values that can't be derived from the schema: names, selectors, patterns, dates; and values with a meaning that their type does not show.

const NOT_FOUND = { oracle: "none", says: ["TokensAccepted", "TargetNotFound"] } as const;
const NOBODY = { [LABEL.key]: "nobody" };
const AGENT = { kind: "DaemonSet", name: WORKLOADS.DaemonSet };
const WEB = { kind: "Deployment", name: WORKLOADS.Deployment };
const STORE = { kind: "StatefulSet", name: WORKLOADS.StatefulSet };
const OURS = { matchLabels: { [LABEL.key]: LABEL.value } };

const ALWAYS = { schedule: "* * * * *", duration: "10m" };

function times<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

const nowhere = (i: number) => ({ kind: "Deployment", name: `nowhere-${i}` });
const label = (i: number) => [`key-${i}`, "value"];
const phrase = (i: number) => `refused by gateway ${i}`;
const lease = (i: number) => ({ namespace: NAMESPACE, name: `nowhere-${i}` });
const noBinding = (i: number) => ({ kind: "RoleBinding", name: `nowhere-${i}` });

/** By path. */
export const knownValues: Readonly<Record<string, Values>> = {
  // By design, Observe and suspend leave created objects unchanged.
  mode: {
    valid: [{ value: "Observe", oracle: "before" }, { value: "Enforce" }, { value: undefined }],
    refused: [{ value: "Maybe", words: /supported values: "Enforce", "Observe"/ }],
  },
  suspend: {
    valid: [{ value: true, oracle: "before", says: ["Ready", "Suspended"] }, { value: false }, { value: undefined }],
    refused: [{ value: "yes", words: /boolean/ }],
  },
  // All are always open: what waits for a window would differ from a fresh object.
  "tokenLifetime.windows": {
    valid: [{ value: [] }, { value: [ALWAYS, { ...ALWAYS, timeZone: "Asia/Tokyo" }] }, { value: undefined }],
    refused: [
      { value: times(17, () => ALWAYS), words: /at most 16 items/ },
      { value: [{ schedule: ALWAYS.schedule }], words: /duration: Required/ },
    ],
  },
  "tokenLifetime.windows[].schedule": {
    valid: [{ value: "*/5 * * * *" }, { value: "0,10,20,30,40,50 0-23 * JAN-DEC 0-6" }],
    refused: ["@daily", "0 2 * *", "0 0 2 * * 6", ""].map(value => ({ value, words: /expected a cron schedule/ })),
  },
  "tokenLifetime.windows[].timeZone": {
    valid: [{ value: "Europe/Berlin" }, { value: undefined }],
    refused: ["+02:00", ""].map(value => ({ value, words: /expected an IANA time zone/ })),
  },
  targets: {
    valid: [
      { value: [AGENT] },
      { value: [STORE, STORE] },
      { value: [WEB, { kind: "DaemonSet", selector: OURS }] },
      { value: Object.keys(WORKLOADS).map(kind => ({ kind, selector: OURS })) },
      { value: [AGENT, ...times(31, nowhere)], ...NOT_FOUND },
    ],
    refused: [
      { value: [], words: /at least 1 items/ },
      { value: times(33, nowhere), words: /at most 32 items/ },
      { value: [{ ...AGENT, selector: OURS }], words: /expected exactly one of name and selector/ },
    ],
  },
  "targets[].kind": {
    valid: [
      { value: "DaemonSet" },
      { value: "Deployment", with: { name: WORKLOADS.Deployment, selector: undefined } },
      { value: "StatefulSet", with: { name: WORKLOADS.StatefulSet, selector: undefined } },
      { value: "StatefulSet", with: { name: WORKLOADS.DaemonSet, selector: undefined }, ...NOT_FOUND },
    ],
    refused: ["Job", "Pod"].map(value => ({
      value,
      words: /supported values: "Deployment", "StatefulSet", "DaemonSet"/,
    })),
  },
  "targets[].name": {
    valid: [
      { value: WORKLOADS.DaemonSet, with: { selector: undefined } },
      { value: undefined, with: { selector: OURS } },
      { value: "n", with: { selector: undefined }, ...NOT_FOUND },
      { value: "n".repeat(253), with: { selector: undefined }, ...NOT_FOUND },
    ],
    refused: ["", "A_b", "-a", "n".repeat(254)].map(value => ({
      value,
      with: { selector: undefined },
      words: /expected a name of lower-case letters|at least 1 chars|may not be more than 253/,
    })),
  },
  "targets[].selector": {
    valid: [
      { value: OURS, with: { name: undefined } },
      { value: undefined, with: { name: WORKLOADS.DaemonSet } },
      { value: { matchLabels: NOBODY }, with: { name: undefined }, ...NOT_FOUND },
    ],
    refused: [
      { value: {}, with: { name: undefined }, words: /expected at least one label or expression/ },
      { value: OURS, with: { name: WORKLOADS.DaemonSet }, words: /expected exactly one of name and selector/ },
    ],
  },
  "targets[].selector.matchLabels": {
    valid: [
      { value: { [LABEL.key]: LABEL.value, app: WORKLOADS.DaemonSet } },
      { value: {} },
      { value: undefined },
      { value: NOBODY, ...NOT_FOUND },
      { value: { "no key": "no value!" }, ...NOT_FOUND },
    ],
    refused: [
      { value: Object.fromEntries(times(33, label)), words: /at most 32 items|at most 32 properties/ },
      { value: { [LABEL.key]: "v".repeat(64) }, words: /may not be more than 63/ },
    ],
  },
  "targets[].selector.matchExpressions": {
    valid: [
      { value: [] },
      { value: undefined },
      { value: [{ key: LABEL.key, operator: "Exists" }] },
      { value: [{ key: LABEL.key, operator: "NotIn", values: ["nobody"] }] },
      { value: [{ key: LABEL.key, operator: "DoesNotExist" }], ...NOT_FOUND },
    ],
    refused: [
      { value: times(33, i => ({ key: `key-${i}`, operator: "Exists" })), words: /at most 32 items/ },
      { value: [{ operator: "Exists" }], words: /key: Required value/ },
    ],
  },
  "targets[].selector.matchExpressions[].key": {
    valid: [{ value: LABEL.key }, { value: "app", with: { values: [WORKLOADS.DaemonSet] } }],
    refused: [
      { value: "", words: /at least 1 chars/ },
      { value: "k".repeat(318), words: /may not be more than 317/ },
    ],
  },
  "targets[].selector.matchExpressions[].operator": {
    valid: [
      { value: "In" },
      { value: "Exists", with: { values: undefined } },
      { value: "NotIn", with: { values: ["nobody"] } },
      { value: "NotIn", ...NOT_FOUND },
      { value: "DoesNotExist", with: { values: undefined }, ...NOT_FOUND },
    ],
    refused: [
      { value: "Like", words: /supported values: "In", "NotIn", "Exists", "DoesNotExist"/ },
      { value: "Exists", words: /expected values with In and NotIn, and none with Exists/ },
    ],
  },
  "targets[].selector.matchExpressions[].values": {
    valid: [{ value: [LABEL.value] }, { value: [LABEL.value, ...times(63, i => `other-${i}`)] }],
    refused: [
      { value: [], words: /expected values with In and NotIn/ },
      { value: undefined, words: /expected values with In and NotIn/ },
      { value: times(65, i => `other-${i}`), words: /at most 64 items/ },
    ],
  },
  // A container that no pod has keeps the condition Unknown, so the object never settles; src/remedies/token-restart has tests of that.
  "tokenRestart.containers": {
    valid: [{ value: [] }, { value: undefined }, { value: ["main"] }],
    refused: [
      { value: times(33, i => `container-${i}`), words: /at most 32 items/ },
      { value: ["main", "main"], words: /[Dd]uplicate/ },
      { value: [""], words: /at least 1 chars/ },
    ],
  },
  "tokenRestart.extraPhrases": {
    valid: [{ value: [] }, { value: undefined }, { value: ["401 from *"] }, { value: times(16, phrase) }],
    refused: [
      { value: times(17, phrase), words: /at most 16 items/ },
      { value: ["ab"], words: /at least 3 chars/ },
      { value: ["    "], words: /not only white space/ },
    ],
  },
  "bindingRenewal.bindings": {
    valid: [
      { value: [] },
      { value: undefined },
      { value: ["soon", "late"].map(name => ({ kind: "RoleBinding", name })) },
      { value: [{ kind: "ClusterRoleBinding", name: NAMESPACE }] },
      { value: times(64, noBinding), says: ["BindingsCurrent", "TargetNotFound"] },
    ],
    refused: [
      { value: times(65, noBinding), words: /at most 64 items/ },
      { value: [{ kind: "RoleBinding" }], words: /name: Required value/ },
    ],
  },
  "bindingRenewal.bindings[].kind": {
    valid: [{ value: "RoleBinding" }, { value: "ClusterRoleBinding", with: { name: NAMESPACE } }],
    refused: [{ value: "Role", words: /supported values: "RoleBinding", "ClusterRoleBinding"/ }],
  },
  "bindingRenewal.bindings[].name": {
    valid: [{ value: "late" }, { value: "soon" }, { value: "n", says: ["BindingsCurrent", "TargetNotFound"] }],
    refused: [
      { value: "", words: /at least 1 chars/ },
      { value: "n".repeat(254), words: /may not be more than 253/ },
    ],
  },
  "bindingRenewal.renewUntil": {
    valid: [
      { value: undefined },
      { value: null },
      { value: "2090-01-01T00:00:00Z" },
      // The result depends on whether an earlier value renewed the binding beyond this date; renewals are not reverted.
      { value: IN_THREE_DAYS, oracle: "none" },
      { value: "2020-01-01T00:00:00Z", says: ["BindingsCurrent", "RenewalEnded"] },
    ],
    refused: ["tomorrow", "2027-01-01"].map(value => ({ value, words: /date-time/ })),
  },
  "stallDetection.leases": {
    valid: [{ value: [] }, { value: undefined }, { value: times(8, lease) }],
    refused: [
      { value: times(9, lease), words: /at most 8 items/ },
      { value: [{ name: "web" }], words: /namespace: Required value/ },
    ],
  },
  "stallDetection.leases[].namespace": {
    valid: [{ value: "nowhere" }, { value: NAMESPACE }],
    refused: ["a/b", "-a", ""].map(value => ({ value, words: /expected a namespace|at least 1 chars/ })),
  },
  "stallDetection.leases[].name": {
    valid: [{ value: "n" }, { value: "a.b-c" }],
    refused: ["a/b", "-a", ""].map(value => ({ value, words: /expected a name of lower-case|at least 1 chars/ })),
  },
  "flowIsolation.priorityLevel": {
    valid: [
      { value: "" },
      { value: undefined },
      { value: FOREIGN_LEVEL },
      { value: "workload-low" },
      // If the level can't be used, no FlowSchema is created or moved.
      {
        value: "nowhere",
        oracle: "before",
        says: ["FlowsIsolated", "LevelUnusable"],
      },
      { value: "exempt", oracle: "before", says: ["FlowsIsolated", "LevelUnusable"] },
    ],
    refused: [{ value: "A_b", words: /expected nothing or the name of a Priority/ }],
  },
};
