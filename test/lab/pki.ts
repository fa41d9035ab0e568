import { createPrivateKey, createPublicKey, generateKeyPair, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { md, pki } from "node-forge";
import { API_SERVICE_ADDRESS, jointOf, NODE_ADDRESS } from "./addresses";
import { foldersOf } from "./folders";
import type { LabState } from "./state";

const generate = promisify(generateKeyPair);
const VALID_DAYS = 365;
/** Makes forge compute the key identifier as it computes `subjectKeyIdentifier` itself. */
const BIT_STRING = { type: "RSAPublicKey" } as const;

/** Users with their own token for the API server: name in the token file -> [user, group]. */
const USERS = {
  admin: ["admin", "system:masters"],
  "kube-controller-manager": ["system:kube-controller-manager", ""],
  "kube-scheduler": ["system:kube-scheduler", ""],
  kubelet: ["system:node:node", "system:nodes"],
} as const;

/**
 * Extensions of an authority's certificate; strict verifiers (Python 3.13) require all three. New objects each time,
 * since forge writes the identifier of the key into them.
 */
function authority(): object[] {
  return [
    { name: "basicConstraints", cA: true, critical: true },
    { name: "keyUsage", keyCertSign: true, critical: true },
    { name: "subjectKeyIdentifier" },
  ];
}

export type User = keyof typeof USERS;

/** The name of the lab's node; the kubelet's user name ends in it, as the Node authorizer requires. */
export const NODE_NAME = "node";

/** The common name in the API server's certificates. */
export const API_SERVER_NAME = "kube-apiserver";

/** Files in the pki folder that components use. */
export function pkiFiles(lab: LabState) {
  const { pki: folder } = foldersOf(lab.name);
  return {
    folder,
    ca: join(folder, "ca.crt"),
    apiServerCertificate: join(folder, "apiserver.crt"),
    apiServerKey: join(folder, "apiserver.key"),
    // The API server uses these as a client of kubelets and aggregated API servers.
    clientCertificate: join(folder, "apiserver-client.crt"),
    clientKey: join(folder, "apiserver-client.key"),
    tokens: join(folder, "tokens.csv"),
    signingKey: join(folder, `service-account-${lab.signingKey}.key`),
    signingPublicKey: join(folder, `service-account-${lab.signingKey}.pub`),
  };
}

/** Creates all keys, certificates and tokens of this lab, once. */
export async function makePki(lab: LabState): Promise<void> {
  const files = pkiFiles(lab);
  const [ca, server, client] = await Promise.all([newKey(), newKey(), newKey(), makeSigningKey(lab)]);
  const issuer = { name: "lab-ca", key: ca };
  write(files.ca, certificate(issuer, issuer, authority()));
  write(files.apiServerKey, server);
  write(files.apiServerCertificate, certificate({ name: API_SERVER_NAME, key: server }, issuer, [serverNames(lab)]));
  write(files.clientKey, client);
  const usage = { name: "extKeyUsage", clientAuth: true };
  write(files.clientCertificate, certificate({ name: API_SERVER_NAME, key: client }, issuer, [usage]));
  const lines = Object.entries(USERS).map(([name, [user, group]]) => `${secret()},${user},${name},${group}`);
  write(files.tokens, `${lines.join("\n")}\n`);
}

/** Creates the key with the number in the state's `signingKey`. */
export async function makeSigningKey(lab: LabState): Promise<void> {
  const files = pkiFiles(lab);
  const key = await newKey();
  write(files.signingKey, key);
  write(files.signingPublicKey, createPublicKey(createPrivateKey(key)).export({ type: "spki", format: "pem" }));
}

/** The token of one of the lab's own users. */
export function tokenOf(lab: LabState, user: User): string {
  const line = readFileSync(pkiFiles(lab).tokens, "utf8")
    .split("\n")
    .find(text => text.split(",")[2] === user);
  if (line === undefined) throw new Error(`no token for ${user} in ${pkiFiles(lab).tokens}`);
  return line.split(",")[0] ?? "";
}

/** A kubeconfig that needs no other file; `server` is the URL from the user's point of view. */
export function kubeconfig(lab: LabState, server: string, token: string): string {
  const ca = readFileSync(pkiFiles(lab).ca).toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: lab.name, cluster: { server, "certificate-authority-data": ca } }],
    users: [{ name: lab.name, user: { token } }],
    contexts: [{ name: lab.name, context: { cluster: lab.name, user: lab.name } }],
    "current-context": lab.name,
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

/** Writes a kubeconfig, readable by its owner alone, and returns its path. */
export function writeKubeconfig(path: string, text: string): string {
  if (!existsSync(path) || readFileSync(path, "utf8") !== text) write(path, text);
  return path;
}

interface Party {
  name: string;
  /** The private key, PEM. */
  key: string;
}

function certificate(subject: Party, issuer: Party, extensions: object[]): string {
  const made = pki.createCertificate();
  const key = pki.privateKeyFromPem(subject.key);
  made.publicKey = pki.rsa.setPublicKey(key.n, key.e);
  made.serialNumber = serialNumber(randomBytes(8));
  const hour = 3_600_000;
  made.validity.notBefore = new Date(Date.now() - hour);
  made.validity.notAfter = new Date(Date.now() + VALID_DAYS * 24 * hour);
  // The API server's own client certificate is that of a superuser, so that kubelets accept it.
  made.setSubject([
    { name: "commonName", value: subject.name },
    { name: "organizationName", value: "system:masters" },
  ]);
  made.setIssuer([
    { name: "commonName", value: issuer.name },
    { name: "organizationName", value: "system:masters" },
  ]);
  const issuerKey = pki.privateKeyFromPem(issuer.key);
  const keyIdentifier = pki
    .getPublicKeyFingerprint(pki.rsa.setPublicKey(issuerKey.n, issuerKey.e), BIT_STRING)
    .getBytes();
  made.setExtensions([...extensions, { name: "authorityKeyIdentifier", keyIdentifier }]);
  made.sign(issuerKey, md.sha256.create());
  return pki.certificateToPem(made);
}

function serverNames(lab: LabState): object {
  const addresses = ["127.0.0.1", API_SERVICE_ADDRESS, NODE_ADDRESS, jointOf(lab.index).labAddress];
  const names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
  // In a certificate, 7 marks an IP address and 2 a DNS name.
  const altNames = [...addresses.map(ip => ({ type: 7, ip })), ...names.map(value => ({ type: 2, value }))];
  return { name: "subjectAltName", altNames };
}

async function newKey(): Promise<string> {
  const { privateKey } = await generate("rsa", { modulusLength: 2048 });
  return privateKey.export({ type: "pkcs1", format: "pem" }).toString();
}

function secret(): string {
  return randomBytes(24).toString("hex");
}

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, content, { mode: 0o600 });
}

/**
 * Makes a serial number of a certificate from eight bytes, in hexadecimal digits. Its first byte lies between 0x40 and 0x7f, so it is
 * positive and needs no leading zero: Go rejects a superfluous one ("malformed serial number"), and node-forge writes the digits unchanged.
 */
export function serialNumber(random: Uint8Array): string {
  const [first = 0, ...rest] = random;
  return Buffer.from([(first & 0x3f) | 0x40, ...rest]).toString("hex");
}
