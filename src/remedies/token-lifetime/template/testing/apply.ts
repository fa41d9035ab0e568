import { arrayOf, canonical, type JsonObject, objectIn, objectOf } from "../../../../core/json";
import { namedOf, type TemplatePatch, VOLUME_NAME } from "../parts";

// Server-side apply with force, as structured-merge-diff does it, for pod templates.

/** The operator's field manager. */
export const US = "controller-resilience";

/** A template, and the fields of each manager. */
export interface Managed {
  readonly template: JsonObject;
  readonly owners: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Lists whose items are merged by a key. All others are atomic, also `projected.sources`. */
const KEYS: Readonly<Record<string, string>> = {
  volumes: "name",
  containers: "name",
  initContainers: "name",
  volumeMounts: "mountPath",
};

/** A new template, whose creator owns all fields. */
export function created(template: JsonObject, manager = "creator"): Managed {
  return { template, owners: new Map([[manager, new Set(pathsOf(template).keys())]]) };
}

/** The template after `manager` has applied a configuration with force. */
export function serverSideApply(live: Managed, manager: string, config: JsonObject): Managed {
  const before = pathsOf(live.template);
  const wanted = pathsOf(config);
  const owners = new Map([...live.owners].map(([name, paths]) => [name, new Set(paths)]));
  const last = owners.get(manager) ?? new Set<string>();
  owners.delete(manager);
  const changed = [...wanted].filter(([path, value]) => canonical(before.get(path)) !== canonical(value));
  for (const paths of owners.values()) for (const [path] of changed) paths.delete(path);
  owners.set(manager, new Set(wanted.keys()));
  const owned = new Set([...owners.values()].flatMap(paths => [...paths]));
  const isKept = (path: string): boolean => {
    const item = path.endsWith("/.") ? path.slice(0, -1) : `${path}/`;
    return [...owned].some(one => one === path || one.startsWith(item));
  };
  const isGone = (path: string): boolean => last.has(path) && !isKept(path);
  const merged = mergeObjects(live.template, config);
  return { template: defaulted(pruneObject(merged, "", isGone)), owners };
}

/** Volumes whose sources the manager owns. */
export function ownedVolumesOf({ template, owners }: Managed, manager = US): string[] {
  const paths = owners.get(manager);
  const names = namedOf(objectOf(template["spec"])["volumes"]).map(({ name }) => name);
  return names.filter(name => paths?.has(sourcesPath(name)));
}

/** Applies a patch of the operator if only the owners of the sources are known. */
export function applyPatch(
  template: JsonObject,
  ownedVolumes: readonly string[],
  patch: TemplatePatch,
): { readonly template: JsonObject; readonly ownedVolumes: readonly string[] } {
  const operatorVolumes = ownedVolumes.filter(name => name.startsWith(VOLUME_NAME));
  const all = pathsOf(template);
  const mounts = [...all].filter(
    ([path, value]) => path.includes("/volumeMounts/") && operatorVolumes.includes(value as string),
  );
  const prefixes = [...operatorVolumes.map(itemPath), ...mounts.map(([path]) => path.slice(0, -"name".length))];
  const paths = [...all.keys()];
  const mine = paths.filter(path => prefixes.some(prefix => path.startsWith(prefix)));
  const shared = new Set(ownedVolumes.map(sourcesPath));
  const theirs = paths.filter(path => !mine.includes(path) && !shared.has(path));
  const owners = new Map([
    ["creator", new Set(theirs)],
    [US, new Set([...mine, ...shared])],
  ]);
  const applied = serverSideApply({ template, owners }, US, { spec: patch });
  return { template: applied.template, ownedVolumes: ownedVolumesOf(applied) };
}

/** Sets the API server's defaults of projected volumes. */
export function defaulted(template: JsonObject): JsonObject {
  const spec = objectOf(template["spec"]);
  if (!Array.isArray(spec["volumes"])) return template;
  const volumes = arrayOf(spec["volumes"]).map(volume => {
    const projected = objectIn(objectOf(volume)["projected"]);
    if (projected === undefined) return volume;
    const sources = arrayOf(projected["sources"]).map(defaultedSource);
    return { ...objectOf(volume), projected: { defaultMode: 420, ...projected, sources } };
  });
  return { ...template, spec: { ...spec, volumes } };
}

function defaultedSource(source: unknown): unknown {
  const token = objectIn(objectOf(source)["serviceAccountToken"]);
  if (token === undefined) return source;
  return { ...objectOf(source), serviceAccountToken: { expirationSeconds: 3600, ...token } };
}

function itemPath(volume: string): string {
  return `/spec/volumes/${encodeURIComponent(volume)}/`;
}

function sourcesPath(volume: string): string {
  return `${itemPath(volume)}projected/sources`;
}

/** Every leaf by its path, and every item of a keyed list by its path with a dot. */
function pathsOf(value: unknown, path = "", key?: string): Map<string, unknown> {
  const object = objectIn(value);
  if (key !== undefined && Array.isArray(value)) {
    return new Map(
      value.flatMap((item: unknown): [string, unknown][] => {
        const itemAt = `${path}/${encodeURIComponent(objectOf(item)[key] as string)}`;
        return [[`${itemAt}/.`, true], ...pathsOf(item, itemAt)];
      }),
    );
  }
  if (object === undefined || Object.keys(object).length === 0) return new Map([[path, value]]);
  const entries = Object.entries(object);
  return new Map(
    entries.flatMap(([name, field]) => [...pathsOf(field, `${path}/${encodeURIComponent(name)}`, KEYS[name])]),
  );
}

function mergeObjects(live: JsonObject, config: JsonObject): JsonObject {
  const merged = Object.entries(config).map(([name, wanted]) => {
    const key = KEYS[name];
    const current = live[name];
    if (key !== undefined) return [name, mergeLists(arrayOf(current), arrayOf(wanted), key)] as const;
    const [liveObject, wantedObject] = [objectIn(current), objectIn(wanted)];
    const both = liveObject !== undefined && wantedObject !== undefined;
    return [name, both ? mergeObjects(liveObject, wantedObject) : wanted] as const;
  });
  return { ...live, ...Object.fromEntries(merged) };
}

/** Common items must have the same order; otherwise the API server would reorder fields of other owners. */
function mergeLists(live: readonly unknown[], wanted: readonly unknown[], key: string): unknown[] {
  const keyOf = (item: unknown): unknown => objectOf(item)[key];
  const known = live.map(keyOf);
  const places = wanted.map(item => known.indexOf(keyOf(item))).filter(place => place >= 0);
  const tail = wanted.slice(places.length).every(item => !known.includes(keyOf(item)));
  if (!tail || places.some((place, i) => place < (places[i - 1] ?? 0)))
    throw new Error("expected a patch in the order of the template");
  const fresh = wanted.slice(places.length);
  const merged = live.map(item => {
    const patch = wanted.find(one => keyOf(one) === keyOf(item));
    return patch === undefined ? item : mergeObjects(objectOf(item), objectOf(patch));
  });
  return [...merged, ...fresh];
}

function pruneObject(object: JsonObject, path: string, isGone: (path: string) => boolean): JsonObject {
  const entries = Object.entries(object).flatMap(([name, field]): [string, unknown][] => {
    const at = `${path}/${encodeURIComponent(name)}`;
    const key = KEYS[name];
    if (isGone(at)) return [];
    if (key !== undefined && Array.isArray(field)) {
      const kept = field.flatMap((item: unknown) => {
        const itemAt = `${at}/${encodeURIComponent(objectOf(item)[key] as string)}`;
        return isGone(`${itemAt}/.`) ? [] : [pruneObject(objectOf(item), itemAt, isGone)];
      });
      return kept.length === 0 && field.length > 0 ? [] : [[name, kept]];
    }
    const child = objectIn(field);
    return [[name, child === undefined ? field : pruneObject(child, at, isGone)]];
  });
  return Object.fromEntries(entries);
}
