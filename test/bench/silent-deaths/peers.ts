import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { install, OPERATOR } from "../../cluster/installation";
import { DESCHEDULER } from "../../controllers/images";
import { ensureBuilt, OPERATOR_PROGRAM, operatorNodeOptions, operatorStage } from "../../controllers/operator-image";
import { letOperatorBind } from "../../enforcers/rights";
import { cacheFolder } from "../../lab/folders";
import { built, type GoProgram } from "../../lab/go-build";
import { nodeRelease } from "../../lab/images";
import { NAME } from "../zoo/stall-programs";
import { accountOf, grant, type Placed, type Tool } from "./tool";

const READ = ["get", "list", "watch"];

/** The heap limit that Node.js chooses in a container with the chart's 512 MiB. */
const HEAP_MIB = 256;

type Spec = Parameters<Parameters<Tool["install"]>[0]["protect"]>[2];

const specOf = ({ name }: Placed): Spec => ({
  ...{ tokenRestart: {}, stallDetection: { for: "60s", onStall: "Restart" } },
  ...(name === "binding" ? { bindingRenewal: { bindings: [{ kind: "RoleBinding", name: NAME }] } } : {}),
});

/** This operator, with an object for each workload. */
const operator = (how: string, blocksOf: (one: Placed) => Spec): Tool => ({
  how,
  // It leads after 20 s, knows after six pages that there is one API server, lets the logs rest a minute later, and reads each once more.
  settles: 270,
  account: { namespace: OPERATOR.namespace, name: OPERATOR.serviceAccount },
  install: async (client, cases) => {
    await install(client);
    const expiring = cases.filter(({ name }) => name === "binding");
    for (const { namespace } of expiring) await letOperatorBind(client, { kind: "Role", name: NAME, namespace });
    const targets = [{ kind: "Deployment", name: NAME }];
    for (const one of cases) await client.protect(one.namespace, NAME, { targets, ...blocksOf(one) });
  },
  command: async progress => {
    await ensureBuilt(progress);
    const node = [await nodeRelease(progress), ...operatorNodeOptions(), `--max-old-space-size=${HEAP_MIB}`];
    return { argv: [...node, OPERATOR_PROGRAM, "--health-port", "0"], env: operatorStage().env };
  },
});

/** Does something at each full minute. */
const eachMinute = (script: string): string[] => [
  ...["sh", "-c", `while :; do sleep $((60 - $(date +%s) % 60)); ${script}; done`],
];

/** Deletes each pod that has logged this word since the last minute. */
const DELETE_UNAUTHORIZED = `
kubectl get pods -A --no-headers -o custom-columns=:.metadata.namespace,:.metadata.name | while read -r namespace pod; do
  if kubectl logs -n "$namespace" "$pod" --all-containers --since=70s 2> /dev/null | grep -q Unauthorized; then
    kubectl delete pod -n "$namespace" "$pod" --wait=false
  fi
done`;

const cronJob: Tool = {
  how: "kubectl each minute: logs | grep Unauthorized, delete pod",
  account: accountOf("cronjob"),
  install: client =>
    grant(client, accountOf("cronjob"), [
      { apiGroups: [""], resources: ["pods", "pods/log"], verbs: ["get", "list", "delete"] },
    ]),
  command: () => Promise.resolve({ argv: eachMinute(DELETE_UNAUTHORIZED) }),
};

const deschedule = ["RemovePodsHavingTooManyRestarts", "RemovePodsViolatingNodeTaints", "PodLifeTime"];
const POLICY = {
  ...{ apiVersion: "descheduler/v1alpha2", kind: "DeschedulerPolicy" },
  profiles: [
    {
      name: "default",
      pluginConfig: [
        ...["DefaultEvictor", "RemoveDuplicates", "RemovePodsViolatingNodeTaints"].map(name => ({ name })),
        { name: "RemovePodsHavingTooManyRestarts", args: { podRestartThreshold: 100, includingInitContainers: true } },
        // The only way to a pod whose token is dead.
        { name: "PodLifeTime", args: { maxPodLifeTimeSeconds: 86_400 } },
      ],
      plugins: { balance: { enabled: ["RemoveDuplicates"] }, deschedule: { enabled: deschedule } },
    },
  ],
};

const descheduler: Tool = {
  how: `${DESCHEDULER.version}, each minute; PodLifeTime of a day`,
  account: accountOf("descheduler"),
  // As in its chart.
  install: client =>
    grant(client, accountOf("descheduler"), [
      { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "update"] },
      { apiGroups: [""], resources: ["nodes", "namespaces", "persistentvolumeclaims"], verbs: READ },
      { apiGroups: [""], resources: ["pods"], verbs: [...READ, "delete"] },
      { apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"] },
      { apiGroups: ["scheduling.k8s.io"], resources: ["priorityclasses"], verbs: READ },
      { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: READ },
    ]),
  command: async progress => {
    const program = await built(DESCHEDULER, "", progress);
    const policy = join(cacheFolder(), "silent-deaths", "descheduler.json");
    mkdirSync(join(policy, ".."), { recursive: true });
    writeFileSync(policy, JSON.stringify(POLICY));
    const config = `--kubeconfig "$KUBECONFIG" --policy-config-file ${policy} --secure-port 0`;
    return { argv: ["sh", "-c", `exec ${program} ${config} --descheduling-interval 1m`] };
  },
};

const POPEYE: GoProgram = {
  ...{ name: "popeye", version: "v0.22.1", sources: join(__dirname, "popeye") },
  ...{ package: "github.com/derailed/popeye", ldflags: "-s -w" },
};

const popeye: Tool = {
  how: `${POPEYE.version}, each minute; a report, of which errors count`,
  account: accountOf("popeye"),
  install: client =>
    grant(client, accountOf("popeye"), [{ apiGroups: ["*"], resources: ["*"], verbs: ["get", "list"] }]),
  command: async progress => {
    const program = await built(POPEYE, "", progress);
    return { argv: eachMinute(`${program} --kubeconfig "$KUBECONFIG" -A -l error -o jurassic --force-exit-zero`) };
  },
  accuses: (output, pod) => output.includes(pod),
};

/** The tools that build here, by name, in the order of a run. */
export const PEERS: Readonly<Record<string, Tool>> = {
  operator: operator("all evidence, for: 60s", specOf),
  "operator-logs": operator("tokenRestart alone, evidence: [Logs]", () => ({ tokenRestart: { evidence: ["Logs"] } })),
  ...{ cronjob: cronJob, descheduler, popeye },
};
