import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { forLab } from "../cluster/shipped";
import type { Said } from "../cluster/client";
import type { Lab } from "../lab";
import { silent } from "../lab/progress";
import { OperatorInCluster } from "./operator";

function operatorWhoseLogsAre(said: Partial<Said>): OperatorInCluster {
  const lab = { kubectl: () => Promise.resolve({ code: 0, stdout: "", stderr: "", ...said }) };
  return new OperatorInCluster(lab as unknown as Lab, silent);
}

const line = (level: string | number, msg: string): string => JSON.stringify({ level, msg });

it("returns the warnings and errors of the pods' logs, then lines that are not JSON", async () => {
  const lines = [line("info", "started"), line("warn", "late"), "Error: at once", line(50, "Pepr's"), line(30, "calm")];
  const operator = operatorWhoseLogsAre({ stdout: `${lines.join("\n")}\n` });
  expect(await operator.complaints()).toEqual([line("warn", "late"), line(50, "Pepr's"), "Error: at once"]);
});

it("returns kubectl's error if there is no log", async () => {
  const operator = operatorWhoseLogsAre({ code: 1, stderr: "container is waiting to start: ImagePullBackOff\n" });
  expect(await operator.complaints()).toEqual(["container is waiting to start: ImagePullBackOff"]);
});

it("installs the shipped manifests with the image of the lab, without waiting for the API server to settle", () => {
  const text = readFileSync(join(__dirname, "../../deploy/install.yaml"), "utf8");
  const objects = forLab(text) as { kind: string }[];
  expect(objects).toHaveLength([...text.matchAll(/^kind: /gm)].length);
  expect(objects.find(({ kind }) => kind === "Deployment")).toMatchObject({
    spec: {
      replicas: 2,
      template: {
        spec: {
          containers: [
            {
              image: "controller-resilience:lab",
              imagePullPolicy: "Never",
              env: expect.arrayContaining([
                { name: "RESILIENCE_API_SERVER_SETTLE_SECONDS", value: "0" },
                { name: "RESILIENCE_LOG_READS_PER_SECOND", value: "50" },
              ]) as object[],
            },
          ],
        },
      },
    },
  });
});
