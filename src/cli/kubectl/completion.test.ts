import { expect, it } from "vitest";
import { run } from "./testing/run";

const words = async (...args: string[]): Promise<string[]> => {
  const { stdout } = await run(["__complete", ...args]);
  return stdout
    .trimEnd()
    .split("\n")
    .map(line => line.split("\t")[0] ?? "");
};

it("completes commands, options and values, as cobra's programs answer kubectl", async () => {
  expect(new Set(await words("su"))).toEqual(new Set(["suspend", ":4"]));
  expect(await words("breaker", "")).toContain("reset");
  expect(await words("audit", "--fail")).toEqual(["--fail-on", ":4"]);
  expect(await words("audit", "-n", "shop", "-o", "")).toEqual(["json", "yaml", "wide", ":4"]);
  expect((await run(["__complete", "aud"])).stdout).toBe(
    "audit\tfind problems before they cause an outage, read-only, with nothing installed\n:4\n",
  );
});

it("lets the shell complete files where a file is expected", async () => {
  expect(await words("plan", "-f", "")).toEqual([":0"]);
  expect(await words("classify", "w")).toEqual([":0"]);
});

it("does not take the value of an option for a command", async () => {
  expect(await words("--context", "audit", "pl")).not.toContain("reset");
  expect(await words("audit", "-n", "plan", "--fail")).toEqual(["--fail-on", ":4"]);
});
