import { join } from "node:path";
import { CHART } from "../cluster/chart";
import type { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import { FluxObject, type FluxStatus, isReady } from "./flux-object";
import { FluxSource } from "./flux-source";
import type { GitServer } from "./git-server";

/** The fields of a HelmRelease's status that tests use; the newest revision first. */
interface HelmReleaseStatus extends FluxStatus {
  readonly history?: readonly {
    readonly version: number;
    readonly testHooks?: Readonly<Record<string, { readonly phase?: string }>>;
  }[];
}

const KIND = { apiVersion: "helm.toolkit.fluxcd.io/v2", kind: "HelmRelease" };

/** The chart in Git, and the HelmRelease that installs it and corrects its drift; it has the name of its namespace. */
export class FluxRelease extends FluxObject<HelmReleaseStatus> {
  static async begin(
    { client, git }: { readonly client: ClusterClient; readonly git: GitServer },
    name: string,
  ): Promise<FluxRelease> {
    await client.createNamespace(name);
    const repository = await git.repository(name);
    repository.copy(CHART, join("deploy", "chart"));
    await FluxSource.begin(client, name, repository, {});
    const release = new FluxRelease(client, KIND, name);
    const sourceRef = { kind: "GitRepository", name };
    await release.create({
      ...{ interval: "10s", timeout: "3m", releaseName: OPERATOR.namespace.replace(/-system$/, "") },
      ...{ targetNamespace: OPERATOR.namespace, driftDetection: { mode: "enabled" }, test: { enable: true } },
      chart: { spec: { chart: "./deploy/chart", interval: "1m", sourceRef } },
      install: { createNamespace: true },
      // A lab has no registry.
      values: { image: { repository: "controller-resilience", tag: "lab", pullPolicy: "Never" } },
    });
    return release;
  }

  /** Waits until this revision of the release is installed and tested. */
  untilAt(version: number): Promise<HelmReleaseStatus> {
    return this.until(
      `Ready with revision ${version}`,
      status => status.history?.[0]?.version === version && isReady(status),
      300_000,
    );
  }
}
