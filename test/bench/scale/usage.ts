import { readFileSync, writeFileSync } from "node:fs";

/** Linux counts processor time in these, whatever the kernel's own clock: sysconf(_SC_CLK_TCK). */
const TICKS_PER_SECOND = 100;

/** The fields of /proc/PID/stat from the state of the process on, which proc(5) numbers 3. */
export function statOf(pid: number | string): readonly string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The program's name, in parentheses, may contain spaces and parentheses.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** User and system time of a process, in seconds; also of the children that have ended and that it has waited for. */
export function cpuSecondsIn(stat: readonly string[], { withChildren = false } = {}): number {
  const ticks = stat.slice(11, withChildren ? 15 : 13).map(Number);
  return ticks.reduce((sum, one) => sum + one, 0) / TICKS_PER_SECOND;
}

/** The value of a line such as `VmRSS:	  1024 kB` in the text of /proc/PID/status, in MiB; NaN without it. */
function mibIn(status: string, name: string): number {
  const [, kib] = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status) ?? [];
  return Number(kib) / 1024;
}

/** What a process has used since the beginning of a measurement. */
export interface Used {
  readonly cpuSeconds: number;
  /** Share of one core. */
  readonly cpuPercent: number;
  /** Resident memory now, and its peak. */
  readonly rssMiB: number;
  readonly peakMiB: number;
}

/** Measures processor time and memory of a process from now on. */
export class Usage {
  readonly #fromMs = performance.now();
  readonly #before: number;

  constructor(private readonly pid: number) {
    // Sets the peak of the resident memory back.
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
    this.#before = Usage.cpuSecondsOf(pid);
  }

  /** User and system time of a process since its start. */
  static cpuSecondsOf(pid: number): number {
    return cpuSecondsIn(statOf(pid));
  }

  used(): Used {
    const cpuSeconds = Usage.cpuSecondsOf(this.pid) - this.#before;
    const status = readFileSync(`/proc/${this.pid}/status`, "utf8");
    return {
      cpuSeconds,
      cpuPercent: (100_000 * cpuSeconds) / (performance.now() - this.#fromMs),
      rssMiB: mibIn(status, "VmRSS"),
      peakMiB: mibIn(status, "VmHWM"),
    };
  }
}
