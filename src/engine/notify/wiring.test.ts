import { expect, it } from "vitest";
import type { Notification } from "../../core/notifications";
import type { Report } from "../../core/remedy";
import { FakeClock } from "../../core/testing/fake-clock";
import { makeObject, MemoryObjects, RecordingWriter } from "../testing/fakes";
import { makeReconciler } from "../testing/reconciler";
import { makeDecision, makeReaders, makeRemedy, specWith } from "../testing/remedies";
import { Notices, REPEATED_AFTER_MS } from "./notices";

it("a pass tells of a further workload by its remedy's report", async () => {
  const clock = new FakeClock();
  const sent: Notification[] = [];
  const notices = new Notices(clock, { send: each => void sent.push(each) }, { topics: ["RestartsExhausted"] });
  const store = new MemoryObjects();
  store.put(makeObject("team/app", specWith("tokenRestart")));
  let subjects: NonNullable<Report["subjects"]> = [];
  const remedy = makeRemedy(() =>
    makeDecision({ status: "False", reason: "RestartsExhausted", message: "Twice.", subjects }),
  );
  const readers = makeReaders(clock);
  const reconciler = makeReconciler({ store, writer: new RecordingWriter(), readers, remedies: [remedy], notices });
  for (const name of ["Deployment/web", "Deployment/api"]) {
    subjects = [...subjects, { name, reason: "RestartsExhausted" }];
    clock.advance(REPEATED_AFTER_MS);
    await reconciler.reconcile("team/app", () => true);
  }
  expect(sent.map(({ message }) => message)).toEqual(["Twice.", "Also Deployment/api. Twice."]);
});
