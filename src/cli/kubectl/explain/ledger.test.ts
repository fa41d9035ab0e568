import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ControllerResilience } from "../../../api/controller-resilience";
import { nextConditions } from "../../../core/status";
import type { Report } from "../../../core/remedy";
import { conditionUpdates } from "../../../engine/pass/ready";
import { Scene, UNAUTHORIZED } from "../../../remedies/token-restart/testing/scene";
import { parseSubject } from "../subject";
import { explain } from "./explain";
import { formatExplanation } from "./format";

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
    operator: { lease: "system/controller-resilience", leads: true, renewTime: new Date(nowMs - 2_000).toISOString() },
    session: { command: line => line },
  });
  const text = formatExplanation(explanation, { paint: (_, plain) => plain, columns, nowMs });
  return { text, commands: explanation.objects[0]?.actions.map(({ command }) => command) };
}

it("is what docs/paged.md shows", async () => {
  const scene = rejected();
  scene.judged = "Observe";
  const object = written(scene, await scene.pass());
  scene.clock.advance(180_000);
  const text = told(object, scene, 80).text.replace("team/it", "team/web");
  const page = readFileSync(join(__dirname, "../../../../docs/paged.md"), "utf8");
  expect(page).toContain(`\`\`\`text\n${text}\`\`\``);
});

it.each([
  ["Observe", "mode Observe"],
  ["OperatorObserves", "the operator runs with --mode=Observe"],
  ["NamespaceSkipped", "the Namespace has the annotation controller-resilience.io/skip"],
] as const)("says once that it only observes, and why, in mode %s", async (mode, why) => {
  const scene = rejected();
  scene.judged = mode;
  const pass = await scene.pass();
  const { text, commands } = told(written(scene, pass), scene);
  expect(text).toContain(`only observes: ${why}`);
  expect(text.split(pass.message)).toHaveLength(2);
  expect(commands).toEqual([]);
});

it("has the ledger's answer once after restarts that did not help, and offers no other", async () => {
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
  const { commands, text } = told(written(scene, pass), scene);
  expect(commands).toEqual([]);
  expect(text.split("restarts did not help;")).toHaveLength(2);
});

it("offers to resume a suspended object, and to reset a breaker that is tripped", async () => {
  const scene = rejected();
  const pass = await scene.pass();
  expect(told(written(scene, pass, true), scene).commands).toEqual([
    `kubectl patch cres it -n team --type merge -p '{"spec":{"suspend":false}}'`,
  ]);
  const report = scene.report(pass, { result: "Limited", limit: "Breaker", retryAfterMs: 60_000 });
  expect(report.reason).toBe("BreakerTripped");
  expect(told(written(scene, report), scene).commands).toEqual([
    "kubectl annotate lease -n system controller-resilience controller-resilience.io/breaker-",
  ]);
});
