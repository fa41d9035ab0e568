import { setTimeout as sleep } from "node:timers/promises";
import { FORBIDDEN_PATH, lister, readablePath, reader } from "../flood/accounts";
import { FLOOD, LoopingClient, type ClientOptions } from "../flood/client";
import { summarize, type Summary } from "../flood/seconds";
import { Lab } from "../lab";
import { flowSchema, priorityLevel, type Level } from "./levels";

/** The namespace of all accounts. */
export const NAMESPACE = "bench-flow";
/** Time for the effects of the previous phase to end. */
const SETTLE_MS = 1_000;

const ACCOUNTS = {
  /** The flooding client; it may list ConfigMaps and nothing else. */
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
    await lab.apply([
      { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
      ...lister(NAMESPACE, ACCOUNTS.flood),
      ...reader(NAMESPACE, ACCOUNTS.other),
      ...reader(NAMESPACE, ACCOUNTS.neighbour),
    ]);
    const start = async (name: string, how: Partial<ClientOptions>): Promise<LoopingClient> =>
      LoopingClient.start({
        kubeconfig: await lab.serviceAccountKubeconfig(NAMESPACE, name),
        path: readablePath(NAMESPACE, name),
        longestSeconds: 7200,
        ...how,
      });
    const other = await start(ACCOUNTS.other, { connections: 2 });
    // At most 50 requests per second, so that this client is not a second flood for the other.
    const neighbour = await start(ACCOUNTS.neighbour, { pauseMs: 20 });
    return new FlowScene(lab, other, neighbour);
  }

  /** Starts the flood. */
  async breakOut(how: Partial<ClientOptions> = FLOOD): Promise<void> {
    this.flood = await LoopingClient.start({
      ...FLOOD,
      kubeconfig: await this.lab.serviceAccountKubeconfig(NAMESPACE, ACCOUNTS.flood),
      path: FORBIDDEN_PATH,
      ...how,
    });
  }

  /** Stops the flood. */
  async calm(): Promise<void> {
    await this.flood?.stop();
    this.flood = undefined;
  }

  /** Assigns the flood to one level and its neighbour to another, or the same; creates the levels, too. */
  async isolate(
    levels: Readonly<Record<string, Level>>,
    floodLevel: string,
    neighbourLevel = floodLevel,
  ): Promise<void> {
    await this.lab.apply([
      ...Object.entries(levels).map(([name, level]) => priorityLevel(name, level)),
      flowSchema(NAMESPACE, ACCOUNTS.neighbour, neighbourLevel),
      flowSchema(NAMESPACE, ACCOUNTS.flood, floodLevel),
    ]);
  }

  /** Deletes the schemas, so that all clients are on the default level of ServiceAccounts. */
  async mix(): Promise<void> {
    const names = [ACCOUNTS.flood, ACCOUNTS.neighbour];
    const { code, stderr } = await this.lab.kubectl(["delete", "flowschemas", ...names, "--ignore-not-found"]);
    if (code !== 0) throw new Error(`the schemas are still there: ${stderr.trim()}`);
  }

  /** Waits until the effects of the previous phase have ended, then measures for that long. */
  async measure(seconds: number, settleMs = SETTLE_MS): Promise<Phase> {
    await sleep(settleMs);
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
