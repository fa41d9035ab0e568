import fc from "fast-check";
import type { JsonObject } from "../../../../core/json";
import { API_AUDIENCE } from "./admission";
import { ownVolume, type TemplateInput, type TemplateSpec, TOKEN_PATH, VOLUME_NAME } from "../parts";
import { defaulted } from "./apply";

const NAMES = ["data", "access", "keys", VOLUME_NAME, "controller-resilience-token-2", "kube-api-access-x2f4g"];

const lifetimes = fc.constantFrom(600, 900, 1200, 3600, 3607, 86_400);

const tokens = fc
  .record(
    {
      path: fc.constantFrom("token", "other"),
      expirationSeconds: lifetimes,
      audience: fc.constantFrom("", "vault", API_AUDIENCE),
    },
    { requiredKeys: ["path"] },
  )
  .map(serviceAccountToken => ({ serviceAccountToken }));

const sources = fc.oneof(
  { weight: 3, arbitrary: tokens },
  { weight: 1, arbitrary: fc.constantFrom({ configMap: { name: "c" } }, { secret: { name: "s" } }) },
);

/** A volume without its name. */
const contents: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.constantFrom<JsonObject>(
    { emptyDir: {} },
    { hostPath: { path: "/run", type: "" } },
    { secret: { secretName: "agent-token", defaultMode: 420 } },
    { configMap: { name: "c", defaultMode: 420 } },
    { csi: { driver: "secrets.csi" } },
  ),
  fc
    .record({ sources: fc.array(sources, { maxLength: 3 }), defaultMode: fc.constantFrom(420, 256) })
    .map(projected => ({ projected })),
  // A copy of the operator's volume.
  lifetimes.map(seconds => ({ projected: ownVolume("", seconds).projected }) as unknown as JsonObject),
);

const volumes = fc
  .uniqueArray(fc.record({ name: fc.constantFrom(...NAMES), content: contents }), {
    selector: ({ name }) => name,
    maxLength: 4,
  })
  .map(list => list.map(({ name, content }): { name: string } & JsonObject => ({ name, ...content })));

const paths = fc.constantFrom(
  TOKEN_PATH,
  TOKEN_PATH,
  `${TOKEN_PATH}/`,
  "/run/secrets/kubernetes.io/serviceaccount",
  "/data",
);

function mountsOf(names: readonly string[]): fc.Arbitrary<JsonObject[]> {
  if (names.length === 0) return fc.constant([]);
  const mount = fc.record(
    { name: fc.constantFrom(...names), mountPath: paths, readOnly: fc.boolean(), subPath: fc.constantFrom("a") },
    { requiredKeys: ["name", "mountPath"] },
  );
  return fc.uniqueArray(mount, { selector: ({ mountPath }) => mountPath, maxLength: 3 });
}

function containersOf(prefix: string, names: readonly string[]): fc.Arbitrary<JsonObject[]> {
  const container = mountsOf(names).map(volumeMounts => ({
    image: "agent:1",
    ...(volumeMounts.length === 0 ? {} : { volumeMounts }),
  }));
  return fc
    .array(container, { maxLength: 4 })
    .map(list => list.map((item, i): JsonObject => ({ name: `${prefix}${i}`, ...item })));
}

const present = (list: readonly unknown[], name: string): JsonObject => (list.length === 0 ? {} : { [name]: list });

/** Templates as the API server would return them. */
export const templates: fc.Arbitrary<JsonObject> = volumes.chain(list =>
  fc
    .record({
      containers: containersOf(
        "c",
        list.map(({ name }) => name),
      ),
      initContainers: containersOf(
        "i",
        list.map(({ name }) => name),
      ),
      rest: fc.record(
        {
          automountServiceAccountToken: fc.boolean(),
          nodeSelector: fc.constantFrom<JsonObject>({ "kubernetes.io/os": "linux" }),
          hostNetwork: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
      isWindows: fc.integer({ max: 15, min: 0 }).map(n => n === 0),
    })
    .map(({ containers, initContainers, rest, isWindows }) =>
      defaulted({
        metadata: { labels: { app: "agent" } },
        spec: {
          ...rest,
          ...(isWindows ? { os: { name: "windows" } } : {}),
          ...present(list, "volumes"),
          ...present(containers, "containers"),
          ...present(initContainers, "initContainers"),
        },
      }),
    ),
);

/** automountServiceAccountToken of the ServiceAccount. */
export const automounts = fc.constantFrom(undefined, undefined, true, false);

/** Any valid specs. */
export const specs: fc.Arbitrary<TemplateSpec> = fc.record({
  expirationSeconds: fc.constantFrom(600, 900, 1200, 7200),
  defaultToken: fc.constantFrom("Project" as const, "Project" as const, "Leave" as const),
});

const junk = fc.jsonValue({ maxDepth: 2 });

/** Almost templates, with arbitrary values in many places. */
export const junkInputs: fc.Arbitrary<TemplateInput> = fc
  .record({
    spec: fc.oneof(
      junk,
      fc.record(
        {
          volumes: listOf({ name: fc.constantFrom<unknown>(...NAMES, 7, null), projected: projectedJunk() }),
          containers: listOf({ name: junk, volumeMounts: listOf({ name: junk, mountPath: paths }) }),
          initContainers: listOf({ name: fc.constantFrom("a", "b"), volumeMounts: listOf({ mountPath: paths }) }),
          nodeSelector: junk,
          os: junk,
          automountServiceAccountToken: junk,
        },
        { requiredKeys: [] },
      ),
    ),
    metadata: fc.oneof(junk, fc.record({ annotations: junk })),
  })
  .chain(template =>
    fc.record({
      template: fc.oneof(fc.constant(template), junk as fc.Arbitrary<JsonObject>),
      automount: automounts,
      ownedVolumes: fc.subarray(NAMES),
    }),
  );

function listOf(fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> {
  return fc.oneof(junk, fc.array(fc.oneof(junk, fc.record(fields, { requiredKeys: [] })), { maxLength: 3 }));
}

function projectedJunk(): fc.Arbitrary<unknown> {
  const token = fc.oneof(junk, fc.record({ expirationSeconds: fc.oneof(junk, lifetimes), audience: junk }));
  return fc.oneof(junk, fc.record({ sources: listOf({ serviceAccountToken: token }), defaultMode: junk }));
}
