import { setTimeout as sleep } from "node:timers/promises";
import { FORBIDDEN_PATH, lister, readablePath, reader } from "../flood/accounts";
import { FLOOD, LoopingClient, type ClientOptions } from "../flood/client";
import { summarize, type Summary } from "../flood/seconds";
import { Lab } from "../lab";
import { flowSchema, priorityLevel, type Level } from "./levels";

/** Where everybody has an account. */
export const NAMESPACE = "bench-flow";
/** What is left of the phase before. */
const SETTLE_MS = 1_000;

const ACCOUNTS = {
  /** Loops; it may list ConfigMaps and nothing else. */
  flood: "bench-flood",
  /** Never isolated: it stands for everybody else. */
  other: "bench-other",
  /** Isolated in the same level as the flood. */
  neighbour: "bench-neighbour",
} as const;

/** What everybody was answered in one phase. */
export interface Phase {
  readonly other: Summary;
  readonly neighbour: Summary;
  /** Nobody's, unless it has broken out. */
  readonly flood: Summary;
}

/** A lab for one benchmark: a control plane is enough. */
export function flowLab(print: (line: string) => void): Promise<Lab> {
  return Lab.up({ name: "bench-flow", controlPlaneOnly: true, onProgress: line => print(`lab: ${line}`) });
}

/** A flooding client and two that are measured beside it, in one lab. */
export class FlowScene {
  private flood: LoopingClient | undefined;

  private constructor(
    private readonly lab: Lab,
    private readonly other: LoopingClient,
    private readonly neighbour: LoopingClient,
  ) {}

  /** Makes the accounts, and starts the two that are measured. */
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
    // At most 50 requests per second, so that it is no second flood to the other.
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

  /** Ends the flood. */
  async calm(): Promise<void> {
    await this.flood?.stop();
    this.flood = undefined;
  }

  /** Puts the flood on one level and its neighbour on another, or on the same; applies the levels too. */
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

  /** Takes the schemas away, so that everybody is where every ServiceAccount is. */
  async mix(): Promise<void> {
    const names = [ACCOUNTS.flood, ACCOUNTS.neighbour];
    const { code, stderr } = await this.lab.kubectl(["delete", "flowschemas", ...names, "--ignore-not-found"]);
    if (code !== 0) throw new Error(`the schemas are still there: ${stderr.trim()}`);
  }

  /** Waits until what was before is over, and measures for that long. */
  async measure(seconds: number, settleMs = SETTLE_MS): Promise<Phase> {
    await sleep(settleMs);
    const fromMs = Date.now();
    await sleep(seconds * 1000);
    // The second that is under way counts too.
    const toMs = Date.now() + 1_000;
    await sleep(1_200);
    const of = (client: LoopingClient): Summary => client.between(fromMs, toMs);
    const flood = this.flood === undefined ? summarize([], fromMs, toMs) : of(this.flood);
    return { other: of(this.other), neighbour: of(this.neighbour), flood };
  }

  /** Ends everybody. */
  async stop(): Promise<void> {
    await Promise.all([this.calm(), this.other.stop(), this.neighbour.stop()]);
  }
}
