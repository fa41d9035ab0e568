// `npm run attack` tries what docs/security.md says of each attacker, with ten times the volume of `npm test`. With --cluster it also runs the tests that
// need a real API server.
import { Command } from "commander";
import { execute } from "../suite";
import { ATTACKS } from "./attacks";

async function main(): Promise<void> {
  const program = new Command("npm run attack").description("Try what docs/security.md says of each attacker.");
  const { cluster } = program.option("--cluster", "with a real API server, too").parse().opts<{ cluster?: true }>();
  const tests = ATTACKS.map(({ test }) => test).filter(([file]) => cluster || !file.startsWith("test/integration/"));
  const files = [...new Set(["test/attack/attacks.test.ts", ...tests.map(([file]) => file)])];
  const write = (chunk: Buffer): void => void process.stdout.write(chunk);
  const code = await execute("npx", ["vitest", "run", "--maxWorkers=1", ...files], { write, env: { ATTACK: "full" } });
  process.exitCode = code === 0 ? 0 : 1;
}

void main();
