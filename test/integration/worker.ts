import { inject } from "vitest";
import { workerLabName } from "../cluster/worker-labs";
import { Lab } from "../lab";
import { bringUp } from "./lab";

// Runs before each test file: brings up the lab of this worker, unless an earlier test file has done so.

const name = workerLabName(inject("integrationLabs"));
if (Lab.find(name) === undefined) await bringUp(name);
