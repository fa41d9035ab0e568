import { binding } from "../../enforcers/bindings";
import { EXPIRY } from "../../enforcers/rules";
import type { Rig } from "../rig";
import { createWorkload, NAME, objectPath, protect, readObject, type Scene, until } from "../scenario";
import { bindingsOf, letBind } from "../scenarios";
import { forEach } from "../../cluster/for-each";

/** One of this many bindings is due at once, and then not again for 15 hours (renewals happen at a third of the extension before the expiry). */
const DUE_EACH = 250;
const [SOON_HOURS, LATER_HOURS, EXTEND_BY] = [7, 30 * 24, "24h"];

/** Longer than the whole measurement takes on a busy machine; in milliseconds. */
const PATIENCE_MS = 240_000;

/** What came of {@link crowd}. */
interface Crowded {
  /** Bindings that had to be renewed, and renewals. */
  readonly due: number;
  readonly renewals: number;
  /** Size of the object. */
  readonly bytes: number;
  /** Bindings in its status, and the message of its condition. */
  readonly told: number;
  readonly message: string;
}

/** One object whose ServiceAccount has this many RoleBindings. */
export async function crowd(rig: Rig, count: number): Promise<Crowded> {
  const scene = await rig.scene("crowd");
  await createWorkload(scene, "Deployment");
  await letBind(scene);
  const due = count / DUE_EACH;
  await forEach(count, i => scene.admin.create(bindingsOf(scene), bindingOf(scene, i)));
  rig.proxy.forget();
  const named = Array.from({ length: due }, (_, i) => ({
    kind: "RoleBinding",
    name: nameOf(i * DUE_EACH + DUE_EACH / 2),
  }));
  await protect(scene, "Deployment", { bindingRenewal: { bindings: named, extendBy: EXTEND_BY } });
  await until("the due bindings to be renewed", () => isRenewed(scene, due), PATIENCE_MS);
  const renewals = rig.proxy.writesIn(scene.namespace).filter(({ call }) => call.endsWith(" rolebindings")).length;
  return { due, renewals, ...(await described(scene)) };
}

function isDue(i: number): boolean {
  return i % DUE_EACH === DUE_EACH / 2;
}

function nameOf(i: number): string {
  return `${isDue(i) ? "due" : "far"}-${i}`;
}

/** Due bindings are neither the first nor the last of a list. */
function bindingOf({ namespace }: Scene, i: number): object {
  const endMs = Date.now() + 3_600_000 * (isDue(i) ? SOON_HOURS : LATER_HOURS);
  return binding({
    name: nameOf(i),
    renew: false,
    namespace,
    role: { kind: "Role", name: NAME },
    serviceAccount: { namespace, name: NAME },
    annotations: { [EXPIRY.ownExpiresAt]: new Date(endMs).toISOString().replace(/\.\d+/, "") },
  });
}

async function isRenewed(scene: Scene, count: number): Promise<boolean> {
  const due = (await readObject(scene))?.status?.bindings?.filter(({ name }) => name.startsWith("due-")) ?? [];
  return due.length === count && due.every(({ lastRenewalTime }) => lastRenewalTime !== undefined);
}

async function described(scene: Scene): Promise<{ bytes: number; told: number; message: string }> {
  const object = await scene.admin.get<object>(objectPath(scene));
  const { status } = (await readObject(scene)) ?? {};
  const condition = status?.conditions?.find(({ type }) => type === "BindingsCurrent");
  return {
    bytes: Buffer.byteLength(JSON.stringify(object)),
    told: status?.bindings?.length ?? 0,
    message: condition?.message ?? "",
  };
}
