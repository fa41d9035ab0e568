import fc from "fast-check";
import { expect, it } from "vitest";
import { canonical, type JsonObject, objectOf } from "../../../core/json";
import { type PreviousSeconds, type TemplateInput, type TemplatePlan, type TemplateSpec, VOLUME_NAME } from "./parts";
import { isDue, planRelease, planTemplate } from "./plan";
import { admit, API_AUDIENCE, isForApi, tokenLives, withToken } from "./testing/admission";
import { created, type Managed, ownedVolumesOf, serverSideApply, US } from "./testing/apply";
import { automounts, junkInputs, specs, templates } from "./testing/arbitrary";

const RUNS = { numRuns: 500 };

interface State {
  readonly live: Managed;
  readonly previous: readonly PreviousSeconds[];
}

const inputOf = ({ live }: State, automount: boolean | undefined): TemplateInput => ({
  template: live.template,
  automount,
  apiAudiences: [API_AUDIENCE],
  ownedVolumes: ownedVolumesOf(live),
});

const planOf = (state: State, spec: TemplateSpec, automount: boolean | undefined): TemplatePlan =>
  planTemplate(inputOf(state, automount), spec, state.previous);

function carriedOut(state: State, plan: TemplatePlan): State {
  if (!isDue(plan)) return state;
  return { live: serverSideApply(state.live, US, { spec: plan.patch }), previous: plan.previous };
}

function released(state: State): Managed {
  const patch = planRelease(inputOf(state, undefined), state.previous);
  return serverSideApply(state.live, US, { spec: patch });
}

const start = (template: JsonObject): State => ({ live: created(template), previous: [] });

const ownsCopy = ({ previous }: State): boolean => previous.some(({ volume }) => volume.startsWith(VOLUME_NAME));

/** Lives of the tokens in a pod of that template. */
const livesOf = ({ live }: State, automount: boolean | undefined): number[] =>
  tokenLives(admit(objectOf(live.template["spec"]), automount));

/** Containers of such a pod that find a token. */
const holdersOf = ({ live }: State, automount: boolean | undefined): unknown[] =>
  withToken(admit(objectOf(live.template["spec"]), automount));

/** States a property of every template, spec and automountServiceAccountToken of the ServiceAccount. */
function holds(
  name: string,
  property: (template: JsonObject, spec: TemplateSpec, automount: boolean | undefined) => void,
): void {
  it(name, () => fc.assert(fc.property(templates, specs, automounts, property), RUNS));
}

holds("a plan is a change if and only if it changes the template", (template, spec, automount) => {
  const plan = planOf(start(template), spec, automount);
  const { live } = carriedOut(start(template), plan);
  expect(canonical(live.template) !== canonical(template)).toBe(isDue(plan));
});

holds("after a change every token is bounded, or the next plan gives the reason", (template, spec, automount) => {
  const state = carriedOut(start(template), planOf(start(template), spec, automount));
  const next = planOf(state, spec, automount);
  const isBounded = livesOf(state, automount).every(seconds => seconds <= spec.expirationSeconds);
  const excuse = next.kind === "LeftAlone" ? next.reason : undefined;
  if (!isBounded) expect(["WindowsNodes", "DefaultTokenLeft"]).toContain(excuse);
  if (excuse === "DefaultTokenLeft") expect(spec.defaultToken).toBe("Leave");
  if (excuse === "AutomountOff" || excuse === "OwnMount") expect(livesOf(state, automount)).toEqual([]);
});

holds("the same containers have a token for the API server as before", (template, spec, automount) => {
  const state = carriedOut(start(template), planOf(start(template), spec, automount));
  expect(holdersOf(state, automount)).toEqual(holdersOf(start(template), automount));
});

holds("only token lifetimes, the operator's volume and its mounts differ", (template, spec, automount) => {
  const plan = planOf(start(template), spec, automount);
  const { live } = carriedOut(start(template), plan);
  expect(stripped(live.template, template)).toEqual(stripped(template, template));
});

it("a plan changes nothing when it is applied again, and a release restores the template after any specs", () => {
  const steps = fc.array(fc.tuple(specs, automounts), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(templates, steps, (template, wanted) => {
      let state = start(template);
      for (const [spec, automount] of wanted) {
        state = carriedOut(state, planOf(state, spec, automount));
        expect(isDue(planOf(state, spec, automount))).toBe(false);
      }
      expect(released(state).template).toEqual(template);
      expect(released({ ...state, live: released(state) }).template).toEqual(template);
    }),
    RUNS,
  );
});

