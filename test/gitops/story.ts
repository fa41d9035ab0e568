import { setTimeout as sleep } from "node:timers/promises";
import type { Application, ArgoCd } from "./argo-cd";
import { ARGO_NAMESPACE } from "./core";
import type { Repository } from "./repository";

/** The project of these Applications, which applies objects with all rights. */
export const PROJECT = "stories";

/** What a test adds to an Application. */
export interface StoryOptions {
  readonly ignoreDifferences?: readonly object[];
  readonly syncOptions?: readonly string[];
  /** Whether Argo CD compares by a dry run, as docs/gitops.md says. By default true. */
  readonly serverSideDiff?: boolean;
}

const IN_CLUSTER = "https://kubernetes.default.svc";

/** The objects of a Git repository, and the Application that applies them into a namespace: with self-heal, and pruning. */
export class Story {
  private constructor(
    private readonly argo: ArgoCd,
    private readonly repository: Repository,
    readonly name: string,
  ) {}

  static async begin(
    argo: ArgoCd,
    name: string,
    objects: readonly object[],
    options: StoryOptions = {},
  ): Promise<Story> {
    await argo.client.createNamespace(name);
    const repository = await argo.repository(name);
    await repository.commit({ "objects.yaml": objects });
    await argo.client.apply([application(name, repository.url, options)]);
    return new Story(argo, repository, name);
  }

  /** Replaces what is in Git, and waits until it is applied. */
  async commit(objects: readonly object[]): Promise<void> {
    const revision = await this.repository.commit({ "objects.yaml": objects });
    await this.argo.refresh(this.name);
    await this.argo.until(
      this.name,
      `synced to ${revision}`,
      ({ sync, operationState }) =>
        sync?.status === "Synced" && sync.revision === revision && operationState?.phase === "Succeeded",
    );
  }

  /** Waits until an object of that kind, and with it the Application, has this health. */
  untilHealth(health: string, kind = "ControllerResilience", timeoutMs?: number): Promise<Application> {
    return this.argo.until(
      this.name,
      `${health} by its ${kind}`,
      status =>
        status.health?.status === health &&
        (status.resources?.some(one => one.kind === kind && one.health?.status === health) ?? false),
      timeoutMs,
    );
  }

  /** Has Argo CD compare again and again; returns how often it synced meanwhile. */
  async syncsWhileCompared(rounds = 12, pauseMs = 5_000): Promise<number> {
    const before = await this.argo.syncs(this.name);
    for (let round = 0; round < rounds; round++) {
      await this.argo.refresh(this.name);
      await sleep(pauseMs);
    }
    return (await this.argo.syncs(this.name)) - before;
  }

  /** The objects that Argo CD counts as those of the Application. */
  async resources(): Promise<string[]> {
    const { status } = await this.argo.application(this.name);
    return (status?.resources ?? []).map(({ kind, name }) => `${kind} ${name}`);
  }
}

/** An Application with self-heal and pruning. */
function application(name: string, repoURL: string, options: StoryOptions): object {
  const { ignoreDifferences = [], syncOptions = [], serverSideDiff = true } = options;
  const annotations = serverSideDiff ? { "argocd.argoproj.io/compare-options": "ServerSideDiff=true" } : {};
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name, namespace: ARGO_NAMESPACE, annotations },
    spec: {
      project: PROJECT,
      source: { repoURL, targetRevision: "main", path: "." },
      destination: { server: IN_CLUSTER, namespace: name },
      ignoreDifferences,
      syncPolicy: {
        automated: { prune: true, selfHeal: true },
        syncOptions: ["ServerSideApply=true", ...syncOptions],
      },
    },
  };
}

/** The project of the stories; its objects are applied by Argo CD's own ServiceAccount. */
export function storyProject(): object {
  const defaultServiceAccount = `${ARGO_NAMESPACE}:argocd-application-controller`;
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "AppProject",
    metadata: { name: PROJECT, namespace: ARGO_NAMESPACE },
    spec: {
      sourceRepos: ["*"],
      destinations: [{ server: IN_CLUSTER, namespace: "*" }],
      destinationServiceAccounts: [{ server: IN_CLUSTER, namespace: "*", defaultServiceAccount }],
      clusterResourceWhitelist: [{ group: "*", kind: "*" }],
    },
  };
}
