import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { labsFolder } from "./folders";
import { isOrphan } from "./keeper";
import { Lab } from "./lab";
import { isAlive, recordOf, recordOfPid } from "./processes";
import { type LabState, readState } from "./state";

// What a test starts ends with it. No control plane is needed: a lab with one process, and a process bound to the test, are enough.

const root = join(__dirname, "..", "..");

/** Brings up a lab with one process and one without, and starts a process that is bound to this one, and a worker like those of vitest. */
const OWNER = `
const { spawn } = require("node:child_process");
const { startBound } = require("./test/lab/commands");
const { endWithThisProcess } = require("./test/lab/keeper");
const { recordOfPid, start } = require("./test/lab/processes");
const { writeState } = require("./test/lab/state");
const [lab] = ["kept", "empty"].map((name, index) => {
  const id = "keeper-test-" + index + "-" + process.pid;
  const version = "v1.36.3";
  const owner = recordOfPid(process.pid);
  const state = { name, id, kind: "control-plane", phase: "ready", index, version, kwokNodes: 0, owner };
  writeState(state);
  endWithThisProcess(state);
  return state;
});
start(lab, { name: "etcd", argv: ["sleep", "600"], group: "" }).then(() => {
  const bound = startBound(["sleep", "600"], { stdio: "ignore" });
  const code = 'require("./test/end-with-vitest"); setInterval(() => undefined, 1_000); process.send("runs")';
  const worker = spawn(process.execPath, ["--import", "tsx", "--eval", code], { stdio: ["ignore", "ignore", 2, "ipc"] });
  worker.once("message", () => console.log(bound.pid, worker.pid));
});
setInterval(() => undefined, 1_000);
`;

const { XDG_STATE_HOME } = process.env;
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "keeper-"));
  process.env["XDG_STATE_HOME"] = folder;
});

afterAll(() => {
  if (XDG_STATE_HOME === undefined) delete process.env["XDG_STATE_HOME"];
  else process.env["XDG_STATE_HOME"] = XDG_STATE_HOME;
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the owner, and returns the lab and its other processes. */
async function owner(): Promise<{ child: ChildProcess; lab: LabState; pids: number[] }> {
  const child = spawn(process.execPath, ["--import", "tsx", "--eval", OWNER], {
    cwd: root,
    stdio: ["ignore", "pipe", 2],
  });
  const [line] = (await once(child.stdout!, "data")) as [Buffer];
  return { child, lab: readState("kept")!, pids: line.toString().split(" ").map(Number) };
}

it.each(["SIGINT", "SIGKILL"] as const)("a lab and bound processes end with their process after %s", async signal => {
  const { child, lab, pids } = await owner();
  const records = [recordOf(lab, "etcd")!, ...pids.map(pid => recordOfPid(pid)!)];
  expect(records.map(isAlive)).toEqual([true, true, true]);
  expect(isOrphan(lab)).toBe(false);
  child.kill(signal);
  await expect.poll(() => [existsSync(labsFolder()), ...records.map(isAlive)]).toEqual([false, false, false, false]);
});

it("a lab of another process is refused while that runs", async () => {
  const { child, lab } = await owner();
  const up = Lab.up({ name: "kept", controlPlaneOnly: true });
  await expect(up).rejects.toThrow(`the lab "kept" belongs to process ${child.pid}; wait for its end`);
  child.kill("SIGKILL");
  await expect.poll(() => existsSync(labsFolder())).toBe(false);
  expect(isOrphan(lab)).toBe(true);
});
