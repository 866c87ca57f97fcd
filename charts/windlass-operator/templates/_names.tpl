{{- define "windlass.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "windlass.fullname" -}}
{{- $name := include "windlass.name" . -}}
{{- $release := .Release.Name -}}
{{- if not (contains $name $release) -}}{{- $release = printf "%s-%s" $release $name -}}{{- end -}}
{{- .Values.fullnameOverride | default $release | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "windlass.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- /* What Deployments and Services find pods by; `part` is "operator" or "webhook". */ -}}
{{- define "windlass.selector" -}}
app.kubernetes.io/name: {{ include "windlass.name" .root }}{{ if eq .part "webhook" }}-webhook{{ end }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}

{{- define "windlass.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: windlass
{{ include "windlass.selector" . }}
{{- end -}}

{{- /* Deployment, Service, budget and roles of a part. */ -}}
{{- define "windlass.partName" -}}
{{- include "windlass.fullname" .root }}{{ if eq .part "webhook" }}-webhook{{ end }}
{{- end -}}

{{- define "windlass.serviceAccount" -}}
{{- $account := (index .root.Values .part).serviceAccount -}}
{{- if $account.create -}}
{{- $account.name | default (include "windlass.partName" .) -}}
{{- else -}}
{{- $account.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "windlass.certificateSecret" -}}
{{- .Values.certManager.secretName | default (printf "%s-webhook-ca" (include "windlass.fullname" .)) -}}
{{- end -}}

{{- /* A comma-separated list from "a, b" or [a, b]. */ -}}
{{- define "windlass.commaList" -}}
{{- $words := list -}}
{{- range (kindIs "string" . | ternary (splitList "," (toString .)) .) -}}
{{- with trim . -}}{{- $words = append $words . -}}{{- end -}}
{{- end -}}
{{- join "," (uniq $words) -}}
{{- end -}}

{{- define "windlass.namespaces" -}}
{{- include "windlass.commaList" (.Values.operator.namespaces | default "") -}}
{{- end -}}

{{- define "windlass.webhookNamespaces" -}}
{{- include "windlass.commaList" (.Values.webhook.namespaces | default .Values.operator.namespaces | default "") -}}
{{- end -}}
