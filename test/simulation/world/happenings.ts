import type { Dice } from "../time";
import { DEEDS, TOOLS } from "./deeds";
import type { Kinds } from "./kind";
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
  const { says, ends = "" } = HAPPENINGS[what]!;
  const number = Math.abs(amount) < 1 ? String(Number(amount.toFixed(2))) : String(Math.round(amount));
  const fill = (text: string): string => text.replace("%", on.replace(/^\//, "")).replace("#", number);
  return { says: fill(typeof says === "string" ? says : says(amount, written)), ends: fill(ends) };
}

/** Lets everything of a plan happen. */
export function schedule(world: World, dice: Dice, told: (text: string) => void): void {
  for (const happening of world.plan.happenings) {
    const { what, atMs, forMs, on = "", amount = 0, text = "" } = happening;
    const { says, ends } = sentences(happening);
    const given = { on, amount, text, dice: dice.fork(`${what} ${atMs}`) };
    world.clock.after(atMs, () => {
      told(says);
      const end = HAPPENINGS[what]!.begin(world, given);
      if (typeof end !== "function" || forMs === undefined) return;
      world.clock.after(forMs, () => {
        if (ends !== "") told(ends);
        (end as () => void)();
      });
    });
  }
}
