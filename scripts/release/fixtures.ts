// `npm run release:fixtures`: keeps what this version writes, for the tests of later ones: its definitions, and objects with status from a real run.
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import cfg from "../../package.json";
import { crashEverywhere } from "../../test/chaos/crash/play";
import { Rig } from "../../test/chaos/rig";
import { readObject, type Scenario } from "../../test/chaos/scenario";
import { bindingRenewal } from "../../test/chaos/scenarios/binding-renewal";
import { flowIsolation } from "../../test/chaos/scenarios/flow-isolation";
import { staleToken } from "../../test/chaos/scenarios/stale-token";
import { stalledLease } from "../../test/chaos/scenarios/stalled-lease";
import { tokenTrial } from "../../test/chaos/scenarios/token-lifetime";
import { Lab } from "../../test/lab";
import { printer } from "../../test/lab/progress";

const root = join(__dirname, "..", "..");
const folder = join(root, "test", "fixtures", "releases", cfg.version);
const QUIET_MS = 1_000;

/** The object of a scenario at its end. */
async function objectOf(rig: Rig, scenario: Scenario): Promise<object> {
  let last: object = {};
  const describe: Scenario["describe"] = async scene => {
    last = (await readObject(scene)) ?? {};
    return scenario.describe(scene);
  };
  const options = { pointsOf: () => [], quietMs: QUIET_MS, print: (line: string) => console.error(line) };
  await crashEverywhere(rig, { ...scenario, describe }, options);
  const { metadata, ...rest } = last as { metadata: object };
  return { ...rest, metadata: { ...metadata, managedFields: undefined } };
}

async function main(): Promise<void> {
  const lab = await Lab.up({ name: "release-fixtures", controlPlaneOnly: true, onProgress: printer(process.stderr) });
  try {
    const rig = await Rig.up(lab);
    try {
      const objects: Record<string, object> = {};
      for (const scenario of [staleToken, bindingRenewal, tokenTrial, flowIsolation, stalledLease])
        objects[scenario.name] = await objectOf(rig, scenario);
      mkdirSync(folder, { recursive: true });
      cpSync(join(root, "crds"), join(folder, "crds"), { recursive: true });
      writeFileSync(join(folder, "objects.json"), `${JSON.stringify(objects, undefined, 2)}\n`);
    } finally {
      await rig.down();
    }
  } finally {
    await lab.down();
  }
}

void main();
