import type { PodView } from "../../core/views";

/**
 * Returns the pod with its tokens for the API server: those without an audience, and those that name one of the API server's. The
 * audiences are unknown to the view, and other remedies leave such tokens alone. Pure.
 */
export function withAudiences(pod: PodView, audiences: readonly string[]): PodView {
  const tokens = (pod.audienceTokens ?? []).filter(({ audience }) => audiences.includes(audience));
  if (tokens.length === 0) return pod;
  const lives = [pod.tokenExpirationSeconds, ...tokens.map(({ expirationSeconds }) => expirationSeconds)];
  const known = lives.filter(seconds => seconds !== undefined);
  return {
    ...pod,
    mountsToken: true,
    ...(known.length === 0 ? {} : { tokenExpirationSeconds: Math.min(...known) }),
  };
}
