import { generateKeyPairSync } from "node:crypto";
import { md, pki } from "node-forge";
import { systemClock } from "../system";

/** A certificate with its key, in PEM. */
export interface Party {
  readonly key: string;
  readonly certificate: string;
}

/** Issues a certificate for a day, signed by the issuer or by itself. */
export function issue(commonName: string, extensions: object[], issuer?: Party): Party {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = privateKey.export({ type: "pkcs1", format: "pem" }).toString();
  const made = pki.createCertificate();
  made.publicKey = pki.setRsaPublicKey(pki.privateKeyFromPem(key).n, pki.privateKeyFromPem(key).e);
  made.serialNumber = "01";
  made.validity.notBefore = new Date(systemClock.now().getTime() - 86_400_000);
  made.validity.notAfter = new Date(systemClock.now().getTime() + 86_400_000);
  made.setSubject([{ name: "commonName", value: commonName }]);
  made.setIssuer(issuer ? pki.certificateFromPem(issuer.certificate).subject.attributes : made.subject.attributes);
  made.setExtensions(extensions);
  made.sign(pki.privateKeyFromPem(issuer?.key ?? key), md.sha256.create());
  return { key, certificate: pki.certificateToPem(made) };
}

/** The extension of a server with these DNS names and IP addresses. */
export function named(...names: readonly string[]): object[] {
  const altNames = names.map(name => (/^[\d.]+$/.test(name) ? { type: 7, ip: name } : { type: 2, value: name }));
  return [{ name: "subjectAltName", altNames }];
}

/** Returns a certificate authority. */
export function authority(): Party {
  return issue("ca", [{ name: "basicConstraints", cA: true, critical: true }]);
}
