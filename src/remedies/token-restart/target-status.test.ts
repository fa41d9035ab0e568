import { expect, it } from "vitest";
import { Scene, UNAUTHORIZED } from "./testing/scene";

it("writes the time of the last 401 once in half of the window, and when the number of rejected pods changes", async () => {
  const scene = new Scene({ evidence: ["Logs"] });
  const written: string[] = [];
  for (let second = 0; second < 900; second += 10) {
    scene.log(UNAUTHORIZED);
    const [target] = (await scene.pass()).lists?.targets ?? [];
    const shown = `${target?.rejectedPods} ${target?.lastUnauthorizedTime}`;
    if (shown !== written.at(-1)) written.push(shown);
    scene.object = { ...scene.object, status: { targets: target === undefined ? [] : [target] } };
    scene.clock.advance(10_000);
  }
  expect(written).toEqual(["0 2025-01-01T12:00:00Z", "1 2025-01-01T12:01:00Z", "1 2025-01-01T12:08:30Z"]);
});
