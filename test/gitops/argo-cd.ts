import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ClusterClient } from "../cluster/client";
import { documentedCommands, follow } from "../cluster/documented";
import type { Lab } from "../lab";
import { built } from "../lab/go-build";
import { ensurePackages } from "../lab/packages";
import { silent } from "../lab/progress";
import { ARGO_NAMESPACE, gitopsFolder, startCore } from "./core";
import { installCore } from "./core-install";
import { nodeLab } from "./node-lab";
import { ARGO_CD } from "./programs";
import { Repository } from "./repository";

/** The program that is also redis-server: core.ts. */
const REDIS = { package: "redis-tools", files: ["redis-check-rdb"] };

/** The fields of an Application that tests use. */
export interface Application {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly sync?: { readonly status: string; readonly revision?: string };
    readonly health?: { readonly status: string };
    readonly conditions?: readonly { readonly type: string; readonly message: string }[];
    readonly resources?: readonly {
      readonly kind: string;
      readonly name: string;
      readonly status?: string;
      readonly health?: { readonly status: string; readonly message?: string };
    }[];
    readonly operationState?: {
      readonly phase: string;
      readonly message?: string;
      readonly startedAt: string;
      readonly finishedAt?: string;
    };
  };
}

/** As in Argo CD's documentation: waves wait for Applications. */
const APPLICATION_HEALTH = `
hs = {}
hs.status = "Progressing"
hs.message = ""
if obj.status ~= nil then
  if obj.status.health ~= nil then
    hs.status = obj.status.health.status
    if obj.status.health.message ~= nil then
      hs.message = obj.status.health.message
    end
  end
end
return hs
`;

/** A lab with a node, in which Argo CD's "core" installation runs with this project's health checks: no API server, no web page. */
export class ArgoCd {
  private constructor(
    private readonly lab: Lab,
    readonly client: ClusterClient,
    private readonly metrics: string,
  ) {}

  /** Builds what it needs; takes many minutes the first time. */
  static up(name: string): Promise<ArgoCd> {
    return nodeLab(name, [ARGO_CD], async lab => {
      await ensurePackages([REDIS], silent);
      const program = await built(ARGO_CD, lab.name, silent);
      const client = ClusterClient.of(lab);
      await installCore(client, readFileSync(join(program, "..", "core-install.yaml"), "utf8"));
      // Puts Helm, which the repository server calls, on the lab's PATH.
      await lab.helm(["version"]);
      const argo = new ArgoCd(lab, client, await startCore(lab, program));
      await follow(lab, documentedCommands("gitops.md", "Health"));
      return argo;
    });
  }

  /** Changes settings in argocd-cm. */
  async configure(data: Readonly<Record<string, string>>): Promise<void> {
    const patch = ["--type=merge", "--patch", JSON.stringify({ data })];
    await this.client.output(["patch", "configmap", "argocd-cm", "-n", ARGO_NAMESPACE, ...patch]);
  }

  /** Adds the health check of Applications, by which waves of Applications wait. */
  waitForApplications(): Promise<void> {
    return this.configure({ "resource.customizations.health.argoproj.io_Application": APPLICATION_HEALTH });
  }

  repository(name: string): Promise<Repository> {
    return Repository.create(join(gitopsFolder(this.lab.name), "repositories", name));
  }

  down(): Promise<void> {
    return this.lab.down();
  }

  /** Has the controller compare an Application with Git now. */
  async refresh(name: string): Promise<void> {
    await this.client.output([...of("annotate", name), "--overwrite", "argocd.argoproj.io/refresh=normal"]);
  }

  application(name: string): Promise<Application> {
    return this.client.json(of("get", name));
  }

  /** Waits until an Application meets a condition; a failure says what Argo CD said last. */
  async until(
    name: string,
    what: string,
    holds: (status: NonNullable<Application["status"]>) => boolean,
    timeoutMs = 180_000,
  ): Promise<Application> {
    return this.client.until(
      `Application ${name} to be ${what}`,
      async () => {
        const application = await this.application(name);
        if (holds(application.status ?? {})) return application;
        throw new Error(describeApplication(application));
      },
      timeoutMs,
    );
  }

  /** Waits until a commit is applied, and all objects are as in Git and have this health. */
  untilSynced(name: string, revision: string, health = "Healthy", timeoutMs?: number): Promise<Application> {
    return this.until(
      name,
      `Synced to ${revision} and ${health}`,
      ({ sync, health: now }) => sync?.status === "Synced" && sync.revision === revision && now?.status === health,
      timeoutMs,
    );
  }

  /** How often the controller has synced an Application, for any reason and with any result. */
  async syncs(name: string): Promise<number> {
    const answer = await fetch(this.metrics, { signal: AbortSignal.timeout(5_000) });
    const lines = (await answer.text()).split("\n");
    return lines
      .filter(line => line.startsWith("argocd_app_sync_total{") && line.includes(`name="${name}"`))
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }
}

const of = (verb: string, name: string): string[] => [verb, "application", name, "-n", ARGO_NAMESPACE];

/** What Argo CD says of an Application, for messages of failed tests. */
function describeApplication({ status = {} }: Application): string {
  const { sync, health, conditions = [], resources = [], operationState: last } = status;
  const odd = resources.filter(one => one.status !== "Synced" || (one.health?.status ?? "Healthy") !== "Healthy");
  return [
    `${sync?.status} to ${sync?.revision}, ${health?.status}; last sync ${last?.phase}: ${last?.message}`,
    ...odd.map(one => `${one.kind} ${one.name}: ${one.status} ${one.health?.status} ${one.health?.message ?? ""}`),
    ...conditions.map(({ type, message }) => `${type}: ${message}`),
  ].join("; ");
}
