import { CniCredential } from "./cni-credential";
import { ExpiringBinding } from "./expiring-binding";
import { Runaway } from "./runaway";
import type { Scenario } from "./scenario";
import { StaleToken } from "./stale-token";
import { TokenLifetime } from "./token-lifetime";

/** All scenarios; `npm run demo` shows the first by default. */
export const scenarios: readonly Scenario[] = [
  {
    name: "stale-token",
    about: "a recreated ServiceAccount makes a controller's token invalid",
    start: (cluster, timeline) => new StaleToken(cluster, timeline),
  },
  {
    name: "expiring-binding",
    about: "a controller's RoleBinding expires after one minute",
    start: (...on) => new ExpiringBinding(...on),
  },
  {
    name: "cni-credential",
    about: "a network plugin's credential is rejected, so no pod can start on a node",
    start: (cluster, timeline) => new CniCredential(cluster, timeline),
  },
  {
    name: "token-lifetime",
    about: "a DaemonSet's token is valid for a year",
    start: (cluster, timeline) => new TokenLifetime(cluster, timeline),
  },
  {
    name: "runaway",
    about: "a controller without backoff floods the API server",
    start: (cluster, timeline) => new Runaway(cluster, timeline),
  },
];
