import { availableParallelism, loadavg } from "node:os";
import { type Report, renderReport, renderVerdict } from "./report";
import type { Choice, Scene, Size } from "./scene";
import type { Print } from "./waiting";
import { burst } from "./scenes/burst";
import { kinds } from "./scenes/kinds";
import { pods, start } from "./scenes/pods";

/** All scenes, in the order of a run. */
export const SCENES: readonly Scene[] = [start, pods, kinds, burst];

/** What a person chooses, with the scenes and sizes. */
export interface RunOptions extends Choice {
  readonly scene: readonly string[];
  /** Instead of each scene's own sizes. */
  readonly size?: readonly Size[];
  readonly lab: string;
}

/** Plays the scenes one after another, each in a new lab. A failure of one does not keep the others from running. Returns the number of failures. */
export async function runScenes(options: RunOptions, print: Print): Promise<number> {
  const reports: Report[] = [];
  const failures: string[] = [];
  for (const scene of SCENES.filter(({ name }) => options.scene.includes(name))) {
    for (const size of options.size ?? scene.sizes) {
      const name = `${size.pods}/${size.objects}`;
      const startMs = performance.now();
      const tell: Print = line =>
        print(`${scene.name} ${name} ${((performance.now() - startMs) / 1000).toFixed(0).padStart(4)} s: ${line}`);
      try {
        const report = { scene: scene.name, size: name, ...(await scene.run({ ...options, size, print: tell })) };
        reports.push(report);
        print(
          `\n${renderReport(report)}\n  load average ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores\n`,
        );
      } catch (error) {
        failures.push(`${scene.name} ${name}: ${error instanceof Error ? error.message : String(error)}`);
        print(`FAILED ${failures.at(-1) ?? ""}`);
      }
    }
  }
  print(renderVerdict(reports));
  failures.forEach(failure => print(`FAILED ${failure}`));
  return failures.length;
}
