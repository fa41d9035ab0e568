import { OPERATOR } from "../../cluster/installation";
import { binding } from "../../enforcers/bindings";
import { letOperatorBind } from "../../enforcers/rights";
import { EXPIRY } from "../../enforcers/rules";
import { createWorkload, describeObject, NAME, protect, says, type Scenario, type Scene, until } from "../scenario";

const GROUP = "rbac.authorization.k8s.io";
const HOUR_MS = 3_600_000;

/** A renewal comes a third of the extension before the end, so this binding is due at once, and not again for 15 hours. */
const [LEFT_MS, EXTEND_BY] = [7 * HOUR_MS, "24h"];

interface Marked {
  readonly metadata: { readonly creationTimestamp: string; readonly annotations: Readonly<Record<string, string>> };
}

/** A RoleBinding that ends soon is renewed. */
export const bindingRenewal: Scenario = {
  name: "binding-renewal",
  about: "a RoleBinding that ends soon is renewed",
  patienceMs: 120_000,

  async prepare(scene) {
    const { admin, client, namespace } = scene;
    await createWorkload(scene, "Deployment");
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }];
    await admin.create(`/apis/${GROUP}/v1/namespaces/${namespace}/roles`, { metadata: { name: NAME }, rules });
    await letOperatorBind(client, { kind: "Role", name: NAME, namespace });
    await until("the right to bind", () => mayBind(scene));
    const end = new Date(Date.now() + LEFT_MS).toISOString().replace(/\.\d+/, "");
    const role = { kind: "Role", name: NAME } as const;
    const options = { name: NAME, namespace, role, serviceAccount: { namespace, name: NAME } };
    await admin.create(bindings(scene), binding({ ...options, annotations: { [EXPIRY.ownExpiresAt]: end } }));
  },

  async trigger(scene) {
    await protect(scene, "Deployment", { bindingRenewal: { extendBy: EXTEND_BY } });
  },

  async describe(scene) {
    const { metadata } = await scene.admin.get<Marked>(`${bindings(scene)}/${NAME}`);
    const lifeMs = Date.parse(metadata.annotations[EXPIRY.ownExpiresAt] ?? "") - Date.parse(metadata.creationTimestamp);
    return { ...(await describeObject(scene)), hours: Math.round(lifeMs / HOUR_MS) };
  },

  isOver: state => says(state, "BindingsCurrent", "Current"),
};

function bindings({ namespace }: Scene): string {
  return `/apis/${GROUP}/v1/namespaces/${namespace}/rolebindings`;
}

/** API servers hear of a right a moment after it was given. */
async function mayBind({ admin, namespace }: Scene): Promise<boolean> {
  const user = `system:serviceaccount:${OPERATOR.namespace}:${OPERATOR.serviceAccount}`;
  const resourceAttributes = { namespace, verb: "bind", group: GROUP, resource: "roles", name: NAME };
  const { status } = await admin.create<{ status: { allowed: boolean } }>(
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    { spec: { user, resourceAttributes } },
  );
  return status.allowed;
}
