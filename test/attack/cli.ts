// `npm run attack` tries what docs/security.md says of each attacker, with ten times the volume of `npm test`. With --cluster it also runs the tests that
// need a real API server.
import { execute } from "../suite";
import { ATTACKS } from "./attacks";

async function main(args: readonly string[]): Promise<void> {
  const onCluster = args.includes("--cluster");
  const tests = ATTACKS.map(({ test }) => test).filter(([file]) => onCluster || !file.startsWith("test/integration/"));
  const files = [...new Set(["test/attack/attacks.test.ts", ...tests.map(([file]) => file)])];
  const write = (chunk: Buffer): void => void process.stdout.write(chunk);
  const code = await execute("npx", ["vitest", "run", "--maxWorkers=1", ...files], { write, env: { ATTACK: "full" } });
  process.exitCode = code === 0 ? 0 : 1;
}

void main(process.argv.slice(2));
