import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ControllerResilience } from "../../../api/controller-resilience";
import { nextConditions } from "../../../core/status";
import type { Report } from "../../../core/remedy";
import { conditionUpdates } from "../../../engine/pass/ready";
import { Scene, UNAUTHORIZED, workload } from "../../../remedies/token-restart/testing/scene";
import { parseSubject } from "../subject";
import { explain, formatExplanation } from "./explain";

// Explanations of what the operator's own code has written to status.

/** A pod that is older than its ServiceAccount, and is answered 401. */
function rejected(): Scene {
  const scene = new Scene();
  scene.accounts.set("web", scene.account("sa-2", -60_000));
  scene.log(UNAUTHORIZED);
  return scene;
}

/** The object as the engine leaves it. */
function written(scene: Scene, report: Report, suspended = false): ControllerResilience {
  const { object, mode, clock } = scene;
  const updates = conditionUpdates([{ condition: "TokensAccepted", report }], { suspended, mode });
  const conditions = nextConditions([], updates, object.metadata.generation, clock.now());
  const spec = { ...object.spec, suspend: suspended, ...(mode === "Observe" && { mode }) };
  return { ...object, spec, status: { ...object.status, mode, conditions } };
}

function told(object: ControllerResilience, scene: Scene, columns = Infinity) {
  const nowMs = scene.clock.now().getTime();
  const explanation = explain({
    ...{ nowMs, subject: parseSubject("it", "team"), objects: [object], events: [], unread: [] },
    operator: { lease: "system/controller-resilience", leads: true },
  });
  const text = formatExplanation(explanation, { paint: (_, plain) => plain, columns, nowMs });
  const [one] = explanation.objects;
  return {
    text,
    restarts: one?.actions.filter(({ command = "" }) => command.includes("rollout restart")),
    next: one?.next,
  };
}

/** A restart in the last minute holds back the next one. */
async function cooling(change: (scene: Scene) => void = () => undefined) {
  const scene = rejected();
  const [intent] = (await scene.pass()).intents;
  scene.noteRestart(intent!, "Recovered");
  scene.clock.advance(60_000);
  scene.log(UNAUTHORIZED);
  change(scene);
  const pass = await scene.pass();
  return { pass, ...told(written(scene, pass), scene) };
}

it("is what README.md shows", async () => {
  const scene = rejected();
  scene.judged = "Observe";
  const object = written(scene, await scene.pass());
  scene.clock.advance(180_000);
  const text = told(object, scene, 80).text.replace("team/it", "team/web");
  const readme = readFileSync(join(__dirname, "../../../../README.md"), "utf8");
  expect(readme).toContain(`\`\`\`text\n${text}\`\`\``);
});

describe("a restart that waits", () => {
  it("is offered by hand, with the ledger's answer once", async () => {
    const { text, restarts, pass } = await cooling();
    expect(pass.reason).toBe("RestartDeferred");
    expect(restarts?.map(({ text: what }) => what)).toEqual(["restart Deployment web by hand if it cannot wait:"]);
    expect(text.split(pass.message)).toHaveLength(2);
  });

  it.each([
    ["Observe", "mode Observe", ", or let the operator do it with mode Enforce:"],
    ["OperatorObserves", "the operator runs with --mode=Observe", ", or let the operator do it with --mode=Enforce:"],
    ["NamespaceSkipped", "the Namespace has the annotation controller-resilience.io/skip", ":"],
  ] as const)("is a restart that would be made, in mode %s", async (mode, why, instead) => {
    const { text, restarts, next, pass } = await cooling(scene => (scene.judged = mode));
    expect(pass).toMatchObject({ reason: "WouldRestart", progressing: false });
    expect(pass.message).toMatch(/ evict pod web-5d-a then\.$/);
    expect(text).toContain(`only observes: ${why}`);
    expect(text).not.toMatch(/Reconciling|Deferred/);
    expect(next).toBe(`The operator only reports what it would do: ${why}.`);
    expect(restarts?.map(({ text: what }) => what)).toEqual([`restart Deployment web by hand${instead}`]);
  });
});

describe("no restart is offered", () => {
  it("after restarts that did not help", async () => {
    const scene = new Scene();
    await scene.live(2);
    const entry = (minutesAgo: number): object => ({
      ...{ pod: "web-x", podUID: `uid-${minutesAgo}`, workload: "Deployment/web" },
      ...{ cause: "Unknown", outcome: "Ineffective" },
      time: new Date(scene.clock.now().getTime() - minutesAgo * 60_000).toISOString(),
    });
    scene.object = { ...scene.object, status: { restarts: [entry(110), entry(90), entry(50)] as never } };
    const pass = await scene.pass();
    expect(pass.reason).toBe("RestartsExhausted");
    const { restarts, text } = told(written(scene, pass), scene);
    expect(restarts).toEqual([]);
    expect(text).toContain("act: the message of TokensAccepted says how");
    expect(text.split("restarts did not help;")).toHaveLength(2);
  });

  it("for a workload with the skip annotation, and the condition says so", async () => {
    const scene = rejected();
    scene.workloadList = [workload({ skip: true })];
    const pass = await scene.pass();
    expect(pass.reason).toBe("Rejected");
    const { restarts, text } = told(written(scene, pass), scene);
    expect(restarts).toEqual([]);
    expect(text).toContain("1 of 1 pod rejected; no action because of the annotation controller-resilience.io/skip.");
  });

  it("while the object is suspended", async () => {
    const scene = rejected();
    const pass = await scene.pass();
    const { restarts, next, text } = told(written(scene, pass, true), scene);
    expect(restarts).toEqual([]);
    expect(text).toContain("kubectl resilience resume it -n team");
    expect(next).toBe("Nothing, until a person resumes the object.");
  });

  it("while the breaker is tripped: it is to be reset first", async () => {
    const scene = rejected();
    const pass = await scene.pass();
    const report = scene.report(pass, { result: "Limited", limit: "Breaker", retryAfterMs: 60_000 });
    expect(report.reason).toBe("BreakerTripped");
    const { restarts, text } = told(written(scene, report), scene);
    expect(restarts).toEqual([]);
    expect(text).toContain("kubectl resilience breaker reset --operator-namespace system");
  });
});
