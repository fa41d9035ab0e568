import { setTimeout as sleep } from "node:timers/promises";
import type { Admin } from "../../cluster/admin";
import { letOperatorBind } from "../../enforcers/rights";
import { describeCall } from "../calls";
import { Rig } from "../rig";
import { type Finding, quietMs, type Stage, type Suite } from "../suite";
import { SEEN, takeCensus } from "./census";
import { type Course, coursesOf } from "./course";
import { Play } from "./play";
import { furnishCluster } from "./plot";
import { fieldsOf, specSchema } from "./schema";
import type { Tally } from "./tally";
import { FOREIGN_LEVEL, ROLE } from "./world";

/** Every field of the spec takes valid, boundary and invalid values, and is set back. */
export function fields(): Suite {
  return {
    name: "fields",
    about: "every field of the spec takes valid, boundary and invalid values, and is set back",
    run: stage => playFields(stage, coursesOf(fieldsOf(specSchema()), stage)),
  };
}

/** Runs these courses, observes the idle cluster, then deletes every object. */
export async function playFields(
  stage: Pick<Stage, "lab" | "print" | "defer" | "isFull">,
  courses: readonly Course[],
): Promise<readonly Finding[]> {
  const { lab, print, defer } = stage;
  const rig = await Rig.up(lab);
  defer(() => rig.down());
  try {
    return await playOn(rig, stage, courses);
  } catch (error) {
    print(`operator: exit code ${rig.operator.exitCode ?? "none"}`);
    rig.operator.complaints().forEach(line => print(`operator: ${line}`));
    throw error;
  }
}

async function playOn(
  rig: Rig,
  stage: Pick<Stage, "print" | "isFull">,
  courses: readonly Course[],
): Promise<readonly Finding[]> {
  const { admin, client } = await rig.scene("fields");
  await furnishCluster(admin, FOREIGN_LEVEL);
  await letOperatorBind(client, { kind: "ClusterRole", name: ROLE });
  const play = new Play(rig, stage.print);
  await play.run(courses);
  const unseen = unseenWrites(rig);
  const quiet = await leftAlone(rig, play, quietMs(stage));
  const gone = await deleted(rig, admin, play);
  return [...findingsOf(play, courses, unseen), quiet, gone];
}

/** Writes that no census compares. */
function unseenWrites({ proxy }: Rig): string[] {
  const all = [...proxy.writes, ...proxy.strays].filter(({ resource }) => !SEEN.includes(resource));
  return [...new Set(all.map(write => `${describeCall(write)}: not covered by the comparison`))];
}

function findingsOf({ tallies }: Play, courses: readonly Course[], unseen: readonly string[]): Finding[] {
  const fieldCount = new Set(courses.map(({ field }) => field)).size;
  const row = (fault: string, promised: string, { times, failures }: Tally, more: readonly string[] = []): Finding => ({
    ...{ fault, times, promised, failures: [...failures, ...more] },
    seen: `${times - new Set(failures.map(line => line.split(": ")[0])).size} as promised`,
  });
  return [
    row(
      `each of ${fieldCount} fields of the spec takes up to four values, some of them only briefly`,
      "the same state as an object that always had the last value",
      tallies.fresh,
      unseen,
    ),
    row(
      "each is set back to its first value",
      "the same state as an object in which it was never changed",
      tallies.back,
    ),
    row("Observe, suspend, a level that can't be used", "the created objects stay unchanged", tallies.before),
    row("a value that has no effect here", "a condition reports it", tallies.told),
    row("an invalid value", "rejected by the API server with the expected values; nothing changes", tallies.refused),
    row("(after each round)", "every object settles", tallies.rest),
  ];
}

async function leftAlone(rig: Rig, { scenes }: Play, ms: number): Promise<Finding> {
  void rig.proxy.watch({ namespace: "", kill: rig.kill });
  await sleep(ms);
  const { writes, strays, others } = rig.proxy;
  const all = [...writes, ...strays];
  return {
    fault: `${scenes.length} idle objects for ${ms / 1000} s`,
    times: 1,
    promised: "no writes except of the Lease",
    seen: `${all.length} writes, ${others.get("lease") ?? 0} of the Lease, ${others.get("event") ?? 0} Events`,
    failures: all.map(write => `${describeCall(write)} ${write.namespace ?? ""}`),
  };
}

async function deleted(rig: Rig, admin: Admin, { scenes }: Play): Promise<Finding> {
  await rig.clear(scenes.map(({ namespace }) => namespace));
  const { made } = await takeCensus(admin);
  return {
    fault: "every object is deleted",
    times: scenes.length,
    promised: "no cluster-scoped object that was created for it is left",
    seen: `${made.length} are left`,
    failures: made.map(id => `${id} is left`),
  };
}
