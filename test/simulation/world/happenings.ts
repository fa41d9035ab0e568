import type { Dice } from "../time";
import { DEEDS, TOOLS } from "./deeds";
import { type Kinds, subjectOf } from "./kind";
import { FAULTS } from "./machinery";
import { ODDITIES } from "./oddities";
import type { Happening } from "./plan";
import { TROUBLES } from "./troubles";
import { WORK } from "./widgets";
import type { World } from "./world";

/** Everything that can happen, by its name in a plan. */
export const HAPPENINGS: Kinds = { ...TROUBLES, ...FAULTS, ...DEEDS, ...TOOLS, ...ODDITIES, ...WORK };

/** What a story says of a happening, and of its end. */
export function sentences({ what, on = "", amount = 0, text: written = "" }: Happening): {
  readonly says: string;
  readonly ends: string;
} {
  const { says, ends } = HAPPENINGS[what]!;
  const number = Math.abs(amount) < 1 ? String(Number(amount.toFixed(2))) : String(Math.round(amount));
  const fill = (text: string): string => text.replace("%", on.replace(/^\//, "")).replace("#", number);
  const begun = fill(typeof says === "string" ? says : says(amount, written));
  return { says: begun, ends: ends ?? `Over: ${begun}` };
}

/** What has ended what an object, a workload or the cluster met: from when to when it was there. */
interface Ended {
  readonly fromMs: number;
  readonly toMs: number;
  readonly end: () => void;
  readonly ends: string;
}

/** Lets everything of a plan happen. What a restore from a backup brings back ends once more. */
export function schedule(world: World, dice: Dice, told: (text: string) => void): void {
  const ended: Ended[] = [];
  for (const happening of world.plan.happenings) {
    const { what, atMs, forMs, on = "", amount = 0, text = "" } = happening;
    const { says, ends } = sentences(happening);
    const ref = subjectOf(world, HAPPENINGS[what]!.on, on);
    const given = { on, ref, amount, text, dice: dice.fork(`${what} ${atMs}`) };
    world.clock.after(atMs, () => {
      told(says);
      const end = HAPPENINGS[what]!.begin(world, given);
      if (typeof end !== "function" || forMs === undefined) return;
      world.clock.after(forMs, () => {
        told(ends);
        (end as () => void)();
        if (what.startsWith("backup-restored")) endAgain(world, ended, { takenMs: atMs, told });
        else if (!isOfMachine(what)) ended.push({ fromMs: atMs, toMs: atMs + forMs, end: end as () => void, ends });
      });
    });
  }
}

/** What happens to a process of an operator or of an API server is in no backup. */
function isOfMachine(what: string): boolean {
  return ["operator", "server"].includes(HAPPENINGS[what]!.on ?? "");
}

function endAgain(
  { store }: World,
  ended: readonly Ended[],
  { takenMs, told }: { readonly takenMs: number; readonly told: (text: string) => void },
): void {
  for (const { fromMs, toMs, end, ends } of ended) {
    if (fromMs > takenMs || toMs < takenMs) continue;
    const { revision } = store;
    end();
    if (store.revision !== revision) told(ends);
  }
}
