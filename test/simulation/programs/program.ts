import type { Obj } from "../server/objects";
import type { Dice } from "../time";
import type { CauseName, State } from "./causes";

/** What a request asks of the API server. */
export interface Asked {
  readonly verb: string;
  /** Empty for the core group. */
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  /** Absent: at the cluster scope. */
  readonly namespace?: string;
  readonly name?: string;
}

/** The status of an answer; 0 stands for none at all, such as a timeout or a refused connection. */
export type Answer = number;

/** The truth about one container. */
export interface Truth {
  readonly state: State;
  readonly cause: CauseName;
  /** Whether a new pod of the same template would work. */
  readonly healedByRestart: boolean;
}

/** A Lease, as its holder writes it. */
export interface LeaseTerms {
  readonly name: string;
  readonly namespace: string;
  readonly seconds: number;
  /** How often its holder renews it. */
  readonly everySeconds: number;
}

const leaseRequests = new WeakMap<LeaseTerms, Asked>();

/** What the holder of a Lease does to it: the same object for the same Lease. */
export function leaseRequest(lease: LeaseTerms): Asked {
  const { name, namespace } = lease;
  const known = leaseRequests.get(lease);
  const asked = { verb: "update", group: "coordination.k8s.io", resource: "leases", kind: "Lease", namespace, name };
  if (known === undefined) leaseRequests.set(lease, asked);
  return known ?? asked;
}

/** What a simulated program has of its machine and of the cluster. It ends with the life of its container. */
export interface ProgramContext {
  /** The name of its pod. */
  readonly pod: string;
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly dice: Dice;
  /** Its node's wall clock, in milliseconds since 1970. */
  nowMs(): number;
  /** Appends records to the log; a record may have several lines. */
  log(...records: string[]): void;
  /** What stands in the mounted file now; undefined if the pod mounts none. */
  token(): string | undefined;
  /** One request, or many alike, to the API server that it is connected to. */
  ask(token: string | undefined, asked: Asked, times?: number): Answer;
  /** Takes or renews a Lease; 409 while another one holds it. */
  renew(token: string | undefined, lease: LeaseTerms): Answer;
  /** Objects of its namespace with its name as their label `app`, as an open watch tells them. */
  objects(resource: string): readonly Obj[];
  /** Writes the status of one of them. */
  writeStatus(token: string | undefined, resource: string, name: string, status: object): Answer;
  /** Gives a Lease back. */
  release(token: string | undefined, lease: LeaseTerms): void;
  /** Writes the credential that the network plugin of the node uses. */
  writeCniCredential(token: string | undefined): void;
  /** Calls back once, unless the container's life has ended. */
  after(delayMs: number, callback: () => void): void;
  setReady(isReady: boolean): void;
  /** Ends this life of the container. */
  exit(code: number): void;
  /** The truth of a program that uses a token, whatever it knows of that. */
  judgeToken(token: string | undefined): Truth;
  /** The truth of a program that asks for this; undefined if its ServiceAccount may. */
  judgeAccess(asked: readonly Asked[]): Truth | undefined;
  /** The truth about the credential that the network plugin of the node uses. */
  judgeCniCredential(): Truth;
}

/** A simulated program in a container. */
export interface Program {
  /** Computed from the world, never from what the operator sees. */
  truth(): Truth;
  onStart(): void;
  /** The container gets SIGTERM; returns how long it takes to end, Infinity if it ignores the signal. */
  onStop?(): number;
  /** Its page of metrics; absent: it has none. */
  page?(): string;
  /** When the API server last answered its own request 401, and it wrote that to its log. Milliseconds since 1970. */
  readonly logged401Ms?: number | undefined;
}

/** What an image contains: a program for each new life of a container. */
export type ProgramFactory = (context: ProgramContext) => Program;

/** The truth of a program without trouble. */
export const WORKS: Truth = { state: "works", cause: "none", healedByRestart: false };
