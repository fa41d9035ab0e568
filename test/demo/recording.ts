import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Told } from "./timeline";

/** What a run of `npm run demo -- --record FILE` has printed since the failure. */
export interface Recording {
  /** The closing sentence. */
  readonly ending: string;
  readonly told: readonly Told[];
}

/** The recording that `npm run generate` draws. */
export const RECORDING_FILE = join(__dirname, "recording.json");

/** Writes a recording, if a file was named. */
export function writeRecording(file: string | undefined, recording: Recording): void {
  if (file !== undefined) writeFileSync(file, `${JSON.stringify(recording, null, 2)}\n`);
}

/** Reads a recording. */
export function readRecording(file: string): Recording {
  return JSON.parse(readFileSync(file, "utf8")) as Recording;
}
