import { expect, it } from "vitest";
import { proxyOf } from "./kubeconfig";

it.each([
  ["10.1.2.3", "10.0.0.0/33, 10.0.0.0/, 10.0.0.0/8:6443, ::/0,,", true],
  ["10.1.2.3", "10.0.0.0/8", false],
  ["10.1.2.3", "10.1.2.3:6443", false],
  ["[fd00::1]", "[fd00::1], [fd00::1]:443, fd00::2, fd00::1:6443, fd00::/129", true],
  ["[fd00::1]", "fd00:0::1", false],
  ["[fd00::1]", "[fd00:0::1]:6443", false],
  ["[fd00::1]", "fd00::/16", false],
])("takes a proxy for %s as Go does, with NO_PROXY %j: %s", (host, exceptions, isProxied) => {
  const proxy = proxyOf(`https://${host}:6443`, { HTTPS_PROXY: "http://proxy", NO_PROXY: exceptions });
  expect(proxy).toBe(isProxied ? "http://proxy" : undefined);
});
