import type { Dice } from "../time";
import { Controller, type ControllerOptions } from "./controller";
import { Broken, CniAgent, InParts, KubeletClient, Noisy, OtherCluster } from "./others";
import type { Asked, LeaseTerms, ProgramFactory } from "./program";
import {
  CLIENT_GO_MIDDLE,
  CLIENT_GO_NEW,
  CLIENT_GO_OLD,
  CONTROLLER_RUNTIME,
  FABRIC8,
  KOPF,
  KUBE_RS,
  type Wording,
} from "./wordings";
import { WidgetController, type WidgetOptions } from "./widgets";

/** What every program of the library needs to know of its workload. */
export interface Place {
  readonly name: string;
  readonly namespace: string;
  /** Absent: it has none. */
  readonly lease?: LeaseTerms;
}

/** The names of the library's programs. */
export const PROGRAMS = [
  "client-go-old",
  "client-go-middle",
  "client-go-new",
  "controller-runtime",
  "kopf",
  "fabric8",
  "kube-rs",
  "silent",
  "copies-token",
  "kubelet-only",
  "other-cluster",
  "other-cluster-late",
  "noisy",
  "floods",
  "hangs",
  "hangs-again",
  "hangs-without-lease",
  "loses-lease",
  "exits-on-401",
  "ignores-term",
  "cni-thin",
  "cni-renewing",
  "crashes",
  "never-ready",
  "writes-in-parts",
  "widgets",
  "widgets-slow",
  "widgets-blocked",
  "widgets-hanging",
  "widgets-deaf",
  "widgets-poisoned",
  "widgets-one-poisoned",
  "exits-seldom",
] as const;

export type ProgramName = (typeof PROGRAMS)[number];

const MINUTE = 60_000;

/** Requests for which the role `edit` of a namespace is enough. */
export function watchesOf(namespace: string): readonly Asked[] {
  return [
    { verb: "list", group: "apps", resource: "deployments", kind: "Deployment", namespace },
    { verb: "list", group: "", resource: "configmaps", kind: "ConfigMap", namespace },
    { verb: "list", group: "", resource: "pods", kind: "Pod", namespace },
  ];
}

/** Returns what an image with this program contains. */
export function programOf(name: ProgramName, place: Place): ProgramFactory {
  return OTHERS[name]?.(place) ?? (context => new Controller(context, optionsOf(name, place, context.dice)));
}

const OTHERS: Partial<Record<ProgramName, (place: Place) => ProgramFactory>> = {
  "kubelet-only": () => context => new KubeletClient(context),
  "other-cluster": () => context =>
    new OtherCluster(context, { everyMs: 20_000, refusedAfterMs: context.dice.between(0, 20) * MINUTE }),
  "other-cluster-late": () => worksForLong(),
  noisy: () => context => new Noisy(context, { everyMs: context.dice.between(2_000, 60_000) }),
  "writes-in-parts": () => context => new InParts(context),
  "exits-seldom": () => context =>
    new Noisy(context, { everyMs: 30_000, livesMs: context.dice.between(11, 12) * MINUTE }),
  "cni-thin": () => context => new CniAgent(context, true),
  "cni-renewing": () => context => new CniAgent(context, false),
  crashes: () => context => new Broken(context, "crashes"),
  "never-ready": () => context => new Broken(context, "never-ready"),
  hangs: place => hangsOnce(place),
  widgets: place => handlesWidgets(place, {}),
  "widgets-slow": place => handlesWidgets(place, { takesMs: [985_000, 999_000] }),
  "widgets-blocked": place => handlesWidgets(place, { fate: { what: "blocks", afterMs: 35 * MINUTE } }),
  "widgets-hanging": place =>
    handlesWidgets(place, { tellsFirst: true, fate: { what: "blocks", afterMs: 25 * MINUTE } }),
  "widgets-deaf": place => handlesWidgets(place, { fate: { what: "deaf", afterMs: 70 * MINUTE } }),
  "widgets-poisoned": place => handlesWidgets(place, { fate: { poisoned: 4, afterMs: 35 * MINUTE } }),
  "widgets-one-poisoned": place => handlesWidgets(place, { fate: { poisoned: 1, afterMs: 20 * MINUTE } }),
};

