import { join } from "node:path";
import { documentedCommands, follow } from "../cluster/documented";
import { nodeControllerImage } from "../controllers/images";
import { operatorImage } from "../controllers/operator-image";
import { Lab } from "../lab";
import { bringDown } from "../lab/down";
import { built } from "../lab/go-build";
import { ensurePackages, NODE_REQUIREMENTS } from "../lab/packages";
import { ArgoCd } from "./argo-cd";
import { ARGO_NAMESPACE, gitopsFolder } from "./core";
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

const print = (line: string): void => console.log(line);

/** A lab with a node, in which the real Argo CD runs with this project's health checks. */
export class ArgoLab {
  private constructor(
    private readonly lab: Lab,
    readonly argo: ArgoCd,
    /** The reference of the image with small controllers. */
    readonly image: string,
  ) {}

  /** Builds what it needs; takes many minutes the first time. */
  static async up(name: string): Promise<ArgoLab> {
    // The images need busybox, which is one of the packages.
    await ensurePackages(NODE_REQUIREMENTS, print);
    await built(ARGO_CD, name, print);
    const images = [await operatorImage(print), await nodeControllerImage()] as const;
    // A killed run may have left it behind.
    await bringDown(name);
    try {
      const lab = await Lab.up({ name, onProgress: print });
      for (const { tar } of images) await lab.loadImage(tar);
      const argo = await ArgoCd.start(lab);
      await follow(lab, documentedCommands("gitops.md", "Health"));
      return new ArgoLab(lab, argo, images[1].reference);
    } catch (error) {
      await bringDown(name);
      throw error;
    }
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
