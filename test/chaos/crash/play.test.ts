import { expect, it } from "vitest";
import { callOf } from "../calls";
import { describePoint, everywhere } from "./play";

const STATUS = callOf("PUT", "/apis/controller-resilience.io/v1alpha1/namespaces/team/controllerresiliences/it/status");
const EVICTION = callOf("POST", "/api/v1/namespaces/team/pods/web/eviction");
const WRITES = [STATUS, EVICTION, STATUS];

it("plans a crash before and after each write, with a unique name", () => {
  expect(everywhere(1)(WRITES).map(describePoint).toSorted()).toEqual([
    "after POST pods/eviction 1",
    "after PUT controllerresiliences/status 1",
    "after PUT controllerresiliences/status 2",
    "before POST pods/eviction 1",
    "before PUT controllerresiliences/status 1",
    "before PUT controllerresiliences/status 2",
  ]);
});

it("orders the crashes by the seed, which selects them if there is a limit", () => {
  expect(everywhere(1)(WRITES)).toEqual(everywhere(1)(WRITES));
  expect(new Set([1, 2, 3].map(seed => everywhere(seed)(WRITES).map(describePoint).join())).size).toBe(3);
  expect(everywhere(1, 2)(WRITES)).toEqual(everywhere(1)(WRITES).slice(0, 2));
});
