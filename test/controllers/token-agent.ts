// A DaemonSet like those of node agents: an init container and two containers, all with the ServiceAccount's token.
import type { ClusterClient } from "../cluster/client";
import { workload } from "../cluster/objects";
import { smallController } from "./small-controller";

/** The usual path of the token in every container. */
export const TOKEN_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The files in that folder. */
export const TOKEN_FILES = ["ca.crt", "namespace", "token"];

/** Names of the containers that keep running. */
export const AGENT_CONTAINERS = ["agent", "beside"] as const;

/** Where and with which image it runs. */
export interface TokenAgentOptions {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  /** Command of the container `agent`. */
  readonly command: readonly string[];
  /** Seconds that an explicit volume of the template requests; by default, admission mounts the default token. */
  readonly explicitSeconds?: number;
}

/** All its objects except the namespace. */
export function tokenAgent(options: TokenAgentOptions): object[] {
  const { namespace, name, image, command } = options;
  const small = smallController({ namespace, name, image, command }) as { kind: string }[];
  return [...small.filter(({ kind }) => kind !== "Deployment"), tokenAgentSet(options)];
}

/** Only the DaemonSet. */
function tokenAgentSet(options: TokenAgentOptions): object {
  const { namespace, name, image, command, explicitSeconds } = options;
  const mounts =
    explicitSeconds === undefined
      ? {}
      : { volumeMounts: [{ name: "api-token", mountPath: TOKEN_FOLDER, readOnly: true }] };
  const container = (own: string, argv: readonly string[]): object => ({
    name: own,
    image,
    imagePullPolicy: "IfNotPresent",
    command: argv,
    env: [{ name: "NAMESPACE", value: namespace }],
    ...mounts,
  });
  const rereads = [
    "sh",
    "-c",
    `while [ ! -d ${TOKEN_FOLDER} ] || cat ${TOKEN_FOLDER}/token > /dev/null; do sleep 5; done`,
  ];
  const [agent, beside] = AGENT_CONTAINERS;
  const pod = {
    initContainers: [container("init", ["sh", "-c", `echo $(ls ${TOKEN_FOLDER})`])],
    containers: [container(agent, command), container(beside, rereads)],
    ...(explicitSeconds === undefined ? {} : { volumes: [explicitVolume(explicitSeconds)] }),
  };
  return workload("DaemonSet", { namespace, name }, pod);
}

function explicitVolume(expirationSeconds: number): object {
  return {
    name: "api-token",
    projected: {
      sources: [
        { serviceAccountToken: { path: "token", expirationSeconds } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
      ],
    },
  };
}

/** The claims of a token that tests use. */
interface TokenClaims {
  readonly iat: number;
  readonly exp: number;
  readonly sub: string;
  readonly "kubernetes.io": {
    readonly pod?: { readonly name: string; readonly uid: string };
    /** Set if the API server grants more than requested: the requested expiry. */
    readonly warnafter?: number;
  };
}

/** A token of a container, and its claims. */
export interface MountedToken {
  readonly text: string;
  readonly claims: TokenClaims;
  readonly lifeSeconds: number;
}

/** One container of a pod. */
export interface ContainerRef {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

export async function tokenIn(client: ClusterClient, where: ContainerRef): Promise<MountedToken> {
  const text = (await client.exec(where, ["cat", `${TOKEN_FOLDER}/token`])).trim();
  const payload = Buffer.from(text.split(".")[1] ?? "", "base64url").toString();
  const claims = JSON.parse(payload) as TokenClaims;
  return { text, claims, lifeSeconds: claims.exp - claims.iat };
}
