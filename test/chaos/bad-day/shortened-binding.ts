import { EXPIRY } from "../../enforcers/rules";
import { describeObject, NAME, says, until } from "../scenario";
import { bindingRenewal, bindingsOf } from "../scenarios/binding-renewal";
import { makePasses } from "./passes";
import type { Story } from "./story";
import { messageOf, objectsOf, reasonOf } from "./workloads";

const MINUTE_MS = 60_000;

/** Passes after the change. */
const PASSES = 3;

interface Marked {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
}

/** A person shortens the expiry of a binding that the operator renews. */
export const shortenedBinding: Story = {
  name: "shortened-binding",
  async tell({ rig, dice }) {
    const scene = await rig.scene("shortened-binding");
    await bindingRenewal.prepare(scene);
    await bindingRenewal.trigger(scene);
    await until("the renewal", async () => says(await describeObject(scene), "BindingsCurrent", "Current"));
    const endMs = Date.now() + dice.whole(10, 50) * MINUTE_MS;
    const end = new Date(endMs).toISOString().replace(/\.\d+/, "");
    const path = `${bindingsOf(scene)}/${NAME}`;
    await scene.admin.patch(path, { metadata: { annotations: { [EXPIRY.ownExpiresAt]: end } } });
    await makePasses(scene, PASSES);
    const { metadata } = await scene.admin.get<Marked>(path);
    const now = metadata.annotations[EXPIRY.ownExpiresAt];
    const [object] = await objectsOf(scene, [NAME]);
    const reason = reasonOf(object!, "BindingsCurrent");
    return {
      fault: "a person shortens the expiry of a renewed binding",
      times: 1,
      promised: "not renewed again; Contested",
      seen: `expires ${now === end ? "as the person decided" : String(now)}; ${reason}: ${messageOf(object!, "BindingsCurrent")}`,
      failures: [
        ...(now === end ? [] : [`the binding was renewed until ${String(now)}`]),
        ...(reason === "Contested" ? [] : [`the reason is ${reason}`]),
      ],
    };
  },
};
