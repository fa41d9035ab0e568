import type {
  ControllerResilience,
  ControllerResilienceSpec,
  ControllerResilienceStatus,
} from "../../api/controller-resilience";
import { splitKey } from "../text";
import { GROUP, KIND, VERSION } from "../../api/names";
import type { Key } from "../ports";

/** An object as the API server returns it. */
export function makeObject(
  key: Key = "team/app",
  spec: Partial<ControllerResilienceSpec> = {},
  status?: ControllerResilienceStatus,
): ControllerResilience {
  const { namespace, name } = splitKey(key);
  return {
    apiVersion: `${GROUP}/${VERSION}`,
    kind: KIND,
    metadata: {
      name,
      namespace,
      uid: `uid-of-${name}`,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: "2025-01-01T00:00:00Z",
    },
    spec: { mode: "Enforce", suspend: false, targets: [{ kind: "Deployment", name: "app" }], ...spec },
    ...(status === undefined ? {} : { status }),
  };
}
