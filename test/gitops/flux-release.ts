import { join } from "node:path";
import { CHART } from "../cluster/chart";
import type { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import { FluxObject, type FluxStatus } from "./flux-object";
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

/** Values for a lab, which has no registry, and whose API server has just started. */
const VALUES = {
  image: { repository: "controller-resilience", tag: "lab", pullPolicy: "Never" },
};

/** The chart in Git, and the HelmRelease that installs it and corrects its drift; it has the name of its namespace. */
export class FluxRelease {
  private constructor(private readonly object: FluxObject<HelmReleaseStatus>) {}

  static async begin(
    { client, git }: { readonly client: ClusterClient; readonly git: GitServer },
    name: string,
  ): Promise<FluxRelease> {
    await client.createNamespace(name);
    const repository = await git.repository(name);
    repository.copy(CHART, join("deploy", "chart"));
    await FluxSource.begin(client, name, repository, {});
    const object = new FluxObject<HelmReleaseStatus>(client, KIND, name);
    const sourceRef = { kind: "GitRepository", name };
    await object.create({
      ...{ interval: "10s", timeout: "3m", releaseName: OPERATOR.namespace.replace(/-system$/, "") },
      ...{ targetNamespace: OPERATOR.namespace, driftDetection: { mode: "enabled" }, test: { enable: true } },
      chart: { spec: { chart: "./deploy/chart", interval: "1m", sourceRef } },
      install: { createNamespace: true },
      values: VALUES,
    });
    return new FluxRelease(object);
  }

  /** Waits until this revision of the release is installed and tested. */
  untilReady(version: number): Promise<HelmReleaseStatus> {
    return this.object.until(
      `Ready with revision ${version}`,
      ({ conditions = [], history = [] }) =>
        history[0]?.version === version && conditions.some(({ type, status }) => type === "Ready" && status === "True"),
      300_000,
    );
  }

  /** Has the controller look for drift again and again. */
  async reconcile(rounds = 3): Promise<void> {
    for (let round = 0; round < rounds; round++) await this.object.reconcile();
  }

  /** Adds values. */
  async change(values: object): Promise<void> {
    await this.object.change({ values });
  }

  /** Deletes the HelmRelease, and with it what it has installed. */
  async remove(): Promise<void> {
    await this.object.delete();
  }
}
