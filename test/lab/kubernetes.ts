import { join } from "node:path";
import type { GoProgram } from "./go-build";

/** The versions of Kubernetes that a lab can run, by minor version. controlplane/versions has the Go modules of all but the newest. */
const KUBERNETES_VERSIONS = {
  "1.31": "v1.31.12",
  "1.33": "v1.33.13",
  "1.35": "v1.35.4",
  "1.36": "v1.36.3",
} as const;

/** A minor version that a lab can run. */
export type Minor = keyof typeof KUBERNETES_VERSIONS;

/** All minor versions, oldest first. */
export const MINORS = Object.keys(KUBERNETES_VERSIONS) as Minor[];

const NEWEST: Minor = "1.36";

/** Names the minor version of all labs of a process that name none themselves. */
export const MINOR_VARIABLE = "LAB_KUBERNETES";

/** The minor version that the environment asks for; undefined if it leaves that open. Throws if no lab can run it. */
export function askedMinor(env: NodeJS.ProcessEnv = process.env): Minor | undefined {
  const text = env[MINOR_VARIABLE] ?? "";
  return text === "" ? undefined : parseMinor(text);
}

/** Throws if no lab can run that minor version. */
export function parseMinor(text: string): Minor {
  const minor = MINORS.find(each => each === text);
  if (minor === undefined)
    throw new Error(`expected a version of Kubernetes out of ${MINORS.join(", ")}, got "${text}"`);
  return minor;
}

/** The complete version that a lab of this process runs, such as v1.36.3. */
export function kubernetesVersion(minor: Minor = askedMinor() ?? NEWEST): string {
  return KUBERNETES_VERSIONS[minor];
}

const FOLDER = join(__dirname, "controlplane");
const VERSION_PACKAGE = "k8s.io/component-base/version";

/** etcd, API server, controller-manager, scheduler, kubelet and kubectl in one file. */
export function controlPlane(minor: Minor = askedMinor() ?? NEWEST): GoProgram {
  const version = KUBERNETES_VERSIONS[minor];
  const [major, second] = minor.split(".");
  return {
    name: "control-plane",
    version,
    sources: FOLDER,
    ...(minor === NEWEST ? {} : { modules: join(FOLDER, "versions", minor) }),
    package: ".",
    // Without a version the kubelet refuses to register.
    ldflags: [
      "-s -w",
      `-X ${VERSION_PACKAGE}.gitVersion=${version}`,
      `-X ${VERSION_PACKAGE}.gitMajor=${major}`,
      `-X ${VERSION_PACKAGE}.gitMinor=${second}`,
    ].join(" "),
  };
}
