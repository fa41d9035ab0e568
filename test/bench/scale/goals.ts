/** An old figure, or the range of several. */
export type Before = number | readonly [number, number];

/** What a figure is compared with. */
export interface Mark {
  /** The largest value that is good enough. */
  readonly goal?: number;
  readonly before?: Before;
}

/** The commit of the old figures. */
export const MEASURED_BEFORE = "8dc0323";

export const FIGURES = {
  logReads: "log reads/s",
  others: "other requests/s",
  besidesLease: "  besides the Lease",
  othersPerMinute: "other requests/min besides the Lease",
  writes: "writes/min besides the Lease",
  cpu: "CPU, % of a core",
  rss: "RSS, MiB",
  peak: "peak RSS, MiB",
  intervalMedian: "a log is read every ... s, median",
  intervalP99: "  p99",
  intervalMax: "  longest",
  created: "objects created after s",
  reported: "all objects have conditions after s",
  reportedRatio: "  as a multiple of the reference",
  cpuSeconds: "CPU seconds",
  cpuRatio: "  as a multiple of the reference's",
  warmCpuRatio: "  the same process for 1,000 more",
  requests: "requests",
  leads: "leads after s",
  accepted: "all tokens Accepted after s",
  oneKnown: "one dead pod known after s, median",
  oneLongest: "  longest",
  oneRestarted: "  its restart recorded after s, median",
  manyKnown: "dead pods at once known after s, median",
  manyAll: "  all",
  stopMedian: "SIGTERM to exit s, median",
  stopLongest: "  of all, longest",
} as const;

type Marks = Readonly<Record<string, Mark>>;

const F = FIGURES;

/** Nothing happens, so nothing needs a write. */
const NO_WRITES: Marks = { [F.writes]: { goal: 0 } };

/** Goals for 500 pods: each log is read every 5 minutes. */
const HUNDREDS: Marks = {
  ...NO_WRITES,
  [F.logReads]: { goal: 1.7 },
  [F.others]: { goal: 0.8 },
  [F.cpu]: { goal: 1.5 },
  [F.rss]: { goal: 110 },
};

const MARKS: Readonly<Record<string, Marks>> = {
  "pods 100/10": {
    ...NO_WRITES,
    [F.logReads]: { before: 3.2 },
    [F.others]: { before: 10 },
    [F.cpu]: { before: 4 },
    [F.rss]: { before: 164 },
  },
  "pods 500/25": {
    ...HUNDREDS,
    [F.logReads]: { goal: 1.7, before: 16.9 },
    [F.others]: { goal: 0.8, before: 56 },
    [F.cpu]: { goal: 1.5, before: 14 },
    [F.rss]: { goal: 110, before: 208 },
  },
  "pods 500/50": HUNDREDS,
  "pods 2000/50": {
    ...NO_WRITES,
    [F.logReads]: { goal: 6.7, before: [47, 69] },
    [F.others]: { goal: 2, before: 165 },
    [F.cpu]: { goal: 25, before: 34 },
    [F.rss]: { goal: 220, before: [302, 322] },
  },
  "pods 2000/1": {
    ...NO_WRITES,
    [F.logReads]: { goal: 6.7, before: 21 },
    [F.others]: { goal: 2, before: 2.5 },
    [F.cpu]: { goal: 25, before: 9 },
    [F.rss]: { goal: 220, before: 232 },
    [F.intervalMedian]: { goal: 30.5, before: 96 },
  },
  "pods 10000/100": {
    ...NO_WRITES,
    [F.logReads]: { goal: 34 },
    [F.others]: { goal: 1 },
    [F.cpu]: { goal: 3 },
    [F.rss]: { goal: 190 },
  },
  "noisy 500/25": { ...NO_WRITES, [F.logReads]: { goal: 17 }, [F.others]: { goal: 0.8 } },
  "idle 0/1000": {
    ...NO_WRITES,
    [F.logReads]: { goal: 0, before: 0 },
    [F.others]: { before: 89 },
    [F.besidesLease]: { goal: 0.5 },
    [F.cpu]: { goal: 1, before: 20 },
    [F.rss]: { before: 159 },
  },
  "sick 20/10": { [F.othersPerMinute]: { goal: 5 } },
  "burst 0/1000": { [F.reportedRatio]: { goal: 1 }, [F.cpuRatio]: { goal: 1.3 } },
  "start 2000/50": { [F.leads]: { goal: 3 }, [F.reported]: { goal: 15 }, [F.accepted]: { goal: 30 } },
  "detect 500/25": { [F.oneKnown]: { goal: 5 }, [F.manyAll]: { goal: 10 } },
  "stop 500/25": { [F.stopLongest]: { goal: 1 } },
};

/** What the figures of a scene of this size are compared with, by their names. */
export function marksOf(scene: string, size: string): Marks {
  return MARKS[`${scene} ${size}`] ?? {};
}
