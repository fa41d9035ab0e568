import type { ClusterClient } from "../cluster/client";
import { FluxObject, type FluxStatus, isReady } from "./flux-object";
import { FluxSource } from "./flux-source";
import type { GitServer } from "./git-server";
import type { Files } from "./repository";

/** The fields of a Kustomization's status that tests use. */
interface KustomizationStatus extends FluxStatus {
  readonly lastAppliedRevision?: string;
  readonly inventory?: { readonly entries?: readonly { readonly id: string }[] };
}

/** Where a story takes place. */
interface Stage {
  readonly client: ClusterClient;
  readonly git: GitServer;
}

const KIND = { apiVersion: "kustomize.toolkit.fluxcd.io/v1", kind: "Kustomization" };

/** Objects in Git, and the Kustomization that applies them, which has the name of its namespace: with health checks, and pruning. */
export class FluxStory extends FluxObject<KustomizationStatus> {
  private constructor(
    client: ClusterClient,
    name: string,
    readonly source: FluxSource,
  ) {
    super(client, KIND, name);
  }

  /** @param spec what a test adds to the spec of the Kustomization */
  static async begin(
    { client, git }: Stage,
    name: string,
    objects: readonly object[],
    spec: Readonly<Record<string, unknown>> = {},
  ): Promise<FluxStory> {
    await client.createNamespace(name);
    const source = await FluxSource.begin(client, name, await git.repository(name), inFile(objects));
    const story = new FluxStory(client, name, source);
    await story.create({
      ...{ interval: "10s", retryInterval: "5s", timeout: "2m", path: "./", prune: true, wait: true },
      sourceRef: { kind: "GitRepository", name },
      ...spec,
    });
    return story;
  }

  /** Replaces the objects in Git, and waits until they are fetched. Returns the revision. */
  commit(objects: readonly object[]): Promise<string> {
    return this.source.commit(inFile(objects));
  }

  /** Replaces the objects in Git, and waits until they are applied and healthy. */
  async apply(objects: readonly object[], timeoutMs?: number): Promise<void> {
    await this.untilApplied(await this.commit(objects), timeoutMs);
  }

  /** Waits until a revision is applied, and its objects are healthy. */
  async untilApplied(revision: string, timeoutMs?: number): Promise<void> {
    await this.until(
      `applied and ready at ${revision}`,
      status => status.lastAppliedRevision === revision && isReady(status),
      timeoutMs,
    );
  }
}

const inFile = (objects: readonly object[]): Files => ({ "objects.yaml": objects });
