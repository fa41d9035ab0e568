/** What was seen around a loss of the lead. */
export interface SeenLoss {
  /** What /metrics said when the rival led already. */
  readonly stillLed: boolean;
  /** Status codes of /healthz and /readyz, at the end of the fault. */
  readonly health: number;
  readonly ready: number;
  /** When the operator says that it stopped, and when the rival began, by one clock; NaN where it did not. */
  readonly stoppedAtMs: number;
  readonly rivalAtMs: number;
  /** Its writes between its loss and the end of the fault, which had work for it. */
  readonly writes: readonly string[];
  /** What it asked of the Lease after the loss, in how many seconds, and how far apart a leader's requests are. */
  readonly asked: number;
  readonly seconds: number;
  readonly leastSecondsBetween: number;
  /** How often the loss was told in an Event, and how many Events could not be sent. */
  readonly told: number;
  readonly lost: number;
  /** What it carried out when it led again. */
  readonly deeds: Readonly<Record<string, number>>;
  readonly exitCode: number | undefined;
}

/** What was not as promised, as sentences. Pure. */
export function troubles(seen: SeenLoss): string[] {
  const checks: readonly (readonly [boolean, string])[] = [
    [seen.exitCode !== undefined, `the process ended with ${seen.exitCode}`],
    [seen.health !== 200, `/healthz said ${seen.health}`],
    [seen.ready !== 200, `/readyz said ${seen.ready}`],
    [seen.stillLed, "the metric said that it leads while another did"],
    // Not being able to tell is no proof.
    [
      !(seen.stoppedAtMs < seen.rivalAtMs),
      `it stopped ${seen.stoppedAtMs - seen.rivalAtMs} ms after another had begun`,
    ],
    [seen.writes.length > 0, `without the lead it wrote: ${seen.writes.join(", ")}`],
    [seen.asked === 0, "it did not try to lead again"],
    [
      seen.asked * seen.leastSecondsBetween > seen.seconds,
      `it asked ${seen.asked} times in ${seen.seconds.toFixed(0)} s`,
    ],
    [seen.told + seen.lost === 0, "no Event tells of the loss"],
    [seen.deeds["PATCH rolebindings"] !== 1, `what waited for it was done so often: ${JSON.stringify(seen.deeds)}`],
  ];
  return checks.flatMap(([isSo, text]) => (isSo ? [text] : []));
}
