import { arrayOf, type JsonObject, objectOf } from "../../../../core/json";

// The rule of the ServiceAccount admission plugin (mountServiceAccountToken of Kubernetes 1.36), and the tokens that the kubelet requests.

const PATH = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The pod spec after admission. */
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

/** The lifetimes of all API server tokens that the kubelet requests. */
export function tokenLives(spec: JsonObject): number[] {
  return arrayOf(spec["volumes"]).flatMap(livesIn);
}

/** Containers with such a token at the token path. */
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

/** What --api-audiences says. */
export const API_AUDIENCE = "https://kubernetes.default.svc";

/** Whether the API server accepts a token with this audience. */
export const isForApi = (audience = ""): boolean => ["", API_AUDIENCE].includes(audience);

function livesIn(volume: unknown): number[] {
  return arrayOf(objectOf(objectOf(volume)["projected"])["sources"]).flatMap(source => {
    const token = objectOf(source)["serviceAccountToken"];
    if (token === undefined || !isForApi(objectOf(token)["audience"] as string)) return [];
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
