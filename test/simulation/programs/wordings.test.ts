import { describe, expect, it } from "vitest";
import { classify } from "../../../src/logs/classifier/classify";
import * as wordings from "./wordings";

const asked = { verb: "list", group: "apps", resource: "deployments", kind: "Deployment", namespace: "shop" };
const at = { ms: Date.UTC(2026, 0, 5, 8, 1, 2, 345), namespace: "shop", serviceAccount: "web", program: "web" };

// The labelled records of test/fixtures have these wordings, so a program of the simulation must not be misread.
const all = Object.entries(wordings).flatMap(([name, one]) =>
  typeof one === "function" ? [] : [[name, one] as const],
);
describe.each(all)("the words of %s", (_, wording) => {
  it("say of each answer what it is", () => {
    const classes = {
      unauthorized: classify(wording.unauthorized(asked, at)),
      leaseUnauthorized: classify(wording.lease(401, "shop/web", at)),
      forbidden: classify(wording.forbidden(asked, at)),
      leaseForbidden: classify(wording.lease(403, "shop/web", at)),
      leaseLost: classify(wording.leaseLost("shop/web", at)),
      unavailable: classify(wording.unavailable(asked, at)),
      throttled: classify(wording.throttled(asked, at)),
      progress: classify(wording.progress(401, at)),
    };
    expect(classes).toEqual({
      unauthorized: "unauthorized",
      leaseUnauthorized: "unauthorized",
      forbidden: "forbidden",
      leaseForbidden: "forbidden",
      leaseLost: "lease-lost",
      unavailable: "none",
      throttled: "throttled",
      progress: "none",
    });
  });
});
