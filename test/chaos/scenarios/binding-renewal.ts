import { LIFE_ANNOTATION } from "../../../src/api/names";
import { GoneError } from "../../../src/core/errors";
import { OPERATOR } from "../../cluster/installation";
import { binding } from "../../enforcers/bindings";
import { letOperatorBind } from "../../enforcers/rights";
import { EXPIRY } from "../../enforcers/rules";
import { createWorkload, describeObject, NAME, protect, says, type Scenario, type Scene, until } from "../scenario";

const GROUP = "rbac.authorization.k8s.io";
const HOUR_MS = 3_600_000;

/** Renewals happen at a third of the extension before the expiry, so this binding is due at once, and then not again for 15 hours. */
const [LEFT_MS, EXTEND_BY] = [7 * HOUR_MS, "24h"];

/** The block that asks for it. */
export const RENEWAL = { bindings: [{ kind: "RoleBinding", name: NAME }], extendBy: EXTEND_BY };

interface Marked {
  readonly metadata: { readonly creationTimestamp: string; readonly annotations: Readonly<Record<string, string>> };
}

/** Renews a RoleBinding that expires soon. */
export const bindingRenewal: Scenario = {
  name: "binding-renewal",
  patienceMs: 120_000,

  prepare: scene => bind(scene, LEFT_MS),

  async trigger(scene) {
    await protect(scene, "Deployment", { bindingRenewal: RENEWAL });
  },

  async describe(scene) {
    return { ...(await describeObject(scene)), ...(await lifeOf(scene)) };
  },

  isOver: state => says(state, "BindingsCurrent", "Current"),
};

/** Creates a workload, and a binding of its ServiceAccount to a role that the operator may bind, which expires after this time. */
async function bind(scene: Scene, leftMs: number): Promise<void> {
  const { admin, client, namespace } = scene;
  await createWorkload(scene, "Deployment");
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }];
  await admin.create(`/apis/${GROUP}/v1/namespaces/${namespace}/roles`, { metadata: { name: NAME }, rules });
  await letOperatorBind(client, { kind: "Role", name: NAME, namespace });
  await until("the right to bind", () => mayBind(scene));
  const end = new Date(Date.now() + leftMs).toISOString().replace(/\.\d+/, "");
  const role = { kind: "Role", name: NAME } as const;
  const options = { name: NAME, namespace, role, serviceAccount: { namespace, name: NAME } };
  await admin.create(bindingsOf(scene), binding({ ...options, annotations: { [EXPIRY.ownExpiresAt]: end } }));
}

/** The current life of the binding, "gone" after its deletion; and its first life, on which the next renewal depends, once it is renewed. */
async function lifeOf(scene: Scene): Promise<{ hours: number | "gone"; firstLife?: number }> {
  try {
    const { metadata } = await scene.admin.get<Marked>(`${bindingsOf(scene)}/${NAME}`);
    const endMs = Date.parse(metadata.annotations[EXPIRY.ownExpiresAt] ?? "");
    const hours = Math.round((endMs - Date.parse(metadata.creationTimestamp)) / HOUR_MS);
    const seconds = metadata.annotations[LIFE_ANNOTATION];
    return { hours, ...(seconds === undefined ? {} : { firstLife: Math.round(Number(seconds) / 3_600) }) };
  } catch (error) {
    if (error instanceof GoneError) return { hours: "gone" };
    throw error;
  }
}

/** Path of the scene's RoleBindings. */
export function bindingsOf({ namespace }: Scene): string {
  return `/apis/${GROUP}/v1/namespaces/${namespace}/rolebindings`;
}

/** API servers apply a new right after a short delay. */
async function mayBind({ admin, namespace }: Scene): Promise<boolean> {
  const user = `system:serviceaccount:${OPERATOR.namespace}:${OPERATOR.serviceAccount}`;
  const resourceAttributes = { namespace, verb: "bind", group: GROUP, resource: "roles", name: NAME };
  const { status } = await admin.create<{ status: { allowed: boolean } }>(
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    { spec: { user, resourceAttributes } },
  );
  return status.allowed;
}
