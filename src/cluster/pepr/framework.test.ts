import { expect, it } from "vitest";
import { RecordingLog } from "../../engine/testing/fakes";
import { startFrameworkOr } from "./framework";

it("stops where Pepr can't start, and says so", () => {
  const log = new RecordingLog();
  const done: string[] = [];
  const broken = (): never => {
    throw new TypeError("a fault with secrets");
  };
  startFrameworkOr(
    () => void done.push("stopped"),
    () => void done.push("started"),
    log,
  );
  expect([done, log.lines]).toEqual([["started"], []]);
  startFrameworkOr(() => void done.push("stopped"), broken, log);
  expect(done).toEqual(["started", "stopped"]);
  expect(log.lines).toMatchObject([
    { level: "error", message: "failed to start Pepr", fields: { error: "an unexpected TypeError" } },
  ]);
});
