{{- /* The two shared keys; `which` is "slurm" or "jwt". */ -}}
{{- define "slurm.keyValues" -}}
{{- toJson (eq .which "slurm" | ternary .root.Values.slurmKey .root.Values.jwtKey) -}}
{{- end -}}

{{- define "slurm.keyRef" -}}
{{- $given := (include "slurm.keyValues" . | fromJson).secretRef | default dict -}}
name: {{ $given.name | default (printf "%s-auth-%s" (include "slurm.fullname" .root) .which) }}
key: {{ $given.key | default (printf "%s.key" .which) }}
{{- end -}}

{{- /* Part of the cluster is elsewhere and has its keys already. */ -}}
{{- define "slurm.outside" -}}
{{- $accounting := .Values.accounting -}}
{{- if or .Values.controller.external (and $accounting.enabled $accounting.external) -}}true{{- end -}}
{{- end -}}

{{- /* The Secret in the cluster, if it came with this release (as Slinky's chart made it). */ -}}
{{- define "slurm.keptKey" -}}
{{- $ref := include "slurm.keyRef" . | fromYaml -}}
{{- $found := lookup "v1" "Secret" (include "slurm.namespace" .root) $ref.name | default dict -}}
{{- if eq (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $found) .root.Release.Name -}}
{{- toJson $found.data -}}
{{- end -}}
{{- end -}}

{{- /* Whether the chart has a Secret for this key: one with a name of its own, or one to keep. */ -}}
{{- define "slurm.keyFromChart" -}}
{{- $values := include "slurm.keyValues" . | fromJson -}}
{{- if and $values.create (not (include "slurm.outside" .root)) -}}
{{- if or (dig "name" "" ($values.secretRef | default dict)) (include "slurm.keptKey" .) -}}true{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Whether the resources name this key, instead of leaving it to the operator. */ -}}
{{- define "slurm.keyIsNamed" -}}
{{- $values := include "slurm.keyValues" . | fromJson -}}
{{- if or (not $values.create) (include "slurm.outside" .root) (include "slurm.keyFromChart" .) -}}true{{- end -}}
{{- end -}}

{{- /* The keys that a Controller or an Accounting names. */ -}}
{{- define "slurm.namedKeys" -}}
{{- $named := dict -}}
{{- range $which := list "slurm" "jwt" -}}
{{- $asked := dict "root" $ "which" $which -}}
{{- if include "slurm.keyIsNamed" $asked -}}
{{- $_ := set $named (printf "%sKeyRef" $which) (include "slurm.keyRef" $asked | fromYaml) -}}
{{- end -}}
{{- end -}}
{{- if .Values.jwksKeys.enabled -}}{{- $_ := set $named "jwksKeyRef" .Values.jwksKeys.configMapRef -}}{{- end -}}
{{- toJson $named -}}
{{- end -}}
