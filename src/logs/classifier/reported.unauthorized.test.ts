import { describe, expect, it } from "vitest";
import { classify } from "./classify";
import { scanRecords } from "./scan-log";

// Own 401s in phrasings that public threads report, written after the structure of these programs' messages.

const UNAUTHORIZED: Readonly<Record<string, readonly string[]>> = {
  "its own TokenReview or SubjectAccessReview was refused": [
    `E1104 07:21:09.114233       1 webhook.go:154] Failed to make webhook authenticator request: Unauthorized`,
    `E1104 07:21:09.114233       1 webhook.go:253] Failed to make webhook authorizer request: Unauthorized`,
    `E1104 07:21:09.114233    2210 webhook.go:109] Failed to make webhook authenticator request: the server has asked for the client to provide credentials (post tokenreviews.authentication.k8s.io)`,
    `E1104 07:21:09.114233       1 webhook.go:154] "Failed to make webhook authenticator request" err="Unauthorized"`,
    `E1104 07:21:09.114233       1 webhook.go:269] "Failed to make webhook authorizer request" error="Unauthorized"`,
    `2025-11-04T07:21:09.114233871Z stderr F E1104 07:21:09.114233       1 webhook.go:154] Failed to make webhook authenticator request: Unauthorized`,
    `{"ts":1762240869114.2,"caller":"webhook/webhook.go:154","msg":"Failed to make webhook authenticator request","err":"Unauthorized"}`,
    `{"level":"error","ts":"2025-11-04T07:21:09Z","logger":"metrics","msg":"Failed to make webhook authorizer request","error":"Unauthorized"}`,
    `time="2025-11-04T07:21:09Z" level=error msg="Failed to make webhook authenticator request: Unauthorized"`,
    `ts=2025-11-04T07:21:09Z caller=proxy.go:88 level=error msg="failed to make webhook authenticator request" err=Unauthorized`,
    `E1104 07:21:09.114233       1 errors.go:77] Unauthorized`,
    `E1104 07:21:09.114233       1 authorization.go:53] "Error while evaluating SubjectAccessReview" err="Unauthorized"`,
    `level=error msg="unable to create TokenReview" err="Unauthorized"`,
    `{"level":"error","msg":"failed to create SubjectAccessReview","error":"Unauthorized"}`,
  ],
  "a vendor's own words": [
    `[error] Kubernetes API authorization failure, status 401; the account's token may be stale`,
    `2025-11-04 07:21:09 WARN  [agent.k8s] Kubernetes API authorization failure (401)`,
    `time="2025-11-04T07:21:09Z" level=warning msg="Kubernetes API authorization failure" status=401`,
    `{"level":"warn","message":"Kubernetes API authorization failure","statusCode":401}`,
    `[K8s] authentication failure: API server returned 401, check the mounted token`,
    `kube-apiserver rejected the agent's token with HTTP 401`,
    `WARN  Invalid response from Kubernetes API when querying '/api/v1/namespaces/shop/pods': <Response [401]>`,
    `Kubernetes API server answered HTTP 401; check the bearer token`,
    `kubernetes_monitor: K8s API replied 401 while reading pods of node worker-3`,
    `{"level":"error","msg":"k8s api authentication failed","code":401}`,
    `Kubernetes Connection Error: Requesting "https://10.254.0.1:443" failed: "HTTP 401: Unauthorized"`,
    `Kubernetes Connection Error: Requesting https://172.21.0.1:443 failed: HTTP 401: Unauthorized`,
    `Kubernetes connection error: requesting https://10.43.0.1 failed with 401 Unauthorized`,
    `2025-11-04T07:21:09Z E! [inputs.kube_inventory] Kubernetes API unauthorized: status 401`,
    `couldn't fetch pods from the Kubernetes API: unexpected status code 401`,
    `Exception encountered fetching metadata from Kubernetes API endpoint: 401 Unauthorized`,
  ],
  "a provider of Traefik that asks the API server": [
    `2025-11-04T07:21:09Z ERR Provider error, retrying in 600ms error="Unauthorized" providerName=kubernetescrd`,
    `2025-11-04T07:21:09Z ERR Provider error, retrying in 1.304988543s error=Unauthorized providerName=kubernetes`,
    `2025-11-04T07:21:09Z ERR Provider error, retrying in 412.3ms error=Unauthorized providerName=kubernetesgateway`,
    `2025-11-04T07:21:09Z ERR Provider error, retrying in 412.3ms error=Unauthorized providerName=kubernetesingress`,
    `2025-11-04T07:21:09Z ERR Provider error, retrying in 412.3ms error="failed to list: Unauthorized" providerName=kubernetescrd`,
    `2025-11-04T07:21:09Z ERR github.com/traefik/traefik/v3/pkg/provider/kubernetes/crd/kubernetes.go:134 > Provider error, retrying in 600ms error=Unauthorized providerName=kubernetescrd`,
    `\u001b[90m2025-11-04T07:21:09Z\u001b[0m \u001b[31mERR\u001b[0m Provider error, retrying in 600ms \u001b[36merror=\u001b[0m\u001b[31mUnauthorized\u001b[0m \u001b[36mproviderName=\u001b[0mkubernetescrd`,
    `{"level":"error","error":"Unauthorized","providerName":"kubernetescrd","time":"2025-11-04T07:21:09Z","message":"Provider error, retrying in 600ms"}`,
    `{"level":"error","providerName":"kubernetes","error":"Unauthorized","time":"2025-11-04T07:21:09Z","message":"Provider error, retrying in 4.2s"}`,
    `time="2025-11-04T07:21:09Z" level=error msg="Provider connection error: Unauthorized; retrying in 412.31ms" providerName=kubernetescrd`,
    `{"level":"error","msg":"Provider connection error: Unauthorized; retrying in 412.31ms","providerName":"kubernetes","time":"2025-11-04T07:21:09Z"}`,
    `time="2025-11-04T07:21:09Z" level=error msg="Cannot connect to Provider: Unauthorized" providerName=kubernetescrd`,
    `2025-11-04T07:21:09Z ERR Cannot retrieve data error=Unauthorized providerName=kubernetescrd`,
  ],
  "a terse status beside a client's name": [
    `[kubernetes] Get pods 401`,
    `k8s-client: list nodes 401`,
    `2025-11-04 07:21:09 ERROR kube_client watch endpoints 401`,
    `kubernetes api: Get pods 401`,
    `level=error component=discovery msg="kubernetes: list services 401"`,
    `INFO:kubernetes.client.rest:get pods 401`,
    `[k8s] GET namespaces/shop/pods 401`,
    `kube-apiserver list configmaps: 401`,
  ],
  "a Python exception whose raise line names the client": [
    `Traceback (most recent call last):
  File "/app/sync.py", line 41, in tick
    pods = api.list_namespaced_pod("shop")
  File "/usr/local/lib/python3.11/site-packages/kubernetes/client/rest.py", line 238, in request
    raise ApiException(http_resp=r)
ApiException: 401 Unauthorized`,
    `Traceback (most recent call last):
  File "/app/main.py", line 7, in <module>
    main()
  File "/venv/lib/python3.12/site-packages/pykube/http.py", line 441, in raise_for_status
    raise
  File "/venv/lib/python3.12/site-packages/pykube/http.py", line 437, in raise_for_status
    raise requests.exceptions.HTTPError(resp.status_code)
requests.exceptions.HTTPError: 401 Unauthorized`,
    `Traceback (most recent call last):
  File "/app/watch.py", line 12, in run
  File "/usr/lib/python3/dist-packages/kubernetes_asyncio/client/rest.py", line 207, in request
    raise ApiException(http_resp=r)
ApiException: 401 Unauthorized`,
    `Traceback (most recent call last):
  File "/app/main.py", line 7, in <module>
    main()
  File "/venv/lib/python3.12/site-packages/pykube/http.py", line 437, in raise_for_status
    raise HTTPError(resp.status_code, payload["message"])
HTTPError: 401 Unauthorized`,
    `Traceback (most recent call last):
  File "/venv/lib/python3.12/site-packages/kr8s/_api.py", line 176, in call_api
    raise ServerError(str(e), status=status, response=e.response) from e
ServerError: 401 Unauthorized`,
    `ERROR:root:sync failed
Traceback (most recent call last):
  File "/opt/sync/main.py", line 9, in sync
    raise kubernetes.client.exceptions.ApiException(status=401, reason="Unauthorized")
Exception: 401 Unauthorized`,
    `Traceback (most recent call last):
  File "/venv/lib/python3.10/site-packages/lightkube/core/generic_client.py", line 188, in raise_for_status
    raise transform_exception(e)
HTTPStatusError: 401 Unauthorized`,
  ],
  "fabric8's upgrade to a WebSocket": [
    `2025-11-04 07:21:09.114 WARN  [OkHttp https://172.30.0.1/...] i.f.k.c.d.i.WatchConnectionManager - Exec Failure
java.net.ProtocolException: Expected HTTP 101 response but was '401 Unauthorized'
\tat okhttp3.internal.ws.RealWebSocket.checkUpgradeSuccess(RealWebSocket.java:224)
\tat okhttp3.internal.ws.RealWebSocket$2.onResponse(RealWebSocket.java:196)`,
    `java.net.ProtocolException: Expected HTTP 101 response but was '401 Unauthorized'
\tat okhttp3.internal.ws.RealWebSocket.checkUpgradeSuccess$okhttp(RealWebSocket.kt:224)
\tat okhttp3.RealCall$AsyncCall.execute(RealCall.java:203)
\tSuppressed: java.lang.Throwable: waiting here
\t\tat io.fabric8.kubernetes.client.utils.Utils.waitUntilReady(Utils.java:150)`,
    `{"timestamp":"2025-11-04T07:21:09Z","level":"WARN","loggerName":"io.fabric8.kubernetes.client.dsl.internal.WatcherWebSocketListener","message":"Exec Failure","exception":{"exceptionType":"java.net.ProtocolException","message":"Expected HTTP 101 response but was '401 Unauthorized'"}}`,
    `ERROR [io.fab.kub.cli.inf.imp.cac.Reflector] (vert.x-eventloop-thread-1) watch failed: java.net.ProtocolException: Expected HTTP 101 response but was '401 Unauthorized'
\tat okhttp3.internal.ws.RealWebSocket.checkResponse(RealWebSocket.java:229)
\tat io.fabric8.kubernetes.client.okhttp.OkHttpWebSocketImpl$BuilderImpl$1.onFailure(OkHttpWebSocketImpl.java:66)`,
    `io.fabric8.kubernetes.client.KubernetesClientException: Received 401 on websocket. Failure executing: GET at: https://10.96.0.1:443/api/v1/pods?watch=true. Message: Unauthorized.`,
  ],
};

