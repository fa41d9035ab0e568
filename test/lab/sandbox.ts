import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jointOf } from "./addresses";
import { must, run } from "./commands";
import { networkCommands } from "./components";
import { cacheFolder, foldersOf } from "./folders";
import { recordOf, running, start } from "./processes";
import type { LabState } from "./state";
import { waitFor } from "./wait";

/** The process that holds the lab's network and mount namespaces; they end with it. */
export const SANDBOX = "sandbox";

/**
 * Folders that the kubelet writes to, besides its own. The kubelet, containerd and CNI see folders of the lab there.
 * All their mounts are in one mount namespace, so none remains after the lab's last process.
 */
const MASKED = { lib: "/var/lib", log: "/var/log", run: "/run" };

/**
 * The kubelet sets these for the whole machine, unless they have its wanted value already. It reads files of the
 * lab with that value instead; the machine keeps its own settings.
 */
const KERNEL_SETTINGS = {
  "vm/overcommit_memory": "1",
  "vm/panic_on_oom": "0",
  "kernel/panic": "10",
  "kernel/panic_on_oops": "1",
  "kernel/keys/root_maxkeys": "1000000",
  "kernel/keys/root_maxbytes": "25000000",
};

/**
 * Runs in the new namespaces, with the lab's node folder as $1; the other folders stay visible even if they are
 * inside a masked one. All sources are relative paths, since a mask may hide their full path.
 */
const HOLD = `
set -e
cd "$1"
shift
i=0
for kept in "$@"; do
  i=$((i + 1))
  mkdir -p "keep/$i"
  mount --bind "$kept" "keep/$i"
done
${Object.keys(KERNEL_SETTINGS)
  .map(name => `mount --bind "sys/${name.replaceAll("/", ".")}" /proc/sys/${name}`)
  .join("\n")}
${Object.entries(MASKED)
  .map(([name, path]) => `mount --no-canonicalize --bind ${name} ${path}`)
  .join("\n")}
i=0
for kept in "$@"; do
  i=$((i + 1))
  if [ ! -e "$kept" ]; then
    mkdir -p "$kept"
    mount --no-canonicalize --bind "keep/$i" "$kept"
  fi
done
echo 1 > /proc/sys/net/ipv4/ip_forward
: > ready
cd /
exec sleep infinity
`;

const READY_TIMEOUT_MS = 60_000;

/** Creates the lab's namespaces, and the network in them. */
export async function makeSandbox(lab: LabState, group: string): Promise<void> {
  const { folder, node, logs } = foldersOf(lab.name);
  mkdirSync(join(node, "sys"), { recursive: true });
  for (const name of Object.keys(MASKED)) mkdirSync(join(node, name), { recursive: true });
  for (const [name, value] of Object.entries(KERNEL_SETTINGS)) {
    writeFileSync(join(node, "sys", name.replaceAll("/", ".")), `${value}\n`);
  }
  mkdirSync(cacheFolder(), { recursive: true });
  const argv = ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", HOLD, "sh"];
  await start(lab, { name: SANDBOX, argv: [...argv, node, folder, cacheFolder()], group });
  await waitFor({
    what: "the lab's namespaces",
    timeoutMs: READY_TIMEOUT_MS,
    until: () => existsSync(join(node, "ready")),
    check: () => holder(lab),
    log: join(logs, `${SANDBOX}.log`),
  });
  await makeNetwork(lab);
}

/** Returns the argv that runs a program inside the lab's network and, unless it needs the host's files, its mounts. */
export function inside(lab: LabState, namespaces: "network" | "network-and-mounts"): string[] {
  const mounts = namespaces === "network" ? [] : ["--mount"];
  return ["nsenter", "--target", String(holder(lab)), "--net", ...mounts, "--"];
}

/** Deletes the host's end of the veth pair, and the other end with it. */
export async function removeLink(lab: LabState): Promise<void> {
  if (!existsSync(join("/sys/class/net", lab.link))) return;
  const { stderr } = await run(["ip", "link", "delete", lab.link]);
  // The link is deleted with its namespace, maybe just now.
  if (existsSync(join("/sys/class/net", lab.link))) throw new Error(`${lab.link} can't be deleted: ${stderr}`);
}

async function makeNetwork(lab: LabState): Promise<void> {
  const joint = jointOf(lab.index);
  const host = [
    `link add ${lab.link} type veth peer name eth0 netns ${holder(lab)}`,
    `address add ${joint.hostAddress}/${joint.prefixLength} dev ${lab.link}`,
    `link set ${lab.link} up`,
    "",
  ];
  await must(["ip", "-batch", "-"], { stdin: host.join("\n") });
  await must([...inside(lab, "network"), "ip", "-batch", "-"], { stdin: networkCommands(lab) });
}

function holder(lab: LabState): number {
  const record = running(lab, SANDBOX);
  if (record !== undefined) return record.pid;
  throw new Error(
    `the process that holds the lab's namespaces has ended (process ${recordOf(lab, SANDBOX)?.pid ?? "never started"})`,
  );
}
