import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { installChart } from "../cluster/chart";
import { deployScheduler } from "../controllers/deploy-scheduler";
import { bringDown } from "./down";
import { labsFolder } from "./folders";
import { Lab } from "./lab";
import { printer } from "./progress";
import { labNames, readState } from "./state";
import { renderStatus, statusOf } from "./status";
import { messageOf } from "./wait";

const progress = printer(process.stderr);
const INTERRUPTED = 130;
const MOST_NODES = 10_000;

interface NameOption {
  name: string;
}

function command(name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option("--name <name>", "which lab; several can run side by side", "lab");
}

const program = new Command("lab")
  .description("A real Kubernetes cluster on this machine, without Docker: for trying things out, and for the tests.")
  .showHelpAfterError("(`npm run lab -- --help` lists the commands)");

command("up", "start a lab; if it runs already, only what is missing of it")
  .option(
    "--control-plane-only",
    "etcd, API server and controller-manager on the loopback: no root, no pods, a few seconds",
    false,
  )
  .addHelpText(
    "after",
    "\nThe first time, the programs are built from Go modules (some 10 minutes on 2 cores), or taken from" +
      "\nKUBEBUILDER_ASSETS if that is set. What is missing of Debian's containerd, runc and CNI plugins is installed.",
  )
  .action(async ({ name, controlPlaneOnly }: NameOption & { controlPlaneOnly: boolean }) => {
    const flag = name === "lab" ? "" : ` --name ${name}`;
    sayHowToCleanUp(flag);
    const lab = await Lab.up({ name, controlPlaneOnly, onProgress: progress });
    progress(`the lab "${name}" is up`);
    console.log(
      `export KUBECONFIG=${lab.kubeconfigPath}\n# a shell with kubectl: npm run lab -- shell${flag}; to end it: npm run lab -- down${flag}`,
    );
  });

command("down", "end a lab, also one whose start was interrupted, and remove everything it made")
  .option("--all", "all labs of this user", false)
  .action(async ({ name, all }: NameOption & { all: boolean }) => {
    const names = all ? labNames() : [name];
    for (const each of names) {
      const was = await bringDown(each, progress);
      console.log(was ? `the lab "${each}" is gone` : `there is no lab "${each}"`);
    }
    if (names.length === 0) console.log("there are no labs");
  });

program
  .command("status")
  .description("what runs in each lab, since when, and where its log is; fails if something that should run does not")
  .option("--name <name>", "only this lab")
  .action(async ({ name }: Partial<NameOption>) => {
    const names = name === undefined ? labNames() : [name];
    if (names.length === 0) console.log(`there are no labs (in ${labsFolder()})`);
    for (const each of names) await printStatus(each);
  });

command("shell", "a shell (or, after --, a command) with KUBECONFIG set and the lab's kubectl on the PATH")
  .argument("[command...]", "the command to run instead of $SHELL")
  .action(async (argv: string[], { name }: NameOption) => {
    const lab = find(name);
    const [file = process.env["SHELL"] ?? "sh", ...args] = argv;
    process.exitCode = await new Promise<number>((ended, reject) => {
      // The shell and what runs in it get the keyboard's interrupts; we wait for its end.
      process.on("SIGINT", () => undefined);
      spawn(file, args, { stdio: "inherit", env: lab.environment })
        .once("error", reject)
        .once("exit", code => ended(code ?? INTERRUPTED));
    });
  });

command(
  "restart-apiserver",
  "restart the API server with other arguments, or with another key for ServiceAccount tokens",
)
  .argument("[args...]", "after --: extra arguments, which replace those of before, such as --v=4")
  .option("--new-signing-key", "sign tokens with a new key: all earlier tokens are dead at once", false)
  .action(async (extraArgs: string[], { name, newSigningKey }: NameOption & { newSigningKey: boolean }) => {
    await find(name).restartApiServer({ extraArgs, newSigningKey });
    progress("the API server is ready again");
  });

command("restart-kubelet", "restart the node's kubelet; its pods run on").action(async ({ name }: NameOption) => {
  await find(name).restartKubelet();
  progress("the kubelet works again");
});

command("load-image", "give the node an image; pods use it with imagePullPolicy: Never")
  .argument("<tar>", "as written by `docker save` or an OCI archive")
  .action(async (tar: string, { name }: NameOption) => {
    await find(name).loadImage(tar);
    progress(`loaded ${tar}`);
  });

command(
  "deploy-scheduler",
  "deploy a controller to protect: a real kube-scheduler, my-scheduler in a namespace of that name",
).action(async ({ name }: NameOption) => {
  const image = await deployScheduler(find(name), progress);
  progress(`my-scheduler is ready (${image}); docs/examples/first-object.yaml protects it`);
});

command("install", "put the operator's image together, load it, and install the chart in deploy/, or upgrade it")
  .argument("[args...]", "after --: more for Helm, such as --set replicas=1")
  .action(async (args: string[], { name }: NameOption) => {
    await installChart(find(name), args, progress);
    progress("the operator is ready; `helm` is in the lab's shell, too");
  });

command("add-nodes", "add simulated nodes (kwok), for which the first time another program is built")
  .argument("<count>", "how many", parseCount)
  .option("--config <file...>", "kwok configuration beside the usual: stages, ClusterLogs and the like")
  .action(async (count: number, { name, config }: NameOption & { config?: string[] }) => {
    const lab = find(name);
    if (config !== undefined) await lab.configureKwok(config.map(file => resolve(file)));
    await lab.addKwokNodes(count);
    progress(`${count} more simulated nodes are Ready`);
  });

function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count > 0 && count <= MOST_NODES) return count;
  throw new InvalidArgumentError(`expected a whole number from 1 to ${MOST_NODES}`);
}

/** An interrupted start is left as it is, so that ending takes no time; `down` finds all of it. */
function sayHowToCleanUp(flag: string): void {
  for (const [signal, number] of [
    ["SIGINT", 2],
    ["SIGTERM", 15],
  ] as const) {
    process.once(signal, () => {
      console.error(`\ninterrupted; this removes what was made so far: npm run lab -- down${flag}`);
      process.exit(128 + number);
    });
  }
}

async function printStatus(name: string): Promise<void> {
  const lab = readState(name);
  if (lab === undefined) {
    console.log(`${name}: no such lab, or interrupted before it had anything`);
    process.exitCode = 1;
    return;
  }
  const components = await statusOf(lab);
  console.log(renderStatus(lab, components, new Date()));
  if (lab.phase !== "ready" || components.some(({ state }) => state !== "running")) process.exitCode = 1;
}

function find(name: string): Lab {
  const lab = Lab.find(name, progress);
  if (lab === undefined)
    throw new Error(`the lab "${name}" is not up; start it with: npm run lab -- up --name ${name}`);
  return lab;
}

program.parseAsync().catch((error: unknown) => {
  console.error(`lab: ${messageOf(error)}`);
  process.exit(1);
});
