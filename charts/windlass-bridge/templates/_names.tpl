{{- define "bridge.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "bridge.fullname" -}}
{{- $name := include "bridge.name" . -}}
{{- $release := .Release.Name -}}
{{- if not (contains $name $release) -}}{{- $release = printf "%s-%s" $release $name -}}{{- end -}}
{{- .Values.fullnameOverride | default $release | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "bridge.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- /* What Deployments and Services find pods by; `part` is "scheduler" or "admission". */ -}}
{{- define "bridge.selector" -}}
app.kubernetes.io/name: {{ include "bridge.name" .root }}{{ if eq .part "admission" }}-admission{{ end }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}

{{- define "bridge.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: windlass
{{ include "bridge.selector" . }}
{{- end -}}

{{- /* Deployment, Service, budget and roles of a part. */ -}}
{{- define "bridge.partName" -}}
{{- include "bridge.fullname" .root }}{{ if eq .part "admission" }}-admission{{ end }}
{{- end -}}

{{- define "bridge.serviceAccount" -}}
{{- $account := (index .root.Values .part).serviceAccount -}}
{{- if $account.create -}}
{{- $account.name | default (include "bridge.partName" .) -}}
{{- else -}}
{{- $account.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- /* As whom the bridge writes on pods. */ -}}
{{- define "bridge.user" -}}
{{- printf "system:serviceaccount:%s:%s" (include "bridge.namespace" .) (include "bridge.serviceAccount" (dict "root" . "part" "scheduler")) -}}
{{- end -}}

{{- define "bridge.certificateSecret" -}}
{{- .Values.admission.certManager.secretName | default (printf "%s-admission" (include "bridge.fullname" .)) -}}
{{- end -}}
