import { expect, it } from "vitest";
import { Dice, ProcessClock, VirtualClock } from "./time";

it("fires timers in the order of their moments, and of their setting at one moment", async () => {
  const clock = new VirtualClock();
  const seen: string[] = [];
  const note = (name: string) => () => void seen.push(`${name} ${clock.monotonicMs()}`);
  for (const [delay, name] of [
    [30, "c"],
    [10, "a"],
    [30, "d"],
    [20, "b"],
  ] as const)
    clock.after(delay, note(name));
  clock.after(10, () => clock.after(5, note("nested")));
  clock.after(15, note("canceled"))();
  await clock.run(30);
  expect(seen).toEqual(["a 10", "nested 15", "b 20", "c 30", "d 30"]);
});

it("gets ahead, however small the delays are", async () => {
  const clock = new VirtualClock();
  let fired = 0;
  const again = (): void => {
    fired++;
    if (clock.monotonicMs() < 1_000_000.01) clock.after(1e-10, again);
  };
  clock.after(1_000_000, again);
  await clock.run(1_000_001);
  expect(fired).toBeLessThan(20);
});

it("keeps the timers of a frozen process until it thaws, and those of a dead one for ever", async () => {
  const world = new VirtualClock();
  const process = new ProcessClock(world, { offsetMs: 1_000 });
  const seen: string[] = [];
  process.after(10, () => void seen.push("frozen"));
  process.freeze();
  await world.run(50);
  expect(seen).toEqual([]);
  process.thaw();
  await world.run(60);
  expect(seen).toEqual(["frozen"]);
  expect(process.now().getTime() - world.now().getTime()).toBe(1_000);
  process.after(10, () => void seen.push("dead"));
  process.kill();
  await world.run(100);
  expect(seen).toEqual(["frozen"]);
});

it("gives each part of a world its own luck", () => {
  const [one, other] = [new Dice(7), new Dice(7)];
  one.next();
  expect(one.fork("pods").next()).toBe(other.fork("pods").next());
  expect(one.fork("pods").next()).not.toBe(one.fork("nodes").next());
});
