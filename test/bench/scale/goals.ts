export const FIGURES = {
  perMinute: "requests/min, all",
  logReads: "log reads/s",
  others: "other requests/s",
  besidesLease: "  besides the Lease",
  writes: "writes/min besides the Lease",
  cpu: "CPU, % of a core",
  rss: "RSS, MiB",
  peak: "peak RSS, MiB",
  blocked: "event loop blocked for at most ms",
  intervalMedian: "a log is read every ... s, median",
  intervalP99: "  p99",
  intervalMax: "  longest",
  server: "API server: CPU for being asked, % of a core",
  created: "objects created after s",
  reported: "all objects have conditions after s",
  reportedRatio: "  as a multiple of the reference",
  cpuSeconds: "CPU seconds",
  cpuRatio: "  as a multiple of the reference's",
  warmCpuRatio: "  the same process for 1,000 more",
  requests: "requests",
  leads: "leads after s",
  accepted: "all tokens Accepted after s",
  firstKnown: "a dead pod known after s, if its log is read first",
  lastKnown: "  if it is read last",
  manyKnown: "50 dead pods at once known after s, median",
  manyAll: "  all",
  kindRequests: "requests/s for the kinds",
  kindCpu: "CPU for the kinds, % of a core",
  kindRss: "RSS for the kinds, MiB",
} as const;

/** The largest values that are good enough, by the names of figures. */
type Goals = Readonly<Record<string, number>>;

const F = FIGURES;

/** Nothing happens, so nothing needs a write. */
const NO_WRITES: Goals = { [F.writes]: 0 };

const GOALS: Readonly<Record<string, Goals>> = {
  // A healthy log is read once in 40 minutes, and no more than one in 2.5 s.
  "pods 500/25": {
    ...NO_WRITES,
    [F.perMinute]: 20,
    [F.logReads]: 0.3,
    [F.cpu]: 1.5,
    [F.rss]: 110,
    [F.server]: 0.5,
    [F.firstKnown]: 5,
    [F.lastKnown]: 5,
    [F.manyAll]: 10,
    [`noisy: ${F.logReads}`]: 17,
    [`noisy: ${F.others}`]: 0.8,
  },
  "pods 10000/100": {
    ...NO_WRITES,
    [F.logReads]: 0.4,
    [F.others]: 0.6,
    [F.cpu]: 3,
    [F.rss]: 190,
    [F.server]: 0.5,
    [F.firstKnown]: 15,
  },
  "burst 0/1000": {
    ...NO_WRITES,
    [F.reportedRatio]: 1,
    [F.cpuRatio]: 1.3,
    [F.warmCpuRatio]: 1.3,
    [F.logReads]: 0,
    [F.besidesLease]: 0.5,
    [F.cpu]: 1,
  },
  "kinds 200/50": { [F.kindRequests]: 3, [F.kindCpu]: 5, [F.kindRss]: 20 },
  "start 2000/50": { [F.leads]: 3, [F.reported]: 15, [F.accepted]: 41 },
};

/** The goals of a scene of this size. */
export function goalsOf(scene: string, size: string): Goals {
  return GOALS[`${scene} ${size}`] ?? {};
}
