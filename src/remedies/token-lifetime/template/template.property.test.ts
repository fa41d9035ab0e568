import fc from "fast-check";
import { expect, it } from "vitest";
import { canonical, type JsonObject, objectOf } from "../../../core/json";
import { type TemplateInput, type TemplatePlan, type TemplateSpec, VOLUME_NAME } from "./parts";
import { fingerprint, planTemplate } from "./plan";
import { admit, API_AUDIENCE, tokenLives, withToken } from "./testing/admission";
import { applyPatch, created, type Managed, ownedVolumesOf, serverSideApply, US } from "./testing/apply";
import { automounts, junkInputs, specs, templates } from "./testing/arbitrary";

const RUNS = { numRuns: 500 };

const inputOf = (live: Managed, automount: boolean | undefined): TemplateInput => ({
  template: live.template,
  automount,
  audiences: [API_AUDIENCE],
  ownedVolumes: ownedVolumesOf(live),
});

const planOf = (live: Managed, spec: TemplateSpec, automount: boolean | undefined): TemplatePlan =>
  planTemplate(inputOf(live, automount), spec);

const carriedOut = (live: Managed, plan: TemplatePlan): Managed =>
  plan.kind === "Change" ? serverSideApply(live, US, { spec: plan.patch }) : live;

const released = (live: Managed): Managed => serverSideApply(live, US, { spec: {} });

/** Lives of the tokens in a pod of that template. */
const livesOf = (live: Managed, automount: boolean | undefined): number[] =>
  tokenLives(admit(objectOf(live.template["spec"]), automount));

/** Containers of such a pod that find a token. */
const holdersOf = (live: Managed, automount: boolean | undefined): unknown[] =>
  withToken(admit(objectOf(live.template["spec"]), automount));

it("a plan changes nothing when it is applied again", () => {
  fc.assert(
    fc.property(templates, specs, automounts, (template, spec, automount) => {
      const state = carriedOut(created(template), planOf(created(template), spec, automount));
      expect(planOf(state, spec, automount).kind).not.toBe("Change");
    }),
    RUNS,
  );
});

it("a plan is a change if and only if it changes the template", () => {
  fc.assert(
    fc.property(templates, specs, automounts, (template, spec, automount) => {
      const plan = planOf(created(template), spec, automount);
      const live = carriedOut(created(template), plan);
      expect(canonical(live.template) !== canonical(template)).toBe(plan.kind === "Change");
    }),
    RUNS,
  );
});

it("after a change every token is bounded, or the next plan gives the reason", () => {
  fc.assert(
    fc.property(templates, specs, automounts, (template, spec, automount) => {
      const state = carriedOut(created(template), planOf(created(template), spec, automount));
      const next = planOf(state, spec, automount);
      const isBounded = livesOf(state, automount).every(seconds => seconds <= spec.expirationSeconds);
      const excuse = next.kind === "LeftAlone" ? next.reason : undefined;
      if (!isBounded) expect(["WindowsNodes", "DefaultTokenLeft", "OwnToken"]).toContain(excuse);
      if (excuse === "DefaultTokenLeft") expect(spec.defaultToken).toBe("Leave");
      if (excuse === "AutomountOff" || excuse === "OwnMount") expect(livesOf(state, automount)).toEqual([]);
    }),
    RUNS,
  );
});

it("the same containers have a token for the API server as before", () => {
  fc.assert(
    fc.property(templates, specs, automounts, (template, spec, automount) => {
      const state = carriedOut(created(template), planOf(created(template), spec, automount));
      expect(holdersOf(state, automount)).toEqual(holdersOf(created(template), automount));
    }),
    RUNS,
  );
});

it("only the operator's volume and its mounts differ", () => {
  fc.assert(
    fc.property(templates, specs, automounts, (template, spec, automount) => {
      const plan = planOf(created(template), spec, automount);
      const live = carriedOut(created(template), plan);
      expect(stripped(live.template, template)).toEqual(stripped(template, template));
    }),
    RUNS,
  );
});

it("a release restores the template after any specs in between", () => {
  const steps = fc.array(fc.tuple(specs, automounts), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(templates, steps, (template, wanted) => {
      let state = created(template);
      for (const [spec, automount] of wanted) {
        state = carriedOut(state, planOf(state, spec, automount));
        expect(planOf(state, spec, automount).kind).not.toBe("Change");
      }
      expect(released(state).template).toEqual(template);
    }),
    RUNS,
  );
});

it("a fingerprint is the same before, after a change and after its release", () => {
  fc.assert(
    fc.property(templates, specs, automounts, (template, spec, automount) => {
      const before = fingerprint(inputOf(created(template), automount));
      const live = carriedOut(created(template), planOf(created(template), spec, automount));
      expect(fingerprint(inputOf(live, automount))).toBe(before);
      expect(fingerprint(inputOf(released(live), automount))).toBe(before);
    }),
    RUNS,
  );
});

it("no JSON value makes it throw", () => {
  fc.assert(
    fc.property(junkInputs, specs, (input, spec) => {
      const plan = planTemplate(input, spec);
      expect(planTemplate(input, spec)).toEqual(plan);
      expect(fingerprint(input)).toMatch(/^[0-9a-f]{16}$/);
    }),
    RUNS,
  );
});

it("the owned volumes alone are enough to compute the template after a change", () => {
  fc.assert(
    fc.property(templates, specs, specs, (template, spec, other) => {
      const first = carriedOut(created(template), planOf(created(template), spec, undefined));
      const plan = planOf(first, other, undefined);
      if (plan.kind !== "Change" || names(template).some(name => name.startsWith(VOLUME_NAME))) return;
      const applied = applyPatch(first.template, ownedVolumesOf(first), plan.patch);
      const second = carriedOut(first, plan);
      expect(applied).toEqual({ template: second.template, ownedVolumes: ownedVolumesOf(second) });
    }),
    RUNS,
  );
});

interface Listed {
  readonly name?: unknown;
  readonly mountPath?: unknown;
  readonly volumeMounts?: readonly Listed[];
}

/** Without volumes and mounts that the original has not. */
function stripped(template: JsonObject, original: JsonObject): JsonObject {
  const spec = objectOf(template["spec"]);
  const first = objectOf(original["spec"]);
  const volumes = listed(spec["volumes"]).filter(({ name }) => names(original).includes(name as string));
  const lists = ["containers", "initContainers"].map(list => {
    const before = new Map(listed(first[list]).map(one => [one.name, mountPaths(one)]));
    return [list, listed(spec[list]).map(one => withMounts(one, before.get(one.name) ?? []))] as const;
  });
  return { ...template, spec: { ...spec, volumes, ...Object.fromEntries(lists) } };
}

const names = (template: JsonObject): string[] =>
  listed(objectOf(template["spec"])["volumes"]).map(({ name }) => name as string);
const listed = (list: unknown): readonly Listed[] => (list ?? []) as readonly Listed[];
const mountPaths = (container: Listed): unknown[] => listed(container.volumeMounts).map(({ mountPath }) => mountPath);

function withMounts(container: Listed, paths: readonly unknown[]): Listed {
  return { ...container, volumeMounts: listed(container.volumeMounts).filter(one => paths.includes(one.mountPath)) };
}