/** All of its lives have one fate. */
function handlesWidgets(
  place: Place,
  { takesMs = [50, 4_000], fate, ...more }: Partial<Omit<WidgetOptions, "base">>,
): ProgramFactory {
  const { namespace } = place;
  const list = { verb: "list", group: "example.com", resource: "widgets", kind: "Widget", namespace };
  const shared = fate && { ...fate };
  return context => {
    const own = { ...base(place, CONTROLLER_RUNTIME, context.dice), watches: [list], worksEveryMs: 10 * MINUTE };
    return new WidgetController(context, { base: own, takesMs, ...more, ...(shared && { fate: shared }) });
  };
}

/** The other cluster refuses all at once, after more than half an hour; a successor a moment after its start. */
function worksForLong(): ProgramFactory {
  let lives = 0;
  return context => {
    const { dice } = context;
    const refusedAfterMs = (lives++ === 0 ? dice.between(40, 41) : dice.between(0.3, 1)) * MINUTE;
    return new OtherCluster(context, { everyMs: 12_000, refusedAfterMs });
  };
}

/** Only its first life hangs, so a restart heals it: not before the operator has seen four renewals of its Lease. */
function hangsOnce(place: Place): ProgramFactory {
  let lives = 0;
  return context => {
    const { dice } = context;
    const isRare = (place.lease?.everySeconds ?? 0) > 60;
    const afterMs = (isRare ? dice.between(65, 75) : dice.between(5, 40)) * MINUTE;
    const hangs = { afterMs, cause: "hangs" } as const;
    return new Controller(context, { ...base(place, CLIENT_GO_NEW, dice), ...(lives++ === 0 ? { hangs } : {}) });
  };
}

const WORDING: Partial<Record<ProgramName, Wording>> = {
  "client-go-old": CLIENT_GO_OLD,
  "client-go-middle": CLIENT_GO_MIDDLE,
  "controller-runtime": CONTROLLER_RUNTIME,
  kopf: KOPF,
  fabric8: FABRIC8,
  "kube-rs": KUBE_RS,
};

function optionsOf(name: ProgramName, place: Place, dice: Dice): ControllerOptions {
  return { ...base(place, WORDING[name] ?? CLIENT_GO_NEW, dice), ...SPECIALS[name]?.(dice) };
}

function base({ name, namespace, lease }: Place, wording: Wording, dice: Dice): ControllerOptions {
  return {
    name,
    wording,
    watches: watchesOf(namespace),
    worksEveryMs: dice.between(10_000, 60_000),
    readiness: dice.pick(["start", "start", "first-list", "lists"] as const),
    ...(lease === undefined ? {} : { lease }),
  };
}

const hangsAlways = (dice: Dice): Partial<ControllerOptions> => ({
  hangs: { afterMs: dice.between(3, 20) * MINUTE, cause: "hangs-again" },
});

const SPECIALS: Partial<Record<ProgramName, (dice: Dice) => Partial<ControllerOptions>>> = {
  "client-go-old": () => ({ rereadsMs: Infinity }),
  "copies-token": () => ({ rereadsMs: Infinity }),
  "controller-runtime": () => ({ exitsOnFailure: true }),
  "exits-on-401": () => ({ exitsOnFailure: true }),
  silent: () => ({ isSilent: true }),
  floods: dice => ({ worksEveryMs: 5_000, requests: 5 * Math.round(dice.between(150, 2_000)) }),
  "hangs-again": hangsAlways,
  "hangs-without-lease": hangsAlways,
  "loses-lease": dice => ({ pausesEveryMs: dice.between(4, 12) * MINUTE }),
  "ignores-term": () => ({ ignoresTerm: true }),
};
