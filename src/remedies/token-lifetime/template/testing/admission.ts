import { arrayOf, type JsonObject, objectOf } from "../../../../core/json";

// The rule of the ServiceAccount admission plugin (mountServiceAccountToken of Kubernetes 1.36), and what the kubelet makes of a pod.

const PATH = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The pod's spec as admission lets it pass. */
export function admit(spec: JsonObject, accountAutomount: boolean | undefined): JsonObject {
  if (!((spec["automountServiceAccountToken"] ?? accountAutomount ?? true) as boolean)) return spec;
  const volumes = arrayOf(spec["volumes"]).map(objectOf);
  const existing = volumes.find(({ name }) => (name as string).startsWith("kube-api-access-"));
  const name = existing?.["name"] ?? "kube-api-access-12345";
  const token = { serviceAccountToken: { path: "token", expirationSeconds: 3607 } };
  const lists = ["initContainers", "containers"].map(list => [list, mounted(spec[list], name)] as const);
  const needs = lists.some(([list, items]) => items.some((item, i) => item !== arrayOf(spec[list])[i]));
  const added = existing === undefined && needs ? [{ name, projected: { sources: [token] } }] : [];
  return { ...spec, ...Object.fromEntries(lists), volumes: [...volumes, ...added] };
}

/** The lives of all tokens that the kubelet asks for with the API server as audience. */
export function tokenLives(spec: JsonObject): number[] {
  return arrayOf(spec["volumes"]).flatMap(livesIn);
}

/** Containers that find such a token in the usual place. */
export function withToken(spec: JsonObject): unknown[] {
  const volumes = arrayOf(spec["volumes"]).map(objectOf);
  const holders = volumes.filter(volume => livesIn(volume).length > 0).map(({ name }) => name);
  const containers = [...arrayOf(spec["initContainers"]), ...arrayOf(spec["containers"])].map(objectOf);
  const found = containers.filter(({ volumeMounts }) =>
    arrayOf(volumeMounts).some(mount => {
      const { name, mountPath } = objectOf(mount);
      return mountPath === PATH && holders.includes(name);
    }),
  );
  return found.map(({ name }) => name);
}

function livesIn(volume: unknown): number[] {
  return arrayOf(objectOf(objectOf(volume)["projected"])["sources"]).flatMap(source => {
    const token = objectOf(source)["serviceAccountToken"];
    if (token === undefined || ![undefined, ""].includes(objectOf(token)["audience"] as string)) return [];
    return [(objectOf(token)["expirationSeconds"] as number | undefined) ?? 3600];
  });
}

function mounted(containers: unknown, volume: unknown): unknown[] {
  return arrayOf(containers).map(container => {
    const mounts = arrayOf(objectOf(container)["volumeMounts"]);
    if (mounts.some(mount => objectOf(mount)["mountPath"] === PATH)) return container;
    return {
      ...objectOf(container),
      volumeMounts: [...mounts, { name: volume, readOnly: true, mountPath: PATH }],
    };
  });
}
