/** Observations around a loss of the lead. */
export interface SeenLoss {
  /** Whether /metrics still reported leading when the rival led. */
  readonly stillLed: boolean;
  /** Status codes of /healthz and /readyz, at the end of the fault. */
  readonly health: number;
  readonly ready: number;
  /** When the operator logged that it stopped, and when the rival began, by one clock; NaN if either is unknown. */
  readonly stoppedAtMs: number;
  readonly rivalAtMs: number;
  /** Writes between the loss and the end of the fault; there was work to do. */
  readonly writes: readonly string[];
  /** Requests for the Lease after the loss, within how many seconds, and the minimum seconds between a leader's requests. */
  readonly asked: number;
  readonly seconds: number;
  readonly leastSecondsBetween: number;
  /** Number of Events that report the loss, and of Events that could not be sent. */
  readonly told: number;
  readonly lost: number;
  /** Actions after the operator led again. */
  readonly actions: Readonly<Record<string, number>>;
  readonly exitCode: number | undefined;
}

/** Broken promises, as sentences. Pure. */
export function brokenPromises(seen: SeenLoss): string[] {
  const checks: readonly (readonly [boolean, string])[] = [
    [seen.exitCode !== undefined, `the process ended with ${seen.exitCode}`],
    [seen.health !== 200, `/healthz said ${seen.health}`],
    [seen.ready !== 200, `/readyz said ${seen.ready}`],
    [seen.stillLed, "the metric reported leading while another replica led"],
    // An unknown time (NaN) fails the check, too.
    [
      !(seen.stoppedAtMs < seen.rivalAtMs),
      `it stopped ${seen.stoppedAtMs - seen.rivalAtMs} ms after another began to lead`,
    ],
    [seen.writes.length > 0, `writes without the lead: ${seen.writes.join(", ")}`],
    [seen.asked === 0, "it did not try to lead again"],
    [
      seen.asked * seen.leastSecondsBetween > seen.seconds,
      `${seen.asked} requests for the Lease in ${seen.seconds.toFixed(0)} s`,
    ],
    [seen.told + seen.lost === 0, "no Event reports the loss"],
    [seen.actions["PATCH rolebindings"] !== 1, `actions after it led again: ${JSON.stringify(seen.actions)}`],
  ];
  return checks.flatMap(([isSo, text]) => (isSo ? [text] : []));
}
