import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { argoApi } from "../argocd/argo-cd";
import { ClusterClient } from "../cluster/client";
import { silent } from "../lab/progress";
import { suiteLab } from "./suite-lab";

// Tests the Argo CD example without a running Argo CD: an API server with Argo CD's definitions accepts the files verbatim, and the parts of
// the example fit together.

const ROOT = join(__dirname, "..", "..");
const FILES = ["root.yaml", "applications.yaml", "whole-cluster.yaml"].map(file =>
  join(ROOT, "deploy", "argocd", "example", file),
);
const CRDS = ["applications.argoproj.io", "appprojects.argoproj.io"].map(name => `crd/${name}`);

interface Destination {
  readonly server: string;
  readonly namespace: string;
}

interface Application {
  readonly kind: "Application";
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly project: string;
    readonly source: { readonly repoURL: string; readonly path: string };
    readonly destination: Destination;
  };
}

interface AppProject {
  readonly kind: "AppProject";
  readonly metadata: Application["metadata"];
  readonly spec: { readonly sourceRepos: readonly string[]; readonly destinations: readonly Destination[] };
}

const texts = FILES.map(file => readFileSync(file, "utf8"));
const documents = texts.flatMap(text => parseAllDocuments(text).map(one => one.toJS() as Application | AppProject));
const applications = documents.filter(one => one.kind === "Application");
const projects = new Map(documents.flatMap(one => (one.kind === "AppProject" ? [[one.metadata.name, one.spec]] : [])));

let client: ClusterClient;

beforeAll(async () => {
  client = ClusterClient.of(suiteLab());
  await client.apply(await argoApi(silent));
  await client.untilServed(CRDS);
  await client.createNamespace("argocd");
});

afterAll(async () => {
  await client.output(["delete", "--ignore-not-found", "--wait=false", ...CRDS]);
});

it.each(FILES)("the API server accepts %s verbatim", async file => {
  await client.output(["apply", "--dry-run=server", "--validate=strict", "-f", file]);
});

it("its project permits every Application, and this repository has every path that an Application names", () => {
  for (const { metadata, spec } of applications) {
    const project = projects.get(spec.project);
    if (spec.project === "default") continue;
    expect(project?.sourceRepos, metadata.name).toContain(spec.source.repoURL);
    expect(project?.destinations, metadata.name).toContainEqual(spec.destination);
  }
  const own = applications.filter(({ spec }) => spec.source.repoURL.endsWith("/controller-resilience.git"));
  expect(own.map(({ spec }) => existsSync(join(ROOT, spec.source.path)))).toEqual([true, true, true, true]);
});

it("the sync waves are the API, the operator, the objects", () => {
  const wave = ({ metadata }: Application): number =>
    Number(metadata.annotations?.["argocd.argoproj.io/sync-wave"] ?? -9);
  const inOrder = applications.toSorted((a, b) => wave(a) - wave(b)).map(({ metadata }) => metadata.name);
  const first = ["controllers", "controller-resilience-api", "controller-resilience"];
  expect(inOrder).toEqual([...first, "my-scheduler", "controller-resilience-whole-cluster"]);
});
