import { realpathSync } from "node:fs";
import { run } from "../commands";
import { PAUSE_IMAGE } from "../components";
import { buildImage, type Entry, type Image } from "./image";

/** The commands that pods under test may call; busybox contains all of them. */
const APPLETS = [
  "sh",
  "sleep",
  "cat",
  "echo",
  "wget",
  "date",
  "ls",
  "true",
  "false",
  "env",
  "nc",
  "tail",
  "head",
  "id",
];

/** busybox and links to it: a shell for pods, and an idle process for their sandboxes. */
export async function busyboxEntries(): Promise<Entry[]> {
  const found = await run(["sh", "-c", "command -v busybox"]);
  if (found.code !== 0) throw new Error("no busybox on PATH; on Debian and Ubuntu: apt-get install busybox-static");
  const copy = realpathSync(found.stdout.trim());
  if ((await run(["ldd", copy])).code === 0) {
    throw new Error(`${copy} needs shared libraries, but must be static: apt-get install busybox-static`);
  }
  return [{ path: "bin/busybox", copy }, ...APPLETS.map(name => ({ path: `bin/${name}`, link: "busybox" }))];
}

/** The image of every pod's sandbox, also usable as a small image with a shell. */
export async function pauseImage(): Promise<Image> {
  // Process 1 has no default signal handlers: without a trap it would ignore SIGTERM.
  const wait = "trap 'exit 0' TERM INT; while :; do sleep 86400 & wait $!; done";
  return buildImage({ reference: PAUSE_IMAGE, entries: await busyboxEntries(), command: ["sh", "-c", wait] });
}
