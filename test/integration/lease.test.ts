import { afterAll, beforeAll, expect, it } from "vitest";
import { freeze } from "../chaos/frozen/play";
import { LEASE_FAULTS } from "../chaos/lease/faults";
import { lose } from "../chaos/lease/play";
import { Rig } from "../chaos/rig";
import { MOMENTS } from "../chaos/shutdown/moments";
import { stopAt } from "../chaos/shutdown/play";
import { tell } from "../chaos/stale/play";
import { STORIES } from "../chaos/stale/stories";
import { Lab } from "../lab";
import { ownLabName } from "./suite-lab";

// The short version of `npm run chaos -- lease`, `frozen`, `stale` and `shutdown`: one scenario of each.

let lab: Lab;
let rig: Rig;

beforeAll(async () => {
  lab = await Lab.up({ name: ownLabName("lease"), controlPlaneOnly: true });
  rig = await Rig.up(lab);
});

afterAll(async () => {
  // If beforeAll failed, its error must stay visible.
  await (rig as Rig | undefined)?.down();
  await lab.down();
});

it("finishes a renewal, releases its Lease and exits in time after SIGTERM", async () => {
  const moment = MOMENTS.find(({ name }) => name === "a renewal in flight")!;
  expect((await stopAt(rig, moment)).failures).toEqual([]);
}, 240_000);

it("does not renew a revoked binding that stale lists still show", async () => {
  const story = STORIES.find(({ name }) => name === "a binding was revoked")!;
  const seen = await tell(rig, story, ["relist"]);
  expect(seen.flatMap(({ failures }) => failures)).toEqual([]);
  expect(seen.map(({ shown }) => shown > 0)).toEqual([true, true]);
}, 240_000);

it("stops leading before another leads when a priority level starves its leases, and recovers", async () => {
  const loss = await lose(rig, lab, LEASE_FAULTS[0]!);
  expect(loss.failures).toEqual([]);
  expect(loss.codes[429]).toBeGreaterThan(0);
}, 360_000);

it("does not repeat the template change of another leader after a freeze", async () => {
  const pair = [rig, await rig.replica()];
  const point = { scenario: "token-trial", call: "PATCH daemonsets", fate: "late" } as const;
  const { failures, afterwards } = await freeze(rig, pair, point);
  expect(failures).toEqual([]);
  expect(afterwards).toEqual({ sent: 1, refused: 1 });
}, 360_000);
