import type { ClusterClient } from "../cluster/client";
import { FluxObject, type FluxStatus } from "./flux-object";
import type { Files, Repository } from "./repository";

/** The fields of a GitRepository's status that tests use. */
interface GitRepositoryStatus extends FluxStatus {
  readonly artifact?: { readonly revision: string };
}

const KIND = { apiVersion: "source.toolkit.fluxcd.io/v1", kind: "GitRepository" };

/** A Git repository and the GitRepository that fetches it, which has the name of its namespace. */
export class FluxSource extends FluxObject<GitRepositoryStatus> {
  private constructor(
    client: ClusterClient,
    name: string,
    private readonly repository: Repository,
  ) {
    super(client, KIND, name);
  }

  static async begin(client: ClusterClient, name: string, repository: Repository, files: Files): Promise<FluxSource> {
    await repository.commit(files);
    const source = new FluxSource(client, name, repository);
    await source.create({ url: repository.url, ref: { branch: "main" }, interval: "1m", timeout: "20s" });
    return source;
  }

  /** Commits files, and waits until source-controller has fetched them. Returns the revision. */
  async commit(files: Files): Promise<string> {
    const revision = `main@sha1:${await this.repository.commit(files)}`;
    await this.reconcile(1);
    await this.until(`at ${revision}`, ({ artifact }) => artifact?.revision === revision);
    return revision;
  }
}
