import { includesAny, phrases, words } from "./text";

// Words that show that a request went to the API server. Lower case, matched as whole words only: an object named
// "vault-token" says nothing about Vault.

/** Names of the API server and its clients. */
export const KUBERNETES_NAMES: ReadonlySet<string> = new Set([
  ...words("kubernetes k8s kube kube-apiserver apiserver api-server kubeconfig in-cluster incluster"),
  ...words("kube-api k8s-api kube-client kube_client k8s-client k8s_client kubernetes-client"),
  // A metric set, and a header of every answer of an API server.
  "kubernetes.apiserver",
  "audit-id",
]);

/** Words that only describe requests to the Kubernetes API. */
export const KUBERNETES_WORDS: ReadonlySet<string> = new Set([
  ...words(
    "informer informers reflector configmap configmaps serviceaccount serviceaccounts daemonset",
    "daemonsets statefulset statefulsets replicaset replicasets cronjob cronjobs pod pods endpointslice",
    "endpointslices persistentvolume persistentvolumes lease leases persistentvolumeclaim",
    "persistentvolumeclaims customresourcedefinition customresourcedefinitions crd crds rolebinding",
    "rolebindings clusterrole clusterroles clusterrolebinding clusterrolebindings storageclass",
    "storageclasses volumeattachment volumeattachments csinode csinodes ingressclasses networkpolicy",
    "networkpolicies tokenreview tokenreviews subjectaccessreview subjectaccessreviews",
    "horizontalpodautoscaler horizontalpodautoscalers poddisruptionbudget poddisruptionbudgets",
    "tokenrequest clusterinformation cluster-info partialobjectmetadata replicationcontroller",
    "replicationcontrollers",
  ),
]);

/** Pairs of words with the same meaning. */
export const KUBERNETES_PAIRS: ReadonlySet<string> = new Set([
  ...phrases(
    "api server, api group, api groups, api group-resources, server apis, server groups, server version",
    "server preferred, server resources, resource lock, lease lock, leader election, service account",
    "custom resource, custom resources, api resources, rest mapper, cluster unreachable, some groups",
    "update status, status update, patch status, status patch, updating status, patching status",
    "status subresource",
    // A TokenReview or SubjectAccessReview of this process, answered by the API server.
    "webhook authenticator, webhook authorizer",
  ),
]);

/** Kinds whose names are also ordinary words: weak evidence for the API server. */
export const KUBERNETES_NOUNS: ReadonlySet<string> = new Set([
  ...words(
    "finalizer finalizers label labels annotation annotations condition conditions ownerreference node nodes",
    "namespace namespaces secret secrets service services endpoint endpoints deployment deployments job jobs",
    "ingress ingresses event events cluster lock manager controller role roles watch watcher resource resources",
    "object objects",
  ),
]);

/** Services with their own credentials: their 401 does not come from the API server. */
export const OTHER_WORDS: ReadonlySet<string> = new Set([
  ...words(
    "registry registries image images imageservice docker dockerd containerd dockerhub ecr gcr acr quay",
    "harbor artifactory nexus oci chart charts chartmuseum artifact artifacts pull pulling layer blob",
    "blobs helmrepository ocirepository gitrepository vault openbao consul consulcatalog nomad hvac 1password infisical",
    "doppler secretsmanager secretstore git github gitlab gitea bitbucket gerrit repo repos repository",
    "repositories clone cloning checkout refs ref branch commit push pushing pushed fetch-pack webhook",
    "webhooks loki promql remote-write remote_write remotewrite grafana kibana elasticsearch elastic",
    "opensearch logstash splunk sentry datadog newrelic dynatrace tempo mimir thanos influxdb influx",
    "jaeger zipkin otlp opentelemetry otel exporter honeycomb statsd telemetry batch kafka zookeeper",
    "rabbitmq amqp nats mqtt redis postgres postgresql mysql mariadb mongodb mongo cassandra couchdb",
    "clickhouse etcd etcdserver etcdclient database jdbc s3 bucket buckets minio gcs aws amazon sts iam",
    "ec2 eks route53 azure entra aad gcp google googleapi cloud openstack keystone vsphere vcenter vmware array",
    "digitalocean hetzner hcloud linode scaleway cloudflare dns zone zones acme letsencrypt venafi oauth",
    "oauth2 oidc openid saml sso ldap keycloak okta auth0 dex idp jwks jwt login logon signin password",
    "username credential-provider basic realm idtoken userinfo kubelet kubelets kubelet_stats cadvisor",
    "scrape scraping scraper smtp slack pagerduty opsgenie telegram discord teams jira mattermost webex",
    "alertmanager upstream backend portal tunnel provider grpc rpc bmc ipmi redfish argocd rancher",
    "jenkins sonarqube license licence media chat bot browser websocket proxy sandbox subscription apikey",
    "api-key organization tenant account npm pypi maven huggingface openai snyk trivy handshake conjur cinder sqlstate graphql unauthenticated",
    "ext_authz ext-authz forward-auth forwardauth",
    // Their clients.
    "botocore boto3 requests_oauthlib keystoneauth1 pymongo psycopg2 ldap3 jenkinsapi amazonaws awssdk msal",
    "msrestazure adal googleapiclient octokit jgit okhttp3 sonatype",
  ),
]);

/** Pairs of words with the same meaning. */
export const OTHER_PAIRS: ReadonlySet<string> = new Set([
  ...phrases(
    "kubernetes auth, kubernetes login, identity provider, remote write, api key, api token, access key, access token, refresh token",
    "id token, personal access, management api, token endpoint, token server, auth server",
    "authorization server, rest api, helm repo, helm repository, storage account, push gateway",
    "metrics store, log store, tunnel server, user name, session token, client secret, bearer realm",
    "upgrade connection",
  ),
]);

/** Pairs of words that explain a denial. */
export const EXPLAINING: ReadonlySet<string> = new Set([
  ...phrases(
    "authentication failed, authentication failure, authentication error, auth failed, auth failure, auth error",
    "not authenticated, user unauthenticated, invalid token, invalid credentials, bad credentials, wrong credentials",
    "token expired, expired token, token invalid, token rejected, token is, token unknown, token review, token validation",
    "signature invalid, invalid signature, access denied, permission denied",
    "credentials not, no token, missing token, session expired",
  ),
]);

/** Fields that only records about another service have. */
export const SERVICE_KEYS: ReadonlySet<string> = new Set(
  words("registry repository repo bucket vault database broker datasource provider"),
);

/** Parts of field names whose value names the service that a record is about. */
const ROLES = words(
  "provider backend store service type output exporter sink source destination url uri address addr endpoint host",
  "server upstream remote receiver integration plugin scaler trigger client target connector driver queue",
);

/** Whether a field holds the name of an object of this process and no statement. */
export function carriesName(key: string, value: string): boolean {
  return !value.includes(" ") && !carriesErrors(key) && !includesAny(key, ROLES);
}

/** Whether a field of this name describes an error. Free text has an empty name. */
export function carriesErrors(key: string): boolean {
  return key === "" || (includesAny(key, ERROR_KEYS) && !key.includes("status"));
}

const ERROR_KEYS = [
  ...words("err exc msg message reason cause fail fault detail event log text body warn diagnostic"),
  ...words("@x @m output problem response stack data @r result"),
];
