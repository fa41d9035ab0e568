import * as deaths from "./deaths";
import type { Death } from "./deaths";
import type { Program, Variant } from "./programs";

/** One instance of a real program and its fate. */
export interface Animal {
  readonly name: string;
  readonly program: Program;
  readonly death: Death;
  readonly evidence: readonly string[];
  /** Part of the message that names the cause; absent: it must not be accused. */
  readonly found?: RegExp;
  readonly variant: Variant;
}

type Sign = readonly [found: RegExp, evidence?: readonly string[]];

const ALL = ["Lease", "Forbidden", "LeaderLoss"];

const STANDS = /holds Lease .* no longer renews it/;

/** Programs with a Lease, by the names of their instances. */
const HOLDERS: Readonly<Record<string, Program>> = {
  scheduler: "kube-scheduler",
  kcm: "kube-controller-manager",
  descheduler: "descheduler",
  manager: "controller-runtime",
  fabric8: "fabric8",
  asyncio: "kubernetes_asyncio",
};

/** Programs without a Lease. */
const OTHERS: Readonly<Record<string, Program>> = {
  node: "@kubernetes/client-node",
  python: "Python kubernetes",
  kopf: "kopf",
};

/** All of them. Add a program in programs.ts, and its name above. */
export const ANIMALS: readonly Animal[] = [
  ...Object.entries(HOLDERS).flatMap(([name, program]) => [
    // Four durations of its Lease are nine minutes.
    ...(program === "descheduler" ? [] : [victim(`${name}-hung`, program, deaths.HANGS, [STANDS])]),
    // Its log does not name the request that is denied.
    victim(`${name}-denied`, program, deaths.LEASE_DENIED, [
      program === "kubernetes_asyncio" ? STANDS : /RoleBinding \S+-denied(-lease)? .* was deleted/,
    ]),
    innocent(`${name}-healthy`, program, deaths.HEALTHY),
  ]),
  ...Object.entries(OTHERS).map(([name, program]) => innocent(`${name}-healthy`, program, deaths.HEALTHY)),
  // The others keep the watch that they have, which is not authorized again for minutes.
  victim("node-unbound", "@kubernetes/client-node", deaths.UNBOUND, [/RoleBinding node-unbound .* was deleted/]),
  victim("python-unbound", "Python kubernetes", deaths.UNBOUND, [/RoleBinding python-unbound .* was deleted/]),
  ...["scheduler", "kcm", "fabric8", "asyncio"].map(name =>
    victim(`${name}-401`, HOLDERS[name]!, deaths.RECREATED, [STANDS]),
  ),
  victim("scheduler-taken", "kube-scheduler", deaths.TAKEN, [
    /lost its Lease 3 or more times .*no denial/,
    ["LeaderLoss"],
  ]),
  victim("kcm-denied-again", "kube-controller-manager", deaths.DENIED_AGAIN, [
    /lost its Lease 3 .* 403/,
    ["LeaderLoss"],
  ]),
  victim("manager-throttled", "controller-runtime", deaths.THROTTLED, [
    /lost its Lease 3 or more times/,
    ["LeaderLoss"],
  ]),
  innocent("scheduler-suspended", "kube-scheduler", deaths.SUSPENDED),
  innocent("fabric8-suspended", "fabric8", deaths.SUSPENDED),
  innocent("scheduler-scaled", "kube-scheduler", deaths.SCALED),
  innocent("manager-rolled", "controller-runtime", deaths.ROLLED),
  innocent("scheduler-two", "kube-scheduler", deaths.HANDED_OVER, { replicas: 2 }),
  innocent("asyncio-two", "kubernetes_asyncio", deaths.HANDED_OVER, { replicas: 2 }),
  innocent("manager-without", "controller-runtime", deaths.SWITCHED_OFF, { kind: "StatefulSet" }),
  innocent("descheduler-locks", "descheduler", deaths.LOCKS),
  innocent("python-never", "Python kubernetes", deaths.NEVER_ALLOWED, { mayRead: false }),
  innocent("kopf-never", "kopf", deaths.NEVER_ALLOWED, { mayRead: false }),
];

function victim(name: string, program: Program, death: Death, [found, evidence = ALL]: Sign): Animal {
  return { name, program, death, evidence, found, variant: {} };
}

function innocent(name: string, program: Program, death: Death, variant: Variant = {}): Animal {
  return { name, program, death, evidence: ALL, variant };
}
