import { CniCredential } from "./cni-credential";
import { ExpiringBinding } from "./expiring-binding";
import { Runaway } from "./runaway";
import type { Scenario } from "./scenario";
import { StaleToken } from "./stale-token";
import { TokenLifetime } from "./token-lifetime";

/** Every scenario; the first is what `npm run demo` shows. */
export const scenarios: readonly Scenario[] = [
  {
    name: "stale-token",
    about: "a ServiceAccount is recreated",
    start: (cluster, timeline) => new StaleToken(cluster, timeline),
  },
  {
    name: "expiring-binding",
    about: "a RoleBinding lives for a minute",
    start: (...on) => new ExpiringBinding(...on),
  },
  {
    name: "cni-credential",
    about: "no pod can start on a node",
    start: (cluster, timeline) => new CniCredential(cluster, timeline),
  },
  {
    name: "token-lifetime",
    about: "a token is good for a year",
    start: (cluster, timeline) => new TokenLifetime(cluster, timeline),
  },
  {
    name: "runaway",
    about: "a controller without backoff floods the API server",
    start: (cluster, timeline) => new Runaway(cluster, timeline),
  },
];
