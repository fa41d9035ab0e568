import { setTimeout as sleep } from "node:timers/promises";
import { describeCall } from "../calls";
import { Rig } from "../rig";
import { type Finding, QUIET_MS, type Stage, type Suite } from "../suite";
import { crowd } from "./bindings";
import { begin, bounded, describe, type Measured, MEASURED, read } from "./gauge";
import { noise } from "./logs";
import { flock } from "./objects";

const BINDINGS = 10_000;
const OBJECTS = 2_000;

/** Far more load than in real clusters. Memory, event loop turns, objects and queues must stay bounded. */
export const bounds: Suite = {
  name: "bounds",
  about: "logs of 10 MB/s, lines of 5 MB, 10,000 bindings, 2,000 objects",
  async run(stage) {
    const { lab, print, defer } = stage;
    const rig = await Rig.up(lab, MEASURED);
    defer(() => rig.down());
    let isAsPromised = false;
    try {
      const findings = await inject(rig, stage);
      isAsPromised = findings.every(({ failures }) => failures.length === 0);
      return findings;
    } finally {
      if (!isAsPromised) rig.operator.complaints().forEach(line => print(`operator: ${line}`));
    }
  },
};

async function inject(rig: Rig, stage: Stage): Promise<Finding[]> {
  const { print } = stage;
  const loud = await noise(rig, print);
  const crowded = await crowd(rig, BINDINGS, print);
  const many = await flock(rig, OBJECTS, print);
  const alone = await quiet(rig, stage);
  return [loud, crowded, many, alone].map(bounded);
}

/** Measures the operator while nothing changes. */
async function quiet(rig: Rig, stage: Stage): Promise<Measured> {
  await begin(rig.operator);
  rig.proxy.watch("");
  await sleep(QUIET_MS);
  const { writes, strays, others } = rig.proxy;
  const written = [...writes, ...strays].map(describeCall);
  const reading = await read(rig.operator);
  stage.print(`idle: ${written.length} writes, ${others.get("lease") ?? 0} of the Lease; ${describe(reading)}`);
  const finding = {
    fault: `idle for ${QUIET_MS / 1000} s with ${OBJECTS} objects and ${BINDINGS} bindings`,
    times: 1,
    promised: "no writes except of the Lease",
    seen: `${written.length} writes, ${others.get("lease") ?? 0} of the Lease`,
    failures: [...new Set(written)].map(write => `idle: ${write}`),
  };
  return { finding, reading };
}
