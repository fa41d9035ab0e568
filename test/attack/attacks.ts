// What an attacker may try, by the kinds of access in docs/security.md, and the test that shows the outcome.

/** One way to misuse an access. */
export interface Attack {
  /** A heading of docs/security.md, below "What each kind of access gives". */
  readonly by: string;
  readonly tries: string;
  /** The file and the name of the test. */
  readonly test: readonly [file: string, name: string];
}

const POLICY = "test/integration/admission-policy.test.ts";
const CLUSTER_POLICY = "test/integration/admission-policy-cluster.test.ts";
const VOLUME = ["test/attack/hostile.test.ts", "does not slow down the healing of another tenant"] as const;

const attacksBy = (by: string, attempts: readonly (readonly [string, Attack["test"]])[]): Attack[] =>
  attempts.map(([tries, test]) => ({ by, tries, test }));

/** All of them. */
export const ATTACKS: readonly Attack[] = [
  ...attacksBy("Write access to ControllerResiliences", [
    ["have pods evicted, DaemonSets patched or bindings renewed", [POLICY, "needs exactly the rights for %s"]],
    ["do so in another namespace", [POLICY, "needs the right in the namespace of the object"]],
    ["have logs searched for a phrase", [POLICY, "may not search logs for %s in Observe mode"]],
    [
      "have objects of any kind looked at, or a token sent to their own pod",
      [POLICY, "may not have other objects looked at than before"],
    ],
    ["resume what someone suspended", [POLICY, "may stop all remedies with %s, but not start them again"]],
    ["write it suspended, for someone else to resume", [POLICY, "may not widen a suspended object"]],
    ["widen what someone with more rights wrote", [POLICY, "may not widen %s.%s: %j"]],
    ["exceed the policy's cost with a large object", [POLICY, "stays within the cost limit for the largest objects"]],
    ["take a generated object for its own", [CLUSTER_POLICY, "needs the rights of the object: %s"]],
    [
      "copy the marks of a generated object",
      ["src/engine/cluster-wide/plan.test.ts", "leaves out what a hand-written object, or a copy of its own, names"],
    ],
    ["block the event loop by a phrase", ["src/logs/classifier/linear.test.ts", "extraPhrases look at each character"]],
    [
      "block the event loop with maintenance windows of many DaemonSets",
      ["src/remedies/token-lifetime/windows.test.ts", "is that of one plan, however many DaemonSets wait for it"],
    ],
    ["create many, and large ones", VOLUME],
  ]),
  ...attacksBy("Write access to ClusterControllerResiliences", [
    ["use rights where they lack them", [CLUSTER_POLICY, "needs the right to create the objects that are generated"]],
    ["renew any binding", [CLUSTER_POLICY, "needs to update the bindings that it names, and to bind their roles"]],
    ["write it suspended, for someone else to resume", [CLUSTER_POLICY, "may suspend it without that right, but"]],
    ["end all protection", ["src/engine/cluster-wide/brake.test.ts", "waits, says so with the command that allows it"]],
  ]),
  ...attacksBy("Labelling namespaces and workloads", [
    ["opt in or out where it is forbidden", [CLUSTER_POLICY, "leaves the listed keys to those who may update"]],
    [
      "end protection, one namespace after the other",
      ["src/engine/cluster-wide/brake.test.ts", "goes on waiting when they change one after the other"],
    ],
  ]),
  ...attacksBy("Creating Events", [
    [
      "imitate the kubelet to have a CNI agent restarted",
      [
        "src/remedies/token-restart/sandboxes.test.ts",
        "restart nothing, and the message says why and what a person can do",
      ],
    ],
    ["date an Event to the future", ["src/logs/sandboxes.test.ts", "count an Event from the future"]],
    ["write many", VOLUME],
  ]),
  ...attacksBy("Controlling what a protected pod logs", [
    [
      "use up time with one long line",
      ["src/logs/classifier/linear.test.ts", "the time is linear in the length of a record"],
    ],
    [
      "use up memory with 10 MB/s",
      ["test/integration/bounds.test.ts", "finds a quiet pod's 401s beside targets that log"],
    ],
    [
      "use up bytes",
      ["src/logs/reading/container-log.test.ts", "requests a bounded number of bytes from a log of any size"],
    ],
    [
      "keep others from being read",
      ["src/logs/reading/rounds.test.ts", "read suspects first, and healthy logs beside any number"],
    ],
    ["log lines of ten megabytes", VOLUME],
  ]),
  ...attacksBy("Writing Leases", [
    [
      "accuse another program with a Lease",
      ["src/remedies/stall-detection/stall-detection.test.ts", "another program with a Lease in the same namespace"],
    ],
    ["name the pods of another tenant in many", VOLUME],
  ]),
  ...attacksBy("Annotating Namespaces, pods, workloads or bindings", [
    [
      "prolong access by naming a ServiceAccount in a workload",
      ["src/remedies/binding-renewal/consent.test.ts", "stays so however often a target changes its ServiceAccount"],
    ],
    [
      "renew a role that gives more rights",
      ["src/remedies/binding-renewal/role.test.ts", "is not renewed, and the message says what a person can do"],
    ],
    ["revive a binding that has expired", ["src/remedies/binding-renewal/revocation.test.ts", "an expiry in the past"]],
  ]),
];
