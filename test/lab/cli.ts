import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { installChart } from "../cluster/chart";
import { deployScheduler } from "../controllers/deploy-scheduler";
import { bringDown, bringDownOrphans } from "./down";
import { labsFolder } from "./folders";
import { type Minor, MINORS, parseMinor } from "./kubernetes";
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

interface UpFlags extends NameOption {
  controlPlaneOnly: boolean;
  kubernetes?: Minor;
}

function command(name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option("--name <name>", "name of the lab; several labs can run at the same time", "lab");
}

const program = new Command("npm run lab --")
  .description("Run a real Kubernetes cluster on this machine without Docker, for experiments and for the tests.")
  .showHelpAfterError("(`npm run lab -- --help` lists the commands)");

command("up", "start a lab; for a running lab, start only the missing components")
  .option(
    "--control-plane-only",
    "start only etcd, API server and controller-manager: needs no root, runs no pods, takes seconds",
    false,
  )
  .option("--kubernetes <minor>", `version of a new lab: ${MINORS.join(", ")} (default: the newest)`, minorOf)
  .addHelpText(
    "after",
    "\nThe first start builds the programs from Go modules (4 to 12 minutes on 2 cores)." +
      "\nMissing Debian packages (containerd, runc, CNI plugins) are installed.",
  )
  .action(async ({ name, controlPlaneOnly, kubernetes }: UpFlags) => {
    const flag = name === "lab" ? "" : ` --name ${name}`;
    sayHowToCleanUp(flag);
    const lab = await Lab.up({ name, controlPlaneOnly, stays: true, kubernetes, onProgress: progress });
    progress(`the lab "${name}" is up: Kubernetes ${lab.version}`);
    console.log(
      `export KUBECONFIG=${lab.kubeconfigPath}\n# shell with kubectl: npm run lab -- shell${flag}; remove the lab: npm run lab -- down${flag}`,
    );
  });

command("down", "stop a lab and remove everything it created, also after an interrupted start")
  .option("--all", "all labs of this user", false)
  .option("--orphans", "the labs of tests and demonstrations whose process has ended", false)
  .action(async ({ name, all, orphans }: NameOption & { all: boolean; orphans: boolean }) => {
    if (orphans) return bringDownOrphans(progress);
    const names = all ? labNames() : [name];
    for (const each of names) {
      const was = await bringDown(each, progress);
      console.log(was ? `the lab "${each}" is removed` : `there is no lab "${each}"`);
    }
    if (names.length === 0) console.log("there are no labs");
  });

program
  .command("status")
  .description("show the components of each lab, their age and log files; fails if a component does not run")
  .option("--name <name>", "only this lab")
  .action(async ({ name }: Partial<NameOption>) => {
    const names = name === undefined ? labNames() : [name];
    if (names.length === 0) console.log(`there are no labs (in ${labsFolder()})`);
    for (const each of names) await printStatus(each);
  });

command("shell", "start a shell (or, after --, a command) with KUBECONFIG set and kubectl on the PATH")
  .argument("[command...]", "the command to run instead of $SHELL")
  .action(async (argv: string[], { name }: NameOption) => {
    const lab = find(name);
    const [file = process.env["SHELL"] ?? "sh", ...args] = argv;
    process.exitCode = await new Promise<number>((ended, reject) => {
      // The shell and its commands handle keyboard interrupts; this process waits for their end.
      process.on("SIGINT", () => undefined);
      spawn(file, args, { stdio: "inherit", env: lab.environment })
        .once("error", reject)
        .once("exit", code => ended(code ?? INTERRUPTED));
    });
  });

command(
  "restart-apiserver",
  "restart the API server with other arguments, or with a new signing key for ServiceAccount tokens",
)
  .argument("[args...]", "after --: extra arguments, such as --v=4; they replace earlier extra arguments")
  .option("--new-signing-key", "sign tokens with a new key: all earlier tokens become invalid", false)
  .action(async (extraArgs: string[], { name, newSigningKey }: NameOption & { newSigningKey: boolean }) => {
    await find(name).restartApiServer({ extraArgs, newSigningKey });
    progress("the API server is ready again");
  });

command("restart-kubelet", "restart the node's kubelet; its pods keep running").action(async ({ name }: NameOption) => {
  await find(name).restartKubelet();
  progress("the kubelet is ready again");
});

command("load-image", "load an image into the node; pods use it with imagePullPolicy: Never")
  .argument("<tar>", "as written by `docker save` or an OCI archive")
  .action(async (tar: string, { name }: NameOption) => {
    await find(name).loadImage(tar);
    progress(`loaded ${tar}`);
  });

command(
  "deploy-scheduler",
  "deploy a controller to protect: a real kube-scheduler as Deployment my-scheduler in namespace my-scheduler",
).action(async ({ name }: NameOption) => {
  const image = await deployScheduler(find(name), progress);
  progress(`my-scheduler is ready (${image}); protect it with docs/examples/first-object.yaml`);
});

command("install", "build and load the operator's image, and install or upgrade the chart in deploy/")
  .argument("[args...]", "after --: more arguments for Helm, such as --set replicas=1")
  .action(async (args: string[], { name }: NameOption) => {
    await installChart(find(name), args, progress);
    progress("the operator is ready; the lab's shell has `helm`, too");
  });

command("add-nodes", "add simulated nodes (kwok); the first time, this builds kwok")
  .argument("<count>", "how many", parseCount)
  .option("--config <file...>", "additional kwok configuration: stages, ClusterLogs and so on")
  .action(async (count: number, { name, config }: NameOption & { config?: string[] }) => {
    const lab = find(name);
    if (config !== undefined) await lab.configureKwok(config.map(file => resolve(file)));
    await lab.addKwokNodes(count);
    progress(`${count} more simulated nodes are Ready`);
  });

function minorOf(text: string): Minor {
  try {
    return parseMinor(text);
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
}

function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count > 0 && count <= MOST_NODES) return count;
  throw new InvalidArgumentError(`expected a whole number from 1 to ${MOST_NODES}`);
}

/** An interrupted start leaves everything in place, so that it ends at once; `down` finds and removes it. */
function sayHowToCleanUp(flag: string): void {
  for (const [signal, number] of [
    ["SIGINT", 2],
    ["SIGTERM", 15],
  ] as const) {
    process.once(signal, () => {
      console.error(`\ninterrupted; remove everything created so far with: npm run lab -- down${flag}`);
      process.exit(128 + number);
    });
  }
}

async function printStatus(name: string): Promise<void> {
  const lab = readState(name);
  if (lab === undefined) {
    console.log(`${name}: no such lab, or its start was interrupted before it created anything`);
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