holds("a fingerprint is the same before, after a change and after its release", (template, spec, automount) => {
  const of = (made: State): string => planOf(made, spec, automount).fingerprint;
  const before = of(start(template));
  const state = carriedOut(start(template), planOf(start(template), spec, automount));
  expect(of(state)).toBe(before);
  const after = { ...state, live: released(state) };
  expect(of(after)).toBe(before);
  // Only its recorded lifetimes distinguish an owned copy of the operator's volume.
  if (!ownsCopy(state)) expect(of({ ...after, previous: [] })).toBe(before);
});

it("one more change is enough after another manager forces any value into a source", () => {
  const lives = fc.constantFrom(600, 1200, 3600, 7200);
  fc.assert(
    fc.property(templates, specs, lives, (template, spec, seconds) => {
      const first = carriedOut(start(template), planOf(start(template), spec, undefined));
      const volumes = ownedVolumesOf(first.live).map(name => forced(first.live.template, name, seconds));
      if (volumes.length === 0) return;
      const drifted = { ...first, live: serverSideApply(first.live, "argocd", { spec: { volumes } }) };
      const second = carriedOut(drifted, planOf(drifted, spec, undefined));
      expect(isDue(planOf(second, spec, undefined))).toBe(false);
      expect(holdersOf(second, undefined)).toEqual(holdersOf(first, undefined));
    }),
    RUNS,
  );
});

it("no JSON value makes it throw", () => {
  const previous = fc.constantFrom<readonly PreviousSeconds[]>([], [{ volume: "data", expirationSeconds: 3600 }]);
  fc.assert(
    fc.property(junkInputs, specs, previous, (input, spec, known) => {
      const plan = planTemplate(input, spec, known);
      expect(planTemplate(input, spec, known)).toEqual(plan);
      planRelease(input, known);
      expect(plan.fingerprint).toMatch(/^[0-9a-f]{16}$/);
    }),
    RUNS,
  );
});

interface Listed {
  readonly name?: unknown;
  readonly mountPath?: unknown;
  readonly volumeMounts?: readonly Listed[];
  readonly projected?: {
    readonly sources: readonly { readonly serviceAccountToken?: { readonly audience?: string } }[];
  };
}

/** Without what a plan may change: seconds of tokens for the API server, and what the original has not. */
function stripped(template: JsonObject, original: JsonObject): JsonObject {
  const spec = objectOf(template["spec"]);
  const first = objectOf(original["spec"]);
  const volumes = listed(spec["volumes"]).filter(({ name }) => names(original).includes(name as string));
  const lists = ["containers", "initContainers"].map(list => {
    const before = new Map(listed(first[list]).map(one => [one.name, mountPaths(one)]));
    return [list, listed(spec[list]).map(one => withMounts(one, before.get(one.name) ?? []))] as const;
  });
  return { ...template, spec: { ...spec, volumes: volumes.map(withoutSeconds), ...Object.fromEntries(lists) } };
}

const names = (template: JsonObject): string[] =>
  listed(objectOf(template["spec"])["volumes"]).map(({ name }) => name as string);
const listed = (list: unknown): readonly Listed[] => (list ?? []) as readonly Listed[];
const mountPaths = (container: Listed): unknown[] => listed(container.volumeMounts).map(({ mountPath }) => mountPath);

function withMounts(container: Listed, paths: readonly unknown[]): Listed {
  return { ...container, volumeMounts: listed(container.volumeMounts).filter(one => paths.includes(one.mountPath)) };
}

function withoutSeconds(volume: Listed): Listed {
  if (volume.projected === undefined) return volume;
  const sources = volume.projected.sources.map(source => {
    const token = source.serviceAccountToken;
    if (token === undefined || !isForApi(token.audience)) return source;
    return { serviceAccountToken: { ...token, expirationSeconds: 0 } };
  });
  return { ...volume, projected: { ...volume.projected, sources } };
}

function forced(template: JsonObject, volume: string, expirationSeconds: number): JsonObject {
  const { name, projected } = listed(objectOf(template["spec"])["volumes"]).find(one => one.name === volume)!;
  const sources = projected?.sources.map(source => {
    const token = source.serviceAccountToken;
    return token === undefined ? source : { serviceAccountToken: { ...token, expirationSeconds } };
  });
  return { name, projected: { sources } };
}
