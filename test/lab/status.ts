import { statSync } from "node:fs";
import { basename, join } from "node:path";
import { formatTable } from "../../src/cli/kubectl/terminal";
import { formatDuration } from "../../src/core/time";
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
    const pid = recordOf(lab, component)?.pid;
    return { component, pid, state: alive ? state : "ended", since, log: logOf(lab, component) };
  });
}

/** Formats a table with a heading that describes the lab. */
export function renderStatus(lab: LabState, components: readonly ComponentStatus[], now: Date): string {
  const rows = components.map(({ component, pid, state, since, log }) => {
    const age =
      since === undefined ? "-" : formatDuration(1_000 * Math.round((now.getTime() - since.getTime()) / 1_000));
    return [component, String(pid ?? "-"), state, age, basename(log)];
  });
  const kind = lab.kind === "node" ? "with a node" : "control plane only";
  const phase = lab.phase === "ready" ? "" : "; its start was interrupted, or is still in progress";
  const head = `${lab.name}: Kubernetes ${lab.version === "" ? "(not known yet)" : lab.version}, ${kind}, ${apiServerUrl(lab)}${phase}`;
  if (rows.length === 0) return head;
  const table = formatTable([["COMPONENT", "PID", "STATE", "FOR", "LOG FILE"], ...rows]);
  return `${head}\nlog files in ${foldersOf(lab.name).logs}\n${table}`;
}

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
