{{/* A fixed name, independent of the release: a cluster has one operator, so two releases never share its permissions. */}}
{{- define "controller-resilience.name" -}}
controller-resilience
{{- end }}

{{/* Labels that select the pods. They must not change, because the selector of a Deployment is immutable. */}}
{{- define "controller-resilience.selectorLabels" -}}
app.kubernetes.io/name: controller-resilience
{{- end }}

{{/* Labels of every object. Helm adds app.kubernetes.io/managed-by. */}}
{{- define "controller-resilience.labels" -}}
{{ include "controller-resilience.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{/* Metadata of a cluster-scoped object: name and labels. */}}
{{- define "controller-resilience.metadata" -}}
name: {{ include "controller-resilience.name" . }}
labels:
  {{- include "controller-resilience.labels" . | nindent 2 }}
{{- end }}

{{/* Metadata of an object in the namespace of the operator. */}}
{{- define "controller-resilience.namespacedMetadata" -}}
name: {{ include "controller-resilience.name" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "controller-resilience.labels" . | nindent 2 }}
{{- end }}

{{/* The operator as the subject of a binding. */}}
{{- define "controller-resilience.subjects" -}}
- kind: ServiceAccount
  name: {{ include "controller-resilience.name" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* The image reference, by digest if one is set. */}}
{{- define "controller-resilience.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}

{{- /*
CEL: whether an update takes a generated object from its ClusterControllerResilience. The garbage collector does after a deletion with --cascade=orphan.
*/ -}}
{{- define "controller-resilience.isUntied" -}}
(oldObject != null && has(oldObject.metadata.ownerReferences)
&& oldObject.metadata.ownerReferences.exists(owner, owner.kind == 'ClusterControllerResilience')
&& !(request.userInfo.username in ['system:serviceaccount:kube-system:generic-garbage-collector', 'system:kube-controller-manager'])
&& !(has(object.metadata.ownerReferences) && object.metadata.ownerReferences == oldObject.metadata.ownerReferences))
{{- end }}

{{- /* Which writes of ControllerResiliences the policies check. */ -}}
{{- define "controller-resilience.authorsMatch" -}}
matchConstraints:
  resourceRules:
    - apiGroups: [controller-resilience.io]
      apiVersions: [v1alpha1]
      operations: [CREATE, UPDATE]
      # Without the status subresource, which the operator writes.
      resources: [controllerresiliences]
matchConditions:
  # Every author may change finalizers, labels and annotations, except what ties a generated object to its ClusterControllerResilience: without that
  # it would outlive the object whose author was allowed to ask for it. Untied, it is checked like a new one.
  - name: spec-is-new-or-untied
    expression: >-
      oldObject == null || object.spec != oldObject.spec || {{ include "controller-resilience.isUntied" . | nindent 6 | trim }}
  # What the operator generates was checked when the author of the ClusterControllerResilience wrote it (admission-policy-cluster.yaml).
  - name: is-not-generated
    expression: >-
      request.userInfo.username != 'system:serviceaccount:{{ .Release.Namespace }}:{{ include "controller-resilience.name" . }}'
      || !has(object.metadata.ownerReferences)
      || !object.metadata.ownerReferences.exists(owner, owner.kind == 'ClusterControllerResilience')
{{- end }}

{{- /* Variables that the policies share. */ -}}
{{- define "controller-resilience.authorsVariables" -}}
- name: isUntied
  expression: >-
    {{- include "controller-resilience.isUntied" . | nindent 4 }}
# Whether the operator read for the object before. A suspended object is checked as if it were not, so that who resumes it adds nothing unseen.
- name: hasRead
  expression: oldObject != null && !variables.isUntied && (!oldObject.spec.suspend || object.spec.suspend)
- name: hasNoNewTarget
  # Of a long list each change counts as new, since the comparison would cost too much.
  expression: >-
    oldObject != null && (object.spec.targets == oldObject.spec.targets
    || object.spec.targets.size() <= 64 && object.spec.targets.all(target, target in oldObject.spec.targets))
# Parts of the messages.
- name: mayNot
  expression: "'user ' + request.userInfo.username + ' may not '"
- name: here
  expression: "' in namespace ' + request.namespace"
{{- end }}

{{- /*
CEL: the groups of kinds, and their resources by the rule of plurals (guessResource in src/core/progress.ts). A kind without apiVersion is well known.
*/ -}}
{{- define "controller-resilience.kindVariables" -}}
- name: groups
  expression: >-
    variables.newKinds.map(one, !has(one.apiVersion)
    ? {{ .Files.Get "files/known-kinds.yaml" | fromYaml | toJson }}[one.kind]
    : one.apiVersion.contains('/') ? one.apiVersion.split('/')[0] : '')
- name: resources
  expression: >-
    variables.newKinds.map(one, one.kind.lowerAscii()).map(name, name.endsWith('endpoints') ? name
    : name.matches('(s|x|ch|sh)$') ? name + 'es'
    : name.matches('[^aeiou]y$') ? name.substring(0, name.size() - 1) + 'ies' : name + 's')
{{- end }}

{{- /* Checks that the author may list each of the kinds, in all namespaces; the argument is the path of the list. */ -}}
{{- define "controller-resilience.kindValidations" -}}
{{- range $i := until 8 }}
- expression: >-
    variables.newKinds.size() <= {{ $i }}
    || authorizer.group(variables.groups[{{ $i }}]).resource(variables.resources[{{ $i }}]).check('list').allowed()
  messageExpression: >-
    variables.mayNot + 'list ' + variables.resources[{{ $i }}] + (variables.groups[{{ $i }}] == '' ? '' : '.' + variables.groups[{{ $i }}])
    + ' in all namespaces, and {{ $ }} would have the operator do it'
  reason: Forbidden
{{- end }}
{{- end }}

{{- /* What the rules of a role allow so that its holder can take more rights, as in src/remedies/binding-renewal/role.ts; empty if nothing does. */ -}}
{{- define "controller-resilience.excess" -}}
{{- $found := list }}
{{- $powers := list
  (list "rbac.authorization.k8s.io" (list "roles" "clusterroles") (list "escalate" "bind"))
  (list "" (list "users" "groups") (list "impersonate"))
  (list "authentication.k8s.io" (list "users" "groups" "serviceaccounts" "nodes") (list "*"))
}}
{{- range . }}
  {{- $groups := .apiGroups | default list }}
  {{- $verbs := .verbs | default list }}
  {{- $resources := .resources | default list }}
  {{- range $power := $powers }}
    {{- range $resource := index $power 1 }}
      {{- range $verb := index $power 2 }}
        {{- if and (or (has "*" $groups) (has (index $power 0) $groups)) (or (has "*" $verbs) (has $verb $verbs)) (or (has "*" $resources) (has $resource $resources)) }}
          {{- $found = append $found (printf "%s %s" $verb $resource) }}
        {{- end }}
      {{- end }}
    {{- end }}
  {{- end }}
  {{- range $verb := $verbs }}
    {{- if or (hasPrefix "impersonate:" $verb) (hasPrefix "impersonate-on:" $verb) }}
      {{- $found = append $found (printf "%s %s" $verb (join ", " $resources)) }}
    {{- end }}
  {{- end }}
  {{- if and (or (has "*" $groups) (has "" $groups)) $verbs (has "*" $resources) }}
    {{- $found = append $found (printf "%s all resources" (join ", " $verbs)) }}
  {{- end }}
{{- end }}
{{- with $found }}{{ first . }}{{ end }}
{{- end }}

{{/*
A volume with tokens of 10 to 15 minutes, the only ones of a pod. The kubelet replaces each when 80 % of its life is over. Their different lives spread
that over time: after a change of the signing key one of them is new, and accepted, usually within two minutes, up to eight after the pod's start.
*/}}
{{- define "controller-resilience.identity" -}}
- name: identity
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken: { path: token, expirationSeconds: 600 }
      - serviceAccountToken: { path: token-2, expirationSeconds: 641 }
      - serviceAccountToken: { path: token-3, expirationSeconds: 682 }
      - serviceAccountToken: { path: token-4, expirationSeconds: 723 }
      - serviceAccountToken: { path: token-5, expirationSeconds: 764 }
      - serviceAccountToken: { path: token-6, expirationSeconds: 805 }
      - serviceAccountToken: { path: token-7, expirationSeconds: 846 }
      - serviceAccountToken: { path: token-8, expirationSeconds: 887 }
      - configMap:
          name: kube-root-ca.crt
          items: [{ key: ca.crt, path: ca.crt }]
      - downwardAPI:
          items: [{ path: namespace, fieldRef: { fieldPath: metadata.namespace } }]
{{- end }}

{{/* User and group of the image, and what else the Pod Security level `restricted` requires of a pod. */}}
{{- define "controller-resilience.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* What it requires of a container. */}}
{{- define "controller-resilience.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}
