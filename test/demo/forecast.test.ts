import { expect, it } from "vitest";
import { forecast, type Step } from "./forecast";

const build: Step = { what: "build Kubernetes", minutes: [1, 3], isOnce: true };
const play: Step = { what: "break a controller", minutes: [2, 4], isOnce: false };

it("tells what a first demonstration does, and how long that takes", () => {
  expect(forecast([build, play])).toBe(
    "This takes 3 to 7 minutes; the next time 2 to 4 minutes.\n- build Kubernetes, once: 1 to 3 minutes\n- break a controller: 2 to 4 minutes",
  );
});

it("promises no less time for later if nothing has to be built", () => {
  expect(forecast([play])).toBe("This takes 2 to 4 minutes.\n- break a controller: 2 to 4 minutes");
});

it("names what takes less time", () => {
  expect(forecast([{ ...play, minutes: [1, 1] }], ["kind"])).toBe(
    "This takes 1 minute.\n- break a controller: 1 minute\nIn less time:\n- kind",
  );
});
