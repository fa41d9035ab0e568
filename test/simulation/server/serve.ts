import type { Clock } from "../../../src/core/time";
import type { LogOptions } from "../cluster/log-store";
import type { Dice } from "../time";
import type { Access, Identity } from "./access";
import type { KindInfo } from "./kinds";
import type { Obj } from "./objects";
import type { Ask } from "./request";
import type { Store } from "./store";

/** What the kubelets know. */
export interface Runtime {
  /** The log of a container; undefined: there is none, or no such container has run. */
  logs(pod: Obj, container: string, options: LogOptions): string | undefined;
}

/** What the verbs work with. */
export interface World {
  readonly clock: Clock;
  readonly dice: Dice;
  readonly store: Store;
  readonly access: Access;
  readonly runtime: Runtime;
}

/** A request that is authenticated and authorized. */
export interface Allowed {
  readonly ask: Ask;
  readonly identity: Identity;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly server: number;
  /** A fault: the state of so long ago, in milliseconds. */
  readonly staleMs: number;
}

/** The same, for a kind that is served. */
export interface Call extends Allowed {
  readonly info: KindInfo;
  /** Undefined for a cluster-scoped kind. */
  readonly namespace: string | undefined;
}

/** An answer with its whole body. */
export interface Served {
  readonly code: number;
  readonly body: string;
  readonly contentType?: string;
  /** For listeners: the object that was written, before and after. */
  readonly before?: Obj | undefined;
  readonly after?: Obj | undefined;
}
