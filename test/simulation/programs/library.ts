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

const MINUTE = 60_000;

/** Requests for which the role `edit` of a namespace is enough. */
export function watchesOf(namespace: string): readonly Asked[] {
  return [
    { verb: "list", group: "apps", resource: "deployments", kind: "Deployment", namespace },
    { verb: "list", group: "", resource: "configmaps", kind: "ConfigMap", namespace },
    { verb: "list", group: "", resource: "pods", kind: "Pod", namespace },
  ];
}

type Maker = (place: Place) => ProgramFactory;

/** An ordinary controller. */
function controller(wording: Wording, special: (dice: Dice) => Partial<ControllerOptions> = () => ({})): Maker {
  return place => context =>
    new Controller(context, { ...base(place, wording, context.dice), ...special(context.dice) });
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

const hangsAlways = controller(CLIENT_GO_NEW, dice => ({
  hangs: { afterMs: dice.between(3, 20) * MINUTE, cause: "hangs-again" },
}));

/** Half of them stop some time, and flood again only after a restart. */
const floods = controller(CLIENT_GO_NEW, dice => ({
  ...{ worksEveryMs: 5_000, requests: 5 * Math.round(dice.between(150, 2_000)) },
  ...(dice.fork("calm").chance(0.5) ? { calmsAfterMs: dice.fork("calm").between(5, 60) * MINUTE } : {}),
}));

/** Handles Widgets; all of its lives have one fate. */
function widgets({ takesMs = [50, 4_000], fate, ...more }: Partial<Omit<WidgetOptions, "base">> = {}): Maker {
  return place => {
    const list = { ...{ verb: "list", group: "example.com", kind: "Widget" }, resource: "widgets" };
    const watches = [{ ...list, namespace: place.namespace }];
    const shared = fate && { ...fate };
    return context => {
      const own = { ...base(place, CONTROLLER_RUNTIME, context.dice), watches, worksEveryMs: 10 * MINUTE };
      return new WidgetController(context, { base: own, takesMs, ...more, ...(shared && { fate: shared }) });
    };
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

/** The library's programs. */
const LIBRARY = {
  "client-go-old": controller(CLIENT_GO_OLD, () => ({ rereadsMs: Infinity })),
  "client-go-middle": controller(CLIENT_GO_MIDDLE),
  "client-go-new": controller(CLIENT_GO_NEW),
  "controller-runtime": controller(CONTROLLER_RUNTIME, () => ({ exitsOnFailure: true })),
  kopf: controller(KOPF),
  fabric8: controller(FABRIC8),
  "kube-rs": controller(KUBE_RS),
  silent: controller(CLIENT_GO_NEW, () => ({ isSilent: true })),
  "copies-token": controller(CLIENT_GO_NEW, () => ({ rereadsMs: Infinity })),
  "kubelet-only": () => context => new KubeletClient(context),
  "other-cluster": () => context =>
    new OtherCluster(context, { everyMs: 20_000, refusedAfterMs: context.dice.between(0, 20) * MINUTE }),
  "other-cluster-late": worksForLong,
  noisy: () => context => new Noisy(context, { everyMs: context.dice.between(2_000, 60_000) }),
  floods,
  hangs: hangsOnce,
  "hangs-again": hangsAlways,
  "hangs-without-lease": hangsAlways,
  "loses-lease": controller(CLIENT_GO_NEW, dice => ({ pausesEveryMs: dice.between(4, 12) * MINUTE })),
  "exits-on-401": controller(CLIENT_GO_NEW, () => ({ exitsOnFailure: true })),
  "ignores-term": controller(CLIENT_GO_NEW, () => ({ ignoresTerm: true })),
  "cni-thin": () => context => new CniAgent(context, true),
  "cni-renewing": () => context => new CniAgent(context, false),
  crashes: () => context => new Broken(context, "crashes"),
  "never-ready": () => context => new Broken(context, "never-ready"),
  "writes-in-parts": () => context => new InParts(context),
  widgets: widgets(),
  "widgets-slow": widgets({ takesMs: [985_000, 999_000] }),
  "widgets-blocked": widgets({ fate: { what: "blocks", afterMs: 35 * MINUTE } }),
  "widgets-hanging": widgets({ tellsFirst: true, fate: { what: "blocks", afterMs: 25 * MINUTE } }),
  "widgets-deaf": widgets({ fate: { what: "deaf", afterMs: 70 * MINUTE } }),
  "widgets-poisoned": widgets({ fate: { poisoned: 4, afterMs: 35 * MINUTE } }),
  "widgets-one-poisoned": widgets({ fate: { poisoned: 1, afterMs: 20 * MINUTE } }),
  "exits-seldom": () => context =>
    new Noisy(context, { everyMs: 30_000, livesMs: context.dice.between(11, 12) * MINUTE }),
} satisfies Record<string, Maker>;

/** The name of one of them. */
export type ProgramName = keyof typeof LIBRARY;

/** All their names. */
export const PROGRAMS = Object.keys(LIBRARY) as readonly ProgramName[];

/** Returns what an image with this program contains. */
export function programOf(name: ProgramName, place: Place): ProgramFactory {
  return LIBRARY[name](place);
}
