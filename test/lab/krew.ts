import { join } from "node:path";
import { type CommandResult, run } from "./commands";
import { built, type GoProgram } from "./go-build";

/** Installs plugins of kubectl from their manifests. */
const KREW: GoProgram = {
  name: "krew",
  version: "v0.5.0",
  sources: join(__dirname, "krew"),
  package: "sigs.k8s.io/krew/cmd/krew",
  ldflags: "-s -w",
};

/** A machine for which krew installs. */
interface KrewOptions {
  /** Folder for plugins. Those in `bin` are links. */
  readonly root: string;
  readonly os: string;
  readonly arch: string;
}

/** Runs krew to its end; builds it if necessary, which takes half a minute. */
export async function krew(args: readonly string[], { root, os, arch }: KrewOptions): Promise<CommandResult> {
  const env = { ...process.env, KREW_ROOT: root, KREW_OS: os, KREW_ARCH: arch, KREW_NO_UPGRADE_CHECK: "1" };
  return run([await built(KREW, "krew", () => undefined), ...args], { env });
}
