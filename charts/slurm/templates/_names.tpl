{{- define "slurm.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /* The Controller, the RestApi and the Accounting are called this. */ -}}
{{- define "slurm.fullname" -}}
{{- $name := include "slurm.name" . -}}
{{- $release := .Release.Name -}}
{{- if not (contains $name $release) -}}{{- $release = printf "%s-%s" $release $name -}}{{- end -}}
{{- .Values.fullnameOverride | default $release | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "slurm.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- /* No version of anything here: pods inherit labels, and an upgrade must not restart them. */ -}}
{{- define "slurm.labels" -}}
app.kubernetes.io/part-of: slurm
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- /* metadata of an object that goes with the cluster: root, name, and the user's metadata. */ -}}
{{- define "slurm.metadata" -}}
{{- $given := .metadata | default dict -}}
name: {{ .name }}
namespace: {{ include "slurm.namespace" .root }}
labels: {{- mergeOverwrite (include "slurm.labels" .root | fromYaml) ($given.labels | default dict) | toYaml | nindent 2 }}
{{- with $given.annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Which pod or Service another object has to find: name and instance, as the operator labels. */ -}}
{{- define "slurm.selector" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .instance }}
{{- end -}}
