import type { Admin } from "./admin";
import { shipped } from "./installation";

const API = "/apis/admissionregistration.k8s.io/v1";

/** A policy, then its binding. */
export const POLICY_KINDS = [
  { kind: "ValidatingAdmissionPolicy", path: `${API}/validatingadmissionpolicies` },
  { kind: "ValidatingAdmissionPolicyBinding", path: `${API}/validatingadmissionpolicybindings` },
] as const;

/** Installs the shipped policy that checks authors. It takes effect after a short delay. */
export async function installAdmissionPolicy(admin: Admin): Promise<void> {
  for (const { kind, path } of POLICY_KINDS) for (const one of shipped(kind)) await admin.create(path, one);
}

/** Deletes the policy again, its binding first. */
export async function removeAdmissionPolicy(admin: Admin): Promise<void> {
  for (const { kind, path } of POLICY_KINDS.toReversed()) {
    for (const { metadata } of shipped(kind)) await admin.delete(`${path}/${metadata.name}`);
  }
}
