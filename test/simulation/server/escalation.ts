import { objectOf } from "../../../src/core/json";
import type { Access } from "./access";
import type { KindInfo } from "./kinds";
import { type Obj, Refusal, same } from "./objects";
import { covers, type Rule } from "./rbac";
import type { Call } from "./serve";
import { detailsOf } from "./store";

const RBAC_GROUP = "rbac.authorization.k8s.io";

/** Who writes a binding must have `bind` on its role, or all of its rights; who writes a role must have `escalate`, or all of them. */
export function refuseEscalation(
  { draft, old }: { draft: Obj; old: Obj | undefined },
  call: Call,
  access: Access,
): void {
  const { info, identity, namespace } = call;
  const isFree = info.group !== RBAC_GROUP || identity.groups.includes("system:masters");
  if (isFree || isCollected(draft, old)) return;
  const isBinding = info.plural.endsWith("bindings");
  if (isBinding ? mayBind(draft, call, access) : mayEscalate(draft, call, access)) return;
  const rules = isBinding ? access.rbac.rulesOfRole(roleRefOf(draft), namespace) : ((draft["rules"] ?? []) as Rule[]);
  if (rules === undefined) throw missingRole(draft);
  const own = access.rbac.rulesOf(identity, namespace);
  if (rules.every(rule => isCovered(rule, own))) return;
  const groups = identity.groups.map(group => JSON.stringify(group)).join(" ");
  const why = `user "${identity.user}" (groups=[${groups}]) is attempting to grant RBAC permissions not currently held:`;
  throw forbidden(info, draft.metadata.name, `${why}\n${rules.map(shown).join("\n")}`);
}

function mayEscalate({ metadata: { name } }: Obj, { info, identity, namespace }: Call, access: Access): boolean {
  const place = namespace === undefined ? {} : { namespace };
  return access.authorize(identity, { verb: "escalate", group: RBAC_GROUP, resource: info.plural, name, ...place });
}

/** Only references and finalizers change: the garbage collector. */
function isCollected(draft: Obj, old: Obj | undefined): boolean {
  if (old === undefined) return false;
  const plain = (object: Obj): object => ({
    ...object,
    metadata: { ...object.metadata, ownerReferences: 0, finalizers: 0, managedFields: 0 },
  });
  return same(plain(draft), plain(old));
}

function roleRefOf(draft: Obj): { kind: string; name: string } {
  const { kind = "", name = "" } = objectOf(draft["roleRef"]) as { kind?: string; name?: string };
  return { kind, name };
}

function mayBind(draft: Obj, { identity, namespace }: Call, access: Access): boolean {
  const { kind, name } = roleRefOf(draft);
  const resource = kind === "ClusterRole" ? "clusterroles" : "roles";
  return access.authorize(identity, {
    verb: "bind",
    group: RBAC_GROUP,
    resource,
    name,
    ...(namespace !== undefined && { namespace }),
  });
}

function missingRole(draft: Obj): Refusal {
  const { kind, name } = roleRefOf(draft);
  const plural = kind === "ClusterRole" ? "clusterroles" : "roles";
  return new Refusal(404, "NotFound", `${plural}.${RBAC_GROUP} "${name}" not found`, {
    name,
    group: RBAC_GROUP,
    kind: plural,
  });
}

function isCovered(rule: Rule, own: readonly Rule[]): boolean {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const names = resourceNames.length === 0 ? [undefined] : resourceNames;
  const paths = nonResourceURLs.flatMap(path => verbs.map(verb => ({ verb, path })));
  const asked = verbs.flatMap(verb =>
    apiGroups.flatMap(group =>
      resources.flatMap(full =>
        names.map(name => ({ verb, group, ...split(full), ...(name !== undefined && { name }) })),
      ),
    ),
  );
  return [...paths, ...asked].every(one => own.some(each => covers(each, one)));
}

function split(full: string): { resource: string; subresource?: string } {
  const [resource = "", subresource] = full.split("/");
  return subresource === undefined ? { resource } : { resource, subresource };
}

function shown(rule: Rule): string {
  const fields = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["ResourceNames", rule.resourceNames],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["Verbs", rule.verbs],
  ] as const;
  const texts = fields.flatMap(([name, list]) =>
    list === undefined || list.length === 0 ? [] : `${name}:[${list.map(one => JSON.stringify(one)).join(" ")}]`,
  );
  return `{${texts.join(", ")}}`;
}

/** A 403 of admission or a registry. */
export function forbidden(info: KindInfo, name: string, why: string): Refusal {
  const full = info.group === "" ? info.plural : `${info.plural}.${info.group}`;
  return new Refusal(403, "Forbidden", `${full} "${name}" is forbidden: ${why}`, detailsOf(info, name));
}
