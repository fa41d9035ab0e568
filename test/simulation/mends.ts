import { inFile, type Mutation } from "./mutations";

// Defects that reviews, chaos or this simulation found, and that were mended, each brought back by the smallest edit.

/** All of them. */
export const MENDS: readonly Mutation[] = [
  ...inFile("src/restarts/breaker.ts", [
    [
      "a third restart without proof while two are in doubt",
      "if (last === undefined || next === undefined) return undefined;",
      "if (last !== null || next === undefined) return undefined;",
      { seed: 137, needs: /("program":"other-cluster".*){2}/ },
    ],
    [
      "two are in doubt for half an hour only",
      "timeMs + HOUR_MS;\n",
      "timeMs + UNPROVEN_OPEN_MS;\n",
      { seed: 474, needs: /("program":"other-cluster".*){2}/ },
    ],
  ]),
  ...inFile("src/remedies/token-restart/witness.ts", [
    [
      "a first reading of the counters is no witness",
      "if (!isCovered)\n    return deferred(",
      "if (!isCovered) return undefined;\n  if (toMs < 0)\n    return deferred(",
      { seed: 39, needs: /"program":"other-cluster"/ },
    ],
  ]),
  ...inFile("src/engine/pass/reconcile.ts", [
    [
      "with a wrong clock conditions are True",
      "const trouble = this.#ports.clockTrouble?.() ?? null;",
      'const trouble = this.#ports === undefined ? "" : null;',
      { seed: 139, needs: /"operators":\[[^\]]*\d{5}|"what":"clock-/ },
    ],
  ]),
  ...inFile("src/engine/write/executor.ts", [
    [
      "two rollouts begin in one moment",
      "const takeBack = restarts.rolloutBegun(claim);\n    try {\n      return await this.#write(intent);",
      "const takeBack = (): void => undefined;\n    try {\n      const outcome = await this.#write(intent);\n      restarts.rolloutBegun(claim);\n      return outcome;",
      { seed: 742, needs: /"tokenLifetime".*"tokenLifetime"/ },
    ],
  ]),
  ...inFile("src/remedies/stall-detection/restart.ts", [
    [
      "a restart has failed before the Lease is due",
      "isOverdue(entry, scope, nowMs) || mayHelp)",
      "isOverdue(entry, scope, nowMs))",
      { seed: 22, needs: /"renewsEverySeconds"/ },
    ],
  ]),
  ...inFile("src/restarts/rollouts.ts", [
    [
      "rollouts of another term go on",
      "    this.#recorded.clear();\n",
      "",
      { seed: 970, needs: /"tokenLifetime".*"tokenLifetime"/ },
    ],
  ]),
  ...inFile("src/engine/lead/leader-election.ts", [
    [
      "who creates a Lease leads at once",
      "return this.#created === undefined || startedMs",
      "return this.#created !== null || startedMs",
      { seed: 331, needs: /"what":"lease-deleted"/ },
    ],
  ]),
  ...inFile("src/engine/lead/lease-record.ts", [
    [
      "a wiped Lease is free",
      'record.holderIdentity === "" && record.leaseDurationSeconds === RELEASED_SECONDS',
      'record.holderIdentity === "" && record.leaseDurationSeconds <= RELEASED_SECONDS',
      { seed: 69, needs: /"what":"lease-wiped"/ },
    ],
  ]),
  ...inFile("src/remedies/flow-isolation/flow.ts", [
    [
      "a component without pods is throttled",
      "if (account.isComponent === undefined)",
      "if (account.isComponent === null)",
      { seed: 7, needs: /"floods"/ },
    ],
  ]),
  ...inFile("src/restarts/ledger.ts", [
    [
      "a refused eviction counts after a failed write",
      "refused.add(restartId(requested));",
      "",
      { seed: 34, needs: /"what":"(evictions-refused|tighten-budget|request-errors|statuses-fail)"/ },
    ],
  ]),
];
