{{/* One name for all, whatever the release is called: there is one operator in a cluster, so two never share its rights. */}}
{{- define "controller-resilience.name" -}}
controller-resilience
{{- end }}

{{/* What the pods are known by; never changes, since a Deployment's selector can't. */}}
{{- define "controller-resilience.selectorLabels" -}}
app.kubernetes.io/name: controller-resilience
{{- end }}

{{/* Of every object. Helm adds app.kubernetes.io/managed-by by itself. */}}
{{- define "controller-resilience.labels" -}}
{{ include "controller-resilience.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{/* metadata of a cluster-scoped object: name and labels. */}}
{{- define "controller-resilience.metadata" -}}
name: {{ include "controller-resilience.name" . }}
labels:
  {{- include "controller-resilience.labels" . | nindent 2 }}
{{- end }}

{{/* The same in the operator's namespace. */}}
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

{{/* The image, by digest if one is given. */}}
{{- define "controller-resilience.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}
