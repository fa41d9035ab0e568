import { generateKeyPairSync } from "node:crypto";
import { md, pki } from "node-forge";

/** A self-signed certificate of 127.0.0.1, and its key. PEM. */
export function selfSigned(): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
  });
  const cert = pki.createCertificate();
  cert.publicKey = pki.publicKeyFromPem(publicKey);
  cert.serialNumber = "01";
  cert.validity.notBefore = new Date(Date.now() - 60_000);
  cert.validity.notAfter = new Date(Date.now() + 86_400_000);
  cert.setSubject([{ name: "commonName", value: "stand-in" }]);
  cert.setIssuer([{ name: "commonName", value: "stand-in" }]);
  // 7 marks an IP address.
  cert.setExtensions([{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] }]);
  cert.sign(pki.privateKeyFromPem(privateKey), md.sha256.create());
  return { key: privateKey, cert: pki.certificateToPem(cert) };
}
