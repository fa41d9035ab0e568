import { describe, expect, it } from "vitest";
import type { LogClass } from "./classes";
import { classify } from "./classify";

// Records that public threads report as innocent or as another class, written after these programs' structure.

const RECORDS: Readonly<Record<string, readonly [LogClass, ...string[]]>> = {
  "a body that is no Status object": [
    "none",
    `{"type":"error","status":401,"code":"Unauthorized","message":"Unauthorized"}`,
    `{"baseType":"error","code":"Unauthorized","message":"Unauthorized","status":401,"type":"error"}`,
    `{"type":"error","error":{"type":"authentication_error","message":"Unauthorized"}}`,
    `{"type":"error","code":"Unauthorized"}`,
    `{"code":"Unauthorized","message":"Unauthorized","requestId":"7f1c"}`,
    `{"error":"Unauthorized","message":"Unauthorized","statusCode":401,"type":"error"}`,
    `{"errors":[{"code":"Unauthorized","title":"Unauthorized"}]}`,
    `{"status":"error","code":401,"message":"Unauthorized"}`,
    `{"success":false,"code":401,"message":"Unauthorized"}`,
    `failed to load quota: {"type":"error","code":"Unauthorized","message":"Unauthorized"}`,
    `usage report failed: {"code":"Unauthorized","message":"Unauthorized"}`,
    `2025-11-04T07:21:09Z ERROR billing sync failed, response {"type":"error","message":"Unauthorized","code":401}`,
    `time="2025-11-04T07:21:09Z" level=error msg="sync of plans failed" response="{\\"type\\":\\"error\\",\\"code\\":\\"Unauthorized\\",\\"message\\":\\"Unauthorized\\"}"`,
    `{"level":"error","msg":"sync of plans failed","body":"{\\"code\\":\\"Unauthorized\\",\\"message\\":\\"Unauthorized\\"}"}`,
    `{"level":"error","msg":"sync of plans failed","response":{"type":"error","code":"Unauthorized","message":"Unauthorized"}}`,
    `level=error msg="Error looking up token." error="HTTP error: 401 Unauthorized, 401"`,
    `Bad response statusCode [401]. Status [401 Unauthorized]. Body: [code=Unauthorized, message=Unauthorized, baseType=error] from [http://platform.example/v1]`,
  ],
  "the bare word as a body": [
    "none",
    `failed to send report, body: Unauthorized`,
    `sync failed with body: "Unauthorized"`,
    `request failed: 401, body: Unauthorized`,
    `unexpected answer, response body: Unauthorized`,
    `time="2025-11-04T07:21:09Z" level=error msg="upload failed" body=Unauthorized`,
    `{"level":"error","msg":"upload failed","statusCode":401,"body":"Unauthorized"}`,
    `{"level":"error","msg":"upload failed","responseBody":"Unauthorized"}`,
    `error: POST failed; response body="Unauthorized"`,
    `request failed - "401 Unauthorized", response: "Unauthorized"`,
    `failed to load the OpenAPI spec of the shop: 401 Unauthorized`,
  ],
  "a network plugin's failure, reported by dockershim or CRI-O": [
    "none",
    `networkPlugin cni failed to set up pod "web-1_shop" network: error getting ClusterInformation: connection is unauthorized: Unauthorized`,
    `NetworkPlugin cni failed to teardown pod "web-1_shop" network: error getting ClusterInformation: connection is unauthorized: Unauthorized`,
    `E1104 07:21:09.114233    1204 cni.go:387] "Error deleting pod from network" err="error getting ClusterInformation: connection is unauthorized: Unauthorized" pod="shop/web-1"`,
    `E1104 07:21:09.114233    1204 cni.go:331] Error adding shop_web-1/8f2d to network calico/k8s-pod-network: connection is unauthorized: Unauthorized`,
    `E1104 07:21:09.114233    1204 cni.go:350] Error deleting shop_web-1/8f2d from network calico/k8s-pod-network: connection is unauthorized: Unauthorized`,
    `E1104 07:21:09.114233    1204 kuberuntime_sandbox.go:70] CreatePodSandbox for pod "web-1_shop(4c)" failed: rpc error: code = Unknown desc = connection is unauthorized: Unauthorized`,
    `E1104 07:21:09.114233    1204 remote_runtime.go:143] StopPodSandbox "8f2d" from runtime service failed: rpc error: code = Unknown desc = error getting ClusterInformation: connection is unauthorized: Unauthorized`,
    `E1104 07:21:09.114233    1204 pod_workers.go:190] Error syncing pod 4c ("web-1_shop(4c)"), skipping: failed to "KillPodSandbox" for "4c" with KillPodSandboxError: "rpc error: code = Unknown desc = connection is unauthorized: Unauthorized"`,
    `failed to clean up sandbox container "8f2d" network for pod "web-1": networkPlugin cni failed to teardown pod "web-1_shop" network: Unauthorized`,
  ],
  "an authenticator that could not be asked, or another authenticator": [
    "none",
    `E1104 07:21:09.114233       1 webhook.go:154] Failed to make webhook authenticator request: Post "https://10.96.0.1:443/apis/authentication.k8s.io/v1/tokenreviews": dial tcp 10.96.0.1:443: i/o timeout`,
    `E1104 07:21:09.114233       1 auth.go:47] Unable to authenticate the request due to an error: [invalid bearer token, Unauthorized]`,
    `failed to call the payment webhook: Unauthorized`,
    `failed to make webhook request to https://hooks.example/deploy: Unauthorized`,
    `github webhook authentication failed: Unauthorized`,
    `webhook authorizer at https://authz.example/v1/check: Unauthorized`,
    `Error: admission webhook "authorizer.policy.example" denied the request: Unauthorized`,
  ],
  "a provider of Traefik that asks another service": [
    "none",
    `2025-11-04T07:21:09Z ERR Provider error, retrying in 600ms error="Unauthorized" providerName=consulcatalog`,
    `2025-11-04T07:21:09Z ERR Provider error, retrying in 600ms error="Unauthorized" providerName=http`,
    `2025-11-04T07:21:09Z ERR Provider error, retrying in 600ms error="Unauthorized" providerName=docker`,
    `2025-11-04T07:21:09Z ERR Provider error, retrying in 600ms error="Unauthorized" providerName=nomad`,
    `2025-11-04T07:21:09Z ERR Provider error, retrying in 600ms error="Unauthorized" providerName=ecs`,
    `2025-11-04T07:21:09Z ERR Provider error, retrying in 600ms error="Unauthorized" providerName=redis`,
    `2025-11-04T07:21:09Z ERR Provider error, retrying in 600ms error="Unauthorized" providerName=file`,
    `2025-11-04T07:21:09Z ERR Provider error, retrying in 600ms error="Unauthorized" providerName=consulcatalog-kubernetes`,
    `{"level":"error","error":"Unauthorized","providerName":"consulcatalog","time":"2025-11-04T07:21:09Z","message":"Provider error, retrying in 600ms"}`,
    `{"level":"error","error":"Unauthorized","providerName":"docker","time":"2025-11-04T07:21:09Z","message":"Provider error, retrying in 600ms"}`,
    `time="2025-11-04T07:21:09Z" level=error msg="Provider connection error: Unauthorized; retrying in 412.31ms" providerName=consulcatalog`,
    `time="2025-11-04T07:21:09Z" level=error msg="Provider connection error: Unauthorized; retrying in 412.31ms"`,
    `time="2025-11-04T07:21:09Z" level=error msg="Cannot connect to Provider: Unauthorized" providerName=marathon`,
    `2025-11-04T07:21:09Z ERR Cannot retrieve data error=Unauthorized providerName=consulcatalog`,
    `2025-11-04T07:21:09Z ERR Provider error, retrying in 600ms error=Unauthorized`,
    `2025-11-04T07:21:09Z ERR Provider error, retrying in 600ms error="oauth token: Unauthorized" providerName=kubernetescrd`,
    `2025-11-04T07:21:09Z ERR identity provider error, retrying in 600ms error=Unauthorized providerName=kubernetes`,
    `level=error msg="secret provider failed" error=Unauthorized providerName=kubernetes-vault`,
  ],
  "another service's 401 in the words above": [
    "none",
    `Vault API authorization failure, status 401`,
    `Get orders 401`,
    `[billing] list invoices 401`,
    `[vault] Get secrets 401`,
    `GET /api/v1/namespaces/shop/pods 401 3.1 ms`,
    `Connection Error: Requesting "https://10.20.7.9:8443" failed: "HTTP 401: Unauthorized"`,
    `Registry Connection Error: Requesting "https://10.20.7.9:443" failed: "HTTP 401: Unauthorized"`,
    `Router login: requesting https://10.0.0.1 failed with 401 Unauthorized`,
    `Traceback (most recent call last):
  File "/venv/lib/python3.12/site-packages/hvac/utils.py", line 37, in raise_for_error
    raise exceptions.Unauthorized(message, errors=errors)
hvac.exceptions.Unauthorized: 401 Unauthorized`,
    `Traceback (most recent call last):
  File "/venv/lib/python3.12/site-packages/stripe/_api_requestor.py", line 421, in handle_error
    raise AuthenticationError(message)
AuthenticationError: 401 Unauthorized`,
    `Traceback (most recent call last):
  File "/opt/kubernetes/jobs/report.py", line 41, in upload
    raise UploadError(response.status_code)
UploadError: 401 Unauthorized`,
    `java.net.ProtocolException: Expected HTTP 101 response but was '401 Unauthorized'
\tat okhttp3.internal.ws.RealWebSocket.checkUpgradeSuccess(RealWebSocket.java:224)
\tat com.example.chat.Socket.open(Socket.java:41)`,
  ],
  "403s of programs whose 401s are found": [
    "forbidden",
    `Exception encountered fetching metadata from Kubernetes API endpoint: 403 Forbidden`,
    `fetching pod metadata failed: unexpected status code 403 from Kubernetes API`,
    `received 403 from Kubernetes API while listing pods`,
    `Invalid response from Kubernetes API when querying '/api/v1/namespaces/shop/pods': <Response [403]>`,
    `[2025/11/04 07:21:09] [ warn] [filter:kubernetes:kubernetes.0] could not get meta for POD web-1, HTTP status: 403`,
    `Kubernetes API authorization failure, status 403`,
    `Kubernetes Connection Error: Requesting "https://10.254.0.1:443" failed: "HTTP 403: Forbidden"`,
    `#0 unexpected error error_class=Kubeclient::HttpError error="HTTP status code 403, Forbidden"`,
    `java.net.ProtocolException: Expected HTTP 101 response but was '403 Forbidden'
\tat io.fabric8.kubernetes.client.okhttp.OkHttpWebSocketImpl.open(OkHttpWebSocketImpl.java:66)`,
    `E1104 07:21:09.114233       1 webhook.go:154] Failed to make webhook authenticator request: tokenreviews.authentication.k8s.io is forbidden: User "system:serviceaccount:shop:proxy" cannot create resource "tokenreviews" in API group "authentication.k8s.io" at the cluster scope`,
  ],
  "RBAC's sentence before Kubernetes 1.8, in every quoting": [
    "forbidden",
    `Failed to list *v1.Pod: User "system:serviceaccount:shop:web" cannot list pods at the cluster scope. (get pods)`,
    `{"level":"error","msg":"User \\"system:serviceaccount:shop:web\\" cannot list pods at the cluster scope. (get pods)"}`,
    `{"log":"{\\"error\\":\\"User \\\\\\"system:serviceaccount:shop:web\\\\\\" cannot watch services in the namespace \\\\\\"shop\\\\\\".\\"}\\n"}`,
    `Error in workloop { [Error: User "system:serviceaccount:shop:web" cannot list pods in the namespace "shop".] statusCode: 403 }`,
    `level=error msg="User \\"alice\\" cannot list pods at the cluster scope"`,
    `User "system:serviceaccount:shop:web" cannot get endpoints in project "shop"`,
  ],
  "a lock that could not be reached, with a timeout in its URL only": [
    "none",
    `E1104 07:21:09.114233       1 leaderelection.go:332] error retrieving resource lock shop/web: Get "https://10.96.0.1:443/apis/coordination.k8s.io/v1/namespaces/shop/leases/web?timeout=5s": dial tcp 10.96.0.1:443: connect: connection refused`,
    `{"level":"error","msg":"error retrieving resource lock shop/web: Get \\"https://10.96.0.1:443/apis/coordination.k8s.io/v1/namespaces/shop/leases/web?timeout=10s\\": EOF"}`,
    `error initially creating lease: Post "https://10.96.0.1:443/apis/coordination.k8s.io/v1/namespaces/shop/leases?timeout=5s": no route to host`,
    `error retrieving lease lock shop/web: Get "https://10.96.0.1:443/apis/coordination.k8s.io/v1/namespaces/shop/leases/web?pretty=false&timeout=5s": connection reset by peer`,
  ],
  "a lock that timed out": [
    "lease-lost",
    `error retrieving resource lock shop/web: Get "https://10.96.0.1:443/apis/coordination.k8s.io/v1/namespaces/shop/leases/web?timeout=5s": net/http: request canceled (Client.Timeout exceeded while awaiting headers)`,
    `error retrieving resource lock shop/web: Get "https://10.96.0.1:443/apis/coordination.k8s.io/v1/namespaces/shop/leases/web": dial tcp 10.96.0.1:443: i/o timeout`,
    `error retrieving resource lock shop/web: etcdserver: request timed out`,
  ],
};

describe.each(Object.entries(RECORDS))("%s", (_, [cls, ...records]) => {
  it.each(records)("%s", record => {
    expect(classify(record)).toBe(cls);
  });
});
