import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { drawPicture } from "../../scripts/demo-picture";
import { readRecording, RECORDING_FILE } from "../demo/recording";

const recording = readRecording(RECORDING_FILE);

it("the picture of the README is that of the recording", () => {
  expect(readFileSync(join(__dirname, "../../docs/demo.svg"), "utf8")).toBe(drawPicture(recording));
});

it("a recording without a step of the story, or in another order, is refused", () => {
  const { told, ending } = recording;
  const without = told.filter(({ what }) => !what.includes("stays Running and Ready"));
  expect(() => drawPicture({ ...recording, told: without })).toThrow('expected a line with "stays Running and Ready"');
  const late = told.map(line => (line.what.includes("first 401") ? { ...line, seconds: 90 } : line));
  expect(() => drawPicture({ ending, told: late })).toThrow("another order");
});
