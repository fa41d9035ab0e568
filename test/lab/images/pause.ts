import { realpathSync } from "node:fs";
import { run } from "../commands";
import { PAUSE_IMAGE } from "../components";
import { buildImage, type Entry, type Image } from "./image";

/** The commands that pods under test may call; busybox has them all in one file. */
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

/** busybox and links to it: a shell for pods, and a process that does nothing for their sandboxes. */
export async function busyboxEntries(): Promise<Entry[]> {
  const found = await run(["sh", "-c", "command -v busybox"]);
  if (found.code !== 0) throw new Error("no busybox on PATH; on Debian and Ubuntu: apt-get install busybox-static");
  const copy = realpathSync(found.stdout.trim());
  if ((await run(["ldd", copy])).code === 0) {
    throw new Error(`${copy} needs shared libraries, but must be static: apt-get install busybox-static`);
  }
  return [{ path: "bin/busybox", copy }, ...APPLETS.map(name => ({ path: `bin/${name}`, link: "busybox" }))];
}

/** The image of every pod's sandbox, usable as a small one with a shell too. */
export async function pauseImage(): Promise<Image> {
  // As process 1 it gets no default actions: without a trap it would ignore the polite signal.
  const wait = "trap 'exit 0' TERM INT; while :; do sleep 86400 & wait $!; done";
  return buildImage({ reference: PAUSE_IMAGE, entries: await busyboxEntries(), command: ["sh", "-c", wait] });
}
