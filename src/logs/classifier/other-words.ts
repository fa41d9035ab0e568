import { words, phrases } from "./text";

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
    "ec2 eks route53 azure entra aad gcp google googleapi cloud openstack keystone vsphere vcenter vmware",
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
