import type { Account } from "../server/access";
import type { Kinds } from "./kind";
import { edit, remove } from "./people";
import type { World } from "./world";

// What kills programs silently: their tokens, their keys, their access.

/** The API servers refuse valid tokens of programs, as a broken authenticator does. */
function refuseTokens({ cluster }: World, refuses: (owner: Account, server: number) => boolean): () => void {
  const { tokenRefusals } = cluster.ground;
  tokenRefusals.add(refuses);
  cluster.changed();
  return () => {
    tokenRefusals.delete(refuses);
    cluster.changed();
  };
}

function rotateKey({ access, cluster }: World, keepOld: boolean): void {
  access.rotateKey({ keepOld });
  cluster.changed();
}

/** All of them. */
export const TROUBLES: Kinds = {
  "recreate-account": {
    ...{ on: "workload", weight: 5 },
    says: "The ServiceAccount of % is deleted and created again, as a chart's hook does: tokens of the old one are refused.",
    begin: ({ cluster }, { ref }) => remove(cluster, { ...ref, resource: "serviceaccounts" })(),
  },
  "delete-account": {
    ...{ on: "workload", lasts: [2, 20] },
    says: "The ServiceAccount of % is deleted.",
    begin: ({ cluster }, { ref }) => remove(cluster, { ...ref, resource: "serviceaccounts" }),
  },
  "rotate-key": {
    ...{ weight: 2, amount: dice => dice.int(2) },
    says: amount =>
      `The key that signs tokens changes, and the servers ${amount === 1 ? "still know" : "forget"} the old one.`,
    begin: (world, { amount }) => rotateKey(world, amount === 1),
  },
  "rotate-key-of-one-server": {
    ...{ on: "server", lasts: [2, 15] },
    says: "API server % forgets the key of all tokens.",
    begin: ({ access, cluster }, { on }) => {
      const server = Number(on);
      const keys = [...access.keysOf(server)];
      const set = (isKnown: boolean): void => {
        for (const key of keys) access.setKey(server, key, isKnown);
        cluster.changed();
      };
      set(false);
      return () => set(true);
    },
  },
  "revoke-access": {
    ...{ on: "workload", lasts: [5, 40] },
    says: "The RoleBinding of % is deleted: it may not do its work any more.",
    begin: ({ cluster }, { ref }) => remove(cluster, { ...ref, resource: "rolebindings" }),
  },
  "narrow-access": {
    ...{ on: "workload", lasts: [5, 40] },
    says: "The Role of % loses the right to list.",
    begin: ({ cluster }, { ref }) => {
      const set = (from: string, to: string): void =>
        edit(cluster, { ...ref, resource: "roles" }, draft => {
          for (const rule of (draft["rules"] ?? []) as { verbs: string[] }[])
            rule.verbs = rule.verbs.map(verb => (verb === from ? to : verb));
        });
      set("list", "watchlist");
      return () => set("watchlist", "list");
    },
  },
  "refuse-tokens": {
    ...{ lasts: [1, 8] },
    says: "All API servers refuse the valid tokens of programs.",
    begin: world => refuseTokens(world, () => true),
  },
  "refuse-tokens-of-one-server": {
    ...{ on: "server", lasts: [1, 20] },
    says: "API server % refuses the valid tokens of programs.",
    begin: (world, { on }) => refuseTokens(world, (_, server) => server === Number(on)),
  },
  "refuse-tokens-of-one": {
    ...{ on: "workload", lasts: [2, 20] },
    says: "The API servers refuse the valid token of %.",
    begin: (world, { on }) =>
      refuseTokens(world, ({ namespace, serviceAccount }) => `${namespace}/${serviceAccount}` === on),
  },
  "programs-refused": {
    ...{ lasts: [1, 15], amount: dice => dice.pick([0, 429, 500, 503]) },
    says: amount =>
      `Every second request of each program ${amount === 0 ? "gets no answer" : `is answered ${amount}`}.`,
    begin: ({ cluster }, { amount, dice }) => {
      const { programFaults } = cluster.ground;
      const fault = (): number | undefined => (dice.chance(0.5) ? amount : undefined);
      programFaults.add(fault);
      return () => void programFaults.delete(fault);
    },
  },
  "program-lease-deleted": {
    ...{ on: "workload" },
    says: "The Lease of % is deleted.",
    begin: ({ cluster }, { ref }) => void remove(cluster, { ...ref, resource: "leases" }),
  },
};
