import { statSync } from "node:fs";
import { basename, join } from "node:path";
import Table from "cli-table3";
import { apiServerUrl, COMPONENTS } from "./components";
import { get, logOf } from "./control-plane";
import { foldersOf } from "./folders";
import { recordedNames, recordOf, running } from "./processes";
import { SANDBOX } from "./sandbox";
import type { LabState } from "./state";

interface ComponentStatus {
  component: string;
  pid: number | undefined;
  state: "running" | "ended" | "not ready";
  since: Date | undefined;
  log: string;
}

/** The state of each component of a lab, in the order of starting. */
export async function statusOf(lab: LabState): Promise<ComponentStatus[]> {
  const order: string[] = [SANDBOX, ...COMPONENTS];
  const names = recordedNames(lab).sort((a, b) => rank(order, a) - rank(order, b));
  const ready = await isReady(lab);
  return names.map(component => {
    const alive = running(lab, component) !== undefined;
    const state = component === "kube-apiserver" && !ready ? "not ready" : "running";
    const since = statSync(join(foldersOf(lab.name).processes, component), { throwIfNoEntry: false })?.mtime;
    return {
      component,
      pid: recordOf(lab, component)?.pid,
      state: alive ? state : "ended",
      since,
      log: logOf(lab, component),
    };
  });
}

/** Formats a table with a heading that describes the lab. */
export function renderStatus(lab: LabState, components: readonly ComponentStatus[], now: Date): string {
  const table = new Table({ head: ["COMPONENT", "PID", "STATE", "FOR", "LOG FILE"], ...PLAIN });
  for (const { component, pid, state, since, log } of components) {
    table.push([component, pid ?? "-", state, since === undefined ? "-" : age(since, now), basename(log)]);
  }
  const kind = lab.kind === "node" ? "with a node" : "control plane only";
  const phase = lab.phase === "ready" ? "" : "; its start was interrupted, or is still in progress";
  const head = `${lab.name}: Kubernetes ${lab.version === "" ? "(not known yet)" : lab.version}, ${kind}, ${apiServerUrl(lab)}${phase}`;
  return components.length === 0 ? head : `${head}\nlog files in ${foldersOf(lab.name).logs}\n${table.toString()}`;
}

/** Formats a duration as kubectl does: the largest unit, and the next one while the number is small. */
export function age(since: Date, now: Date): string {
  const seconds = Math.max(0, Math.floor((now.getTime() - since.getTime()) / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

/** Columns without lines, as kubectl prints them. */
const PLAIN = {
  chars: Object.fromEntries(
    ["top", "top-mid", "top-left", "top-right", "bottom", "bottom-mid", "bottom-left", "bottom-right"]
      .concat(["left", "left-mid", "mid", "mid-mid", "right", "right-mid"])
      .map(place => [place, ""])
      .concat([["middle", "   "]]),
  ) as Record<string, string>,
  style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
};

async function isReady(lab: LabState): Promise<boolean> {
  try {
    return (await get(lab, "/readyz")).status === 200;
  } catch {
    // Not ready is a valid answer; the log has the reason.
    return false;
  }
}

function rank(order: readonly string[], name: string): number {
  const place = order.indexOf(name);
  return place < 0 ? order.length : place;
}
