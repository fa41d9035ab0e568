import { setTimeout as sleep } from "node:timers/promises";
import type { ControllerResilience } from "../../../src/api/controller-resilience";
import { FORBIDDEN_PATH } from "../../flood/accounts";
import { LoopingClient } from "../../flood/client";
import { createWorkload, NAME, protect, type Scene, until } from "../scenario";
import type { Story } from "./story";
import { isStalled, messageOf, objectsOf, reasonOf } from "./workloads";

const POLICIES = "/apis/admissionregistration.k8s.io/v1";

/** The client makes four times as many requests as the threshold. */
const RATE = { threshold: 5, for: "5s", onRunaway: "Throttle", release: "60s" };
const FLOOD = { connections: 4, pauseMs: 200 };

/** Much longer than each step takes on a busy machine, in milliseconds. */
const PATIENCE_MS = 480_000;
const LOOK_MS = 1_000;

/** Admission refuses every change of the FlowSchema, for ever, when a throttle is over. */
export const refusedRelease: Story = {
  name: "refused-release",
  async tell({ lab, rig, dice, print }) {
    const scene = await rig.scene("refused-release");
    await createWorkload(scene, "Deployment", 1);
    await protect(scene, "Deployment", { flowIsolation: { requestRate: RATE } });
    await until("the flow", async () => (await flow(scene)).reason === "Isolated", PATIENCE_MS);
    const kubeconfig = await lab.serviceAccountKubeconfig(scene.namespace, NAME);
    const client = await LoopingClient.start({ ...FLOOD, kubeconfig, path: FORBIDDEN_PATH });
    try {
      await until("the throttle", async () => (await flow(scene)).state === "Throttled", PATIENCE_MS);
    } finally {
      await client.stop();
    }
    await sleep(dice.whole(0, 10_000));
    await refuse(scene);
    print("throttled, and admission refuses its release");
    const states = new Set<string>();
    const look = async (): Promise<boolean> => {
      const { state, object } = await flow(scene);
      states.add(state);
      await sleep(LOOK_MS);
      return object !== undefined && isStalled(object);
    };
    await until("the object to be Stalled", look, PATIENCE_MS);
    const { object } = await flow(scene);
    const [reason, message] = [reasonOf(object!, "Stalled"), messageOf(object!, "Stalled")];
    const flowSchema = object?.status?.flows?.[0]?.flowSchema ?? "";
    await allow(scene);
    await until("the release", async () => (await flow(scene)).state !== "Throttled", PATIENCE_MS);
    return {
      fault: "admission refuses changes of the FlowSchema for ever while a throttle ends",
      times: 1,
      promised: "Throttled while it is; Stalled by ReleaseFailed, with the command; released once that is possible",
      seen: `${[...states].join(", ")}; ${reason}: ${message}`,
      failures: [
        ...(states.size === 1 && states.has("Throttled") ? [] : [`the states were ${[...states].join(", ")}`]),
        ...(reason === "ReleaseFailed" ? [] : [`the reason was ${reason}`]),
        ...(message.includes(`kubectl patch flowschema ${flowSchema}`)
          ? []
          : [`the message has no command: ${message}`]),
      ],
    };
  },
};

async function flow(
  scene: Scene,
): Promise<{ state: string; reason: string; object: ControllerResilience | undefined }> {
  const [object] = await objectsOf(scene, [NAME]);
  const state = object?.status?.flows?.[0]?.state ?? "";
  return { state, reason: object === undefined ? "" : reasonOf(object, "FlowsIsolated"), object };
}

/** Refuses every change of the scene's FlowSchemas, but of their status. */
async function refuse({ admin, namespace: name }: Scene): Promise<void> {
  const rule = { apiGroups: ["flowcontrol.apiserver.k8s.io"], apiVersions: ["*"], operations: ["UPDATE"] };
  await admin.create(`${POLICIES}/validatingadmissionpolicies`, {
    metadata: { name },
    spec: {
      failurePolicy: "Fail",
      matchConstraints: { resourceRules: [{ ...rule, resources: ["flowschemas"] }] },
      matchConditions: [{ name: "own", expression: `object.metadata.name.contains("${name}")` }],
      validations: [{ expression: "false", message: "this day is bad" }],
    },
  });
  await admin.create(`${POLICIES}/validatingadmissionpolicybindings`, {
    metadata: { name },
    spec: { policyName: name, validationActions: ["Deny"] },
  });
}

async function allow({ admin, namespace: name }: Scene): Promise<void> {
  await admin.delete(`${POLICIES}/validatingadmissionpolicybindings/${name}`);
  await admin.delete(`${POLICIES}/validatingadmissionpolicies/${name}`);
}
