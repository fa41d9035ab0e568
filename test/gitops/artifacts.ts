import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { stringify } from "yaml";
import type { ClusterClient } from "../cluster/client";
import { must } from "../lab/commands";

const GROUP = "source.toolkit.fluxcd.io";
/** The kinds that kustomize-controller watches. */
const SOURCES = { GitRepository: "gitrepositories", OCIRepository: "ocirepositories", Bucket: "buckets" };

/**
 * Stands in for Flux's source-controller: this process serves tarballs by HTTP, and status.artifact of a GitRepository names the present one
 * (url, revision, digest). That is all that kustomize-controller reads of a source.
 */
export class Artifacts {
  private constructor(
    private readonly client: ClusterClient,
    private readonly folder: string,
    private readonly server: Server,
    private readonly tarballs: Map<string, Buffer>,
  ) {}

  /** Defines the kinds of sources and starts the server. */
  static async serve(client: ClusterClient, folder: string): Promise<Artifacts> {
    mkdirSync(folder, { recursive: true });
    await client.apply(Object.entries(SOURCES).map(([kind, plural]) => definition(kind, plural)));
    await client.untilServed(Object.values(SOURCES).map(plural => `crd/${plural}.${GROUP}`));
    const tarballs = new Map<string, Buffer>();
    const server = createServer(({ url = "" }, answer) => {
      const tarball = tarballs.get(url);
      answer.writeHead(tarball === undefined ? 404 : 200).end(tarball);
    });
    await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
    return new Artifacts(client, folder, server, tarballs);
  }

  /** Makes objects the content of the GitRepository of this namespace and name. Returns the revision. */
  async publish(namespace: string, name: string, objects: readonly object[]): Promise<string> {
    const folder = mkdtempSync(join(this.folder, `${name}-`));
    const [file, tarball] = [join(folder, "content", "objects.yaml"), join(folder, "content.tar.gz")];
    mkdirSync(dirname(file));
    writeFileSync(file, objects.map(one => stringify(one)).join("---\n"));
    await must(["tar", "-czf", tarball, "-C", dirname(file), "."]);
    const content = readFileSync(tarball);
    const sha256 = createHash("sha256").update(content).digest("hex");
    const [path, revision] = [`/${sha256}.tar.gz`, `main@sha256:${sha256}`];
    this.tarballs.set(path, content);
    const metadata = { namespace, name };
    await this.client.apply([{ apiVersion: `${GROUP}/v1`, kind: "GitRepository", metadata, spec: {} }]);
    const { port } = this.server.address() as AddressInfo;
    const artifact = {
      ...{ url: `http://127.0.0.1:${port}${path}`, path, revision, digest: `sha256:${sha256}` },
      ...{ lastUpdateTime: new Date().toISOString().replace(/\.\d+/, "") },
    };
    const patch = ["--subresource=status", "--type=merge", "-p", JSON.stringify({ status: { artifact } })];
    await this.client.output(["patch", `gitrepositories.${GROUP}`, name, "-n", namespace, ...patch]);
    return revision;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

/** A kind with any fields, in place of source-controller's definition. */
function definition(kind: string, plural: string): object {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: "v1", served: true, storage: true, schema, subresources: { status: {} } }],
    },
  };
}
