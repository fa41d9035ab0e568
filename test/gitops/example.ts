import { readFileSync } from "node:fs";
import { join } from "node:path";
import { rightsOf, roleBinding, serviceAccount } from "../cluster/objects";
import { IN_NODE } from "../controllers/images";
import { smallController } from "../controllers/small-controller";
import { resilience } from "./objects";
import type { Repository } from "./repository";

const ROOT = join(__dirname, "..", "..");
const FOLDER = "deploy/argocd/example";

/** The team of the example, its namespace and its workload. */
export const TEAM = "my-scheduler";

/** The example's files in the order in which they are applied, with the repositories of a test in place of those that a reader replaces. */
export function exampleFiles({ platform, team }: Record<"platform" | "team", Repository>): Record<string, string> {
  const replaced = (file: string): string =>
    readFileSync(join(ROOT, FOLDER, file), "utf8")
      .replaceAll("https://git.example.com/platform/controller-resilience.git", platform.url)
      .replaceAll("https://git.example.com/my-team/deploy.git", team.url)
      // A lab has no registry.
      .replace(
        "image: { repository: registry.example.com/controller-resilience }",
        "image: { repository: controller-resilience, tag: lab, pullPolicy: Never }",
      );
  return Object.fromEntries(["root.yaml", "applications.yaml"].map(file => [`${FOLDER}/${file}`, replaced(file)]));
}

/** The text of the file that a person applies. */
export const rootOf = (files: Record<string, string>): string => files[`${FOLDER}/root.yaml`]!;

/** Fills the platform's repository with the files of this one that the example names. */
export async function fillPlatform(platform: Repository, files: Record<string, string>): Promise<string> {
  for (const folder of ["crds", "deploy/chart"]) platform.copy(join(ROOT, folder), folder);
  return platform.commit(files);
}

/** What the team has in Git: a controller with a ServiceAccount, and the object that protects it. */
export function teamObjects(): object[] {
  const [namespace, name] = [TEAM, TEAM];
  return [
    ...smallController({ namespace, name, ...IN_NODE }),
    resilience(namespace, { targets: [{ kind: "Deployment", name }], tokenRestart: {} }, name),
  ];
}

/** The ServiceAccount that applies the team's objects, and its rights: those of an admin of the namespace, and to protect its controllers. */
export function deployer(namespace = TEAM): object[] {
  const account = { namespace, name: "deployer" };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    serviceAccount(account),
    roleBinding({ namespace, name: "deployer-admin" }, { kind: "ClusterRole", name: "admin" }, account),
    ...rightsOf(
      account,
      { namespace, name: "protect" },
      { apiGroups: ["controller-resilience.io"], resources: ["controllerresiliences"], verbs: ["*"] },
      { apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"] },
    ),
  ];
}