/** They report an own 401, but in words that also stand for something innocent: the classifier does not accuse. */
const KNOWN_MISSES: Readonly<Record<string, string>> = {
  "the second line about a refused TokenReview looks like a refused caller": `E1104 07:21:09.114233       1 auth.go:47] Unable to authenticate the request due to an error: Unauthorized`,
  "a terse status names no client": `Get pods 401`,
  "no client and no server are named": `authorization failure, status 401; the account's token may be stale`,
  "only the application raises": `Traceback (most recent call last):
  File "/app/cluster.py", line 41, in call
    raise ClusterError(response.status_code)
ClusterError: 401 Unauthorized`,
  "web frameworks have an exception of this name": `Traceback (most recent call last):
  File "/usr/local/lib/python3.11/site-packages/kubernetes/client/rest.py", line 238, in request
    raise UnauthorizedException(http_resp=r)
UnauthorizedException: 401 Unauthorized`,
  "the same, in a batch that was held out": `Traceback (most recent call last):
  File "/usr/local/lib/python3.12/site-packages/kubernetes/dynamic/client.py", line 55, in inner
    raise api_exception(e)
UnauthorizedError: 401`,
  "credentials that were denied": `2025-09-12T03:14:52Z WRN kubernetes: API server denied credentials (401), backing off 5s`,
  "an upgrade without fabric8's name": `java.net.ProtocolException: Expected HTTP 101 response but was '401 Unauthorized'
\tat okhttp3.internal.ws.RealWebSocket.checkUpgradeSuccess(RealWebSocket.java:224)`,
};

/** The classes of the records of a log with this record in the middle. */
function classesOf(record: string): string[] {
  const found: string[] = [];
  scanRecords(Buffer.from(`all is well\n${record}\nall is well\n`), cls => found.push(cls));
  return found;
}

describe.each(Object.entries(UNAUTHORIZED))("%s", (_, records) => {
  it.each(records)("%s", record => {
    expect(classesOf(record)).toEqual(["unauthorized"]);
  });
});

describe("known misses", () => {
  it.each(Object.entries(KNOWN_MISSES))("%s", (_, record) => {
    expect(classify(record)).toBe("none");
  });
});
