import { join } from "node:path";
import { documentedCommands, follow } from "../cluster/documented";
import type { Lab } from "../lab";
import { ArgoCd } from "./argo-cd";
import { ARGO_NAMESPACE, gitopsFolder } from "./core";
import { nodeLab } from "./node-lab";
import { ARGO_CD } from "./programs";
import { Repository } from "./repository";

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

/** A lab with a node, in which the real Argo CD runs with this project's health checks. */
export class ArgoLab {
  private constructor(
    private readonly lab: Lab,
    readonly argo: ArgoCd,
  ) {}

  /** Builds what it needs; takes many minutes the first time. */
  static up(name: string): Promise<ArgoLab> {
    return nodeLab(name, [ARGO_CD], async lab => {
      const argo = await ArgoCd.start(lab);
      await follow(lab, documentedCommands("gitops.md", "Health"));
      return new ArgoLab(lab, argo);
    });
  }

  /** Changes settings in argocd-cm. */
  async configure(data: Readonly<Record<string, string>>): Promise<void> {
    const patch = ["--type=merge", "--patch", JSON.stringify({ data })];
    await this.argo.client.output(["patch", "configmap", "argocd-cm", "-n", ARGO_NAMESPACE, ...patch]);
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
}
