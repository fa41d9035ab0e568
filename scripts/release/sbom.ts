import { createHash } from "node:crypto";
import { Enums, Models, Serialize, Spec } from "@cyclonedx/cyclonedx-library";
import type { BundledPackage } from "./packages";

/** What an image contains. */
export interface ImageContents {
  readonly name: string;
  readonly version: string;
  readonly nodeVersion: string;
  readonly baseImage: string;
  readonly packages: readonly BundledPackage[];
}

/**
 * Returns the software bill of materials of the image in the format CycloneDX 1.6. It has no time and no random number, so that equal contents
 * have equal bills. A scanner lists the Debian packages of the base image; the build attests that list.
 */
export function sbom(contents: ImageContents): string {
  const operator = component(Enums.ComponentType.Container, contents.name, contents.version, "Apache-2.0");
  const bom = new Models.Bom({ metadata: new Models.Metadata({ component: operator }) });
  const node = component(Enums.ComponentType.Application, "node", contents.nodeVersion, "MIT");
  const parts = [
    identified(node, `pkg:generic/node@${contents.nodeVersion}`),
    base(contents.baseImage),
    ...contents.packages.map(entry => npm(entry)),
  ];
  for (const added of parts) {
    bom.components.add(added);
    operator.dependencies.add(added.bomRef);
  }
  bom.serialNumber = serialNumber(contents);
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`;
}

function npm({ name, version, license }: BundledPackage): Models.Component {
  const [group, rest] = name.startsWith("@") ? name.split("/") : [];
  const found = component(Enums.ComponentType.Library, rest ?? name, version, license);
  if (group !== undefined) found.group = group;
  return identified(found, `pkg:npm/${name.replace("@", "%40")}@${version}`);
}

/** An image by its tag, its digest or both. */
function base(image: string): Models.Component {
  const [, name = image, tag, sha256] = /^(.+?)(?::([^:/@]+))?(?:@sha256:([0-9a-f]{64}))?$/.exec(image) ?? [];
  const found = new Models.Component(Enums.ComponentType.Container, name, { bomRef: image });
  if (tag !== undefined) found.version = tag;
  if (sha256 !== undefined) found.hashes.set(Enums.HashAlgorithm["SHA-256"], sha256);
  return found;
}

/** Names the component by its package URL. */
function identified(found: Models.Component, purl: string): Models.Component {
  found.purl = purl;
  found.bomRef.value = purl;
  return found;
}

function component(type: Enums.ComponentType, name: string, version: string, license: string): Models.Component {
  const found = new Models.Component(type, name, { version, bomRef: `${name}@${version}` });
  found.licenses.add(new Models.SpdxLicense(license));
  return found;
}

/** A UUID of version 8, made from the contents. */
function serialNumber(contents: ImageContents): string {
  const hash = createHash("sha256").update(JSON.stringify(contents)).digest("hex");
  const groups = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`];
  return `urn:uuid:${[...groups, hash.slice(20, 32)].join("-")}`;
}
