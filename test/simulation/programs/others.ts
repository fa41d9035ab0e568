import { someRecords } from "./corpus";
import type { Asked, Program, ProgramContext, Truth } from "./program";
import { WORKS } from "./program";
import { klog } from "./wordings";

// Programs that are no ordinary controllers.

/** Works, and writes records of real programs that mention 401s of others. */
export class Noisy implements Program {
  /** A kubelet's 401 may be its own for all that the operator can see, if they began while its token was dead. */
  logged401Ms: number | undefined;
  #lines: readonly string[] = [];

  constructor(
    private readonly context: ProgramContext,
    private readonly options: { readonly everyMs: number; readonly livesMs?: number },
  ) {}

  truth(): Truth {
    return { ...WORKS, cause: "noisy" };
  }

  onStart(): void {
    const { context, options } = this;
    if (options.livesMs !== undefined) context.after(options.livesMs, () => context.exit(0));
    this.#lines = someRecords("innocent", 4, context.dice);
    context.setReady(true);
    this.#write();
  }

  #write(): void {
    const { context } = this;
    context.after(this.options.everyMs * context.dice.between(0.5, 1.5), () => this.#write());
    const record = context.dice.pick(this.#lines);
    context.log(record);
    const hasDied = this.logged401Ms !== undefined || context.judgeToken(context.token()) !== WORKS;
    if (hasDied && record.includes(":10250/") && record.includes("401")) this.logged401Ms = context.nowMs();
  }
}

/** Works, and writes the exceptions of its requests to another server line by line: who reads meanwhile sees the first line alone. */
export class InParts implements Program {
  constructor(private readonly context: ProgramContext) {}

  truth(): Truth {
    return { ...WORKS, cause: "noisy" };
  }

  onStart(): void {
    this.context.setReady(true);
    this.#write();
  }

  #write(): void {
    const { context } = this;
    context.log("petstore.exceptions.ApiException: (401)");
    context.after(context.dice.between(1_000, 4_000), () => {
      context.log("Reason: Unauthorized", 'HTTP response body: {"error":"no session","code":16}');
      context.after(context.dice.between(1_000, 4_000), () => this.#write());
    });
  }
}

/** Talks to another cluster, which refuses its credential. Its records are those of any client that is refused. */
export class OtherCluster implements Program {
  logged401Ms: number | undefined;

  constructor(
    private readonly context: ProgramContext,
    private readonly options: { readonly everyMs: number; readonly refusedAfterMs: number },
  ) {}

  truth(): Truth {
    return this.logged401Ms === undefined ? WORKS : { ...WORKS, cause: "other-cluster" };
  }

  onStart(): void {
    this.context.setReady(true);
    this.context.after(this.options.refusedAfterMs, () => this.#fail());
  }

  #fail(): void {
    const { context } = this;
    context.after(this.options.everyMs * context.dice.between(0.8, 1.2), () => this.#fail());
    this.logged401Ms = context.nowMs();
    context.log(
      `${klog("E", context.nowMs(), "reflector.go:158")}"Unhandled Error" err="k8s.io/client-go/informers/factory.go:160: Failed to watch *v1.Node: failed to list *v1.Node: Unauthorized" logger="UnhandledError"`,
    );
  }
}

/** Asks only the kubelet of its node, which has the API server review its token, and remembers for two minutes that it is valid (authentication.webhook.cacheTTL). */
export class KubeletClient implements Program {
  /** Of its 401s only those can be told from a wrong setup of the kubelet whose token is proven to be dead. */
  logged401Ms: number | undefined;
  /** What the kubelet remembers. */
  #valid: { readonly token?: string | undefined; readonly untilMs: number } = { untilMs: 0 };

  constructor(private readonly context: ProgramContext) {}

  truth(): Truth {
    return this.context.judgeToken(this.context.token());
  }

  onStart(): void {
    this.context.setReady(true);
    this.#scrape();
  }

  #scrape(): void {
    const { context } = this;
    context.after(15_000 * context.dice.between(0.9, 1.1), () => this.#scrape());
    const refused = this.#isRefused();
    if (refused && this.truth().healedByRestart) this.logged401Ms = context.nowMs();
    const head = klog(refused ? "E" : "I", context.nowMs(), "scraper.go:149");
    context.log(
      refused
        ? `${head}"Failed to scrape node" err="request failed, status: \\"401 Unauthorized\\"" node="https://192.0.2.10:10250/metrics/resource"`
        : `${head}"Scraped node"`,
    );
  }

  #isRefused(): boolean {
    const token = this.context.token();
    const nowMs = this.context.nowMs();
    if (this.#valid.token === token && nowMs < this.#valid.untilMs) return false;
    const answer = this.context.ask(token, SCRAPE);
    // What it may do is another matter.
    if (answer === 200 || answer === 403) this.#valid = { token, untilMs: nowMs + 120_000 };
    return answer === 401;
  }
}

/** What the kubelet has the API server review. */
const SCRAPE: Asked = { verb: "get", group: "", resource: "nodes", kind: "Node" };

/** An agent of a network plugin: leaves a credential on its node, and needs nothing else. */
export class CniAgent implements Program {
  logged401Ms: number | undefined;

  /** A thin agent copies its token once; others write it again when the file changes. */
  constructor(
    private readonly context: ProgramContext,
    private readonly isThin: boolean,
  ) {}

  truth(): Truth {
    const own = this.isThin ? WORKS : this.context.judgeToken(this.context.token());
    return own === WORKS ? this.context.judgeCniCredential() : own;
  }

  onStart(): void {
    const { context } = this;
    context.writeCniCredential(context.token());
    context.setReady(true);
    context.log(`${klog("I", context.nowMs(), "main.go:88")}wrote /host/etc/cni/net.d/00-mesh.conf`);
    if (!this.isThin) this.#renew();
  }

  #renew(): void {
    const { context } = this;
    context.after(60_000 * context.dice.between(0.9, 1.1), () => this.#renew());
    const token = context.token();
    if (context.ask(token, GET_SELF) !== 401) {
      context.writeCniCredential(token);
      return;
    }
    this.logged401Ms = context.nowMs();
    context.log(
      `${new Date(context.nowMs()).toISOString()} [ERROR][1] cni-installer/token_watch.go 133: Unable to create token for CNI kubeconfig error=Unauthorized`,
    );
  }
}

const GET_SELF: Asked = { verb: "get", group: "", resource: "pods", kind: "Pod" };

/** Ends some seconds after each start, or never becomes Ready: an image that does not work. */
export class Broken implements Program {
  constructor(
    private readonly context: ProgramContext,
    private readonly how: "crashes" | "never-ready",
  ) {}

  truth(): Truth {
    return { state: "crashes", cause: "crashes", healedByRestart: false };
  }

  onStart(): void {
    this.context.log("panic: flag provided but not defined: -fast");
    if (this.how === "crashes") this.context.after(2_000, () => this.context.exit(2));
  }
}
