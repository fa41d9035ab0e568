import { setTimeout as sleep } from "node:timers/promises";
import { QUARANTINE_SETTINGS, SHARED_SETTINGS } from "../../src/remedies/flow-isolation/objects";
import { ClusterClient } from "../cluster/client";
import { flowSchema, priorityLevel, rightsOf, serviceAccount } from "../cluster/objects";
import { FLOOD, LoopingClient, type ClientOptions } from "../flood/client";
import { summarize, type Summary } from "../flood/seconds";
import { Lab } from "../lab";

/** The levels of the remedy flowIsolation, created by plain applies. */
export const SHARED = "bench-shared";
export const QUARANTINE = "bench-quarantine";
const LEVELS = [priorityLevel(SHARED, SHARED_SETTINGS), priorityLevel(QUARANTINE, QUARANTINE_SETTINGS)];

/** The namespace of all accounts. */
const NAMESPACE = "bench-flow";
/** Time for the effects of the previous phase to end. */
const SETTLE_MS = 1_000;

const ACCOUNTS = {
  /** The flooding client. */
  flood: "bench-flood",
  /** Never isolated: represents all other clients. */
  other: "bench-other",
  /** Isolated in the same level as the flood. */
  neighbour: "bench-neighbour",
} as const;

/** The measurements of all clients in one phase. */
export interface Phase {
  readonly other: Summary;
  readonly neighbour: Summary;
  /** Empty, unless the flood has started. */
  readonly flood: Summary;
}

/** A lab for one benchmark: a control plane suffices. */
export function flowLab(print: (line: string) => void): Promise<Lab> {
  return Lab.up({ name: "bench-flow", controlPlaneOnly: true, onProgress: line => print(`lab: ${line}`) });
}

/** A flooding client and two measured clients, in one lab. */
export class FlowScene {
  private flood: LoopingClient | undefined;

  private constructor(
    private readonly lab: Lab,
    private readonly other: LoopingClient,
    private readonly neighbour: LoopingClient,
  ) {}

  /** Creates the accounts, and starts the two measured clients. */
  static async start(lab: Lab): Promise<FlowScene> {
    await ClusterClient.of(lab).apply([
      { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
      serviceAccount({ namespace: NAMESPACE, name: ACCOUNTS.flood }),
      ...reader(ACCOUNTS.other),
      ...reader(ACCOUNTS.neighbour),
    ]);
    const start = async (name: string, how: Partial<ClientOptions>): Promise<LoopingClient> =>
      LoopingClient.start({
        kubeconfig: await lab.serviceAccountKubeconfig(NAMESPACE, name),
        path: `/api/v1/namespaces/${NAMESPACE}/configmaps/${name}`,
        longestSeconds: 7200,
        ...how,
      });
    const other = await start(ACCOUNTS.other, { connections: 2 });
    // At most 50 requests per second, so that this client is not a second flood for the other.
    const neighbour = await start(ACCOUNTS.neighbour, { pauseMs: 20 });
    return new FlowScene(lab, other, neighbour);
  }

  /** Starts the flood. */
  async breakOut(): Promise<void> {
    this.flood = await LoopingClient.start({
      ...FLOOD,
      kubeconfig: await this.lab.serviceAccountKubeconfig(NAMESPACE, ACCOUNTS.flood),
      path: FORBIDDEN_PATH,
    });
  }

  /** Stops the flood. */
  async calm(): Promise<void> {
    await this.flood?.stop();
    this.flood = undefined;
  }

  /** Assigns the flood to a level, and its neighbour to the shared one. */
  async isolate(floodLevel: string): Promise<void> {
    const levelOf = { [ACCOUNTS.neighbour]: SHARED, [ACCOUNTS.flood]: floodLevel };
    const schemas = Object.entries(levelOf).map(([name, level]) =>
      flowSchema(name, level, { namespace: NAMESPACE, name }),
    );
    await ClusterClient.of(this.lab).apply([...LEVELS, ...schemas]);
  }

  /** Deletes the schemas, so that all clients are on the default level of ServiceAccounts. */
  async mix(): Promise<void> {
    const names = [ACCOUNTS.flood, ACCOUNTS.neighbour];
    const { code, stderr } = await this.lab.kubectl(["delete", "flowschemas", ...names, "--ignore-not-found"]);
    if (code !== 0) throw new Error(`the schemas are still there: ${stderr.trim()}`);
  }

  /** Waits until the effects of the previous phase have ended, then measures for that long. */
  async measure(seconds: number): Promise<Phase> {
    await sleep(SETTLE_MS);
    const fromMs = Date.now();
    await sleep(seconds * 1000);
    // Include the second in progress.
    const toMs = Date.now() + 1_000;
    await sleep(1_200);
    const of = (client: LoopingClient): Summary => client.between(fromMs, toMs);
    const flood = this.flood === undefined ? summarize([], fromMs, toMs) : of(this.flood);
    return { other: of(this.other), neighbour: of(this.neighbour), flood };
  }

  /** Stops all clients. */
  async stop(): Promise<void> {
    await Promise.all([this.calm(), this.other.stop(), this.neighbour.stop()]);
  }
}

/** The path that a client without rights requests: every answer is a 403. */
const FORBIDDEN_PATH = "/api/v1/pods?limit=1";

/** A ServiceAccount that may read one ConfigMap of its namespace, and that ConfigMap. */
function reader(name: string): object[] {
  const metadata = { namespace: NAMESPACE, name };
  const configMaps = { apiGroups: [""], resources: ["configmaps"], verbs: ["get"], resourceNames: [name] };
  return [
    serviceAccount(metadata),
    { apiVersion: "v1", kind: "ConfigMap", metadata, data: { key: "value" } },
    ...rightsOf(metadata, metadata, configMaps),
  ];
}
