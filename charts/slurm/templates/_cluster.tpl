{{- /* Whether the cluster gets the nodeset, loginset and partition to begin with. */ -}}
{{- define "slurm.starts" -}}
{{- if and .Values.starter.enabled (not .Values.nodesets) (not .Values.loginsets) (not .Values.controller.external) -}}true{{- end -}}
{{- end -}}

{{- /* The enabled nodesets, whole: defaults, what is given, and what a vendor's machines need. */ -}}
{{- define "slurm.nodesets" -}}
{{- $given := include "slurm.starts" . | empty | ternary .Values.nodesets (dict "slinky" .Values.starter.nodeset) -}}
{{- $sets := dict -}}
{{- range $key, $own := $given -}}
{{- $set := mergeOverwrite (deepCopy $.Values.nodesetDefaults) (deepCopy ($own | default dict)) -}}
{{- if $set.enabled -}}
{{- $set = include "slurm.google" (dict "root" $ "key" $key "set" $set) | fromJson -}}
{{- $set = include "slurm.dcgm" (dict "root" $ "set" $set) | fromJson -}}
{{- $_ := set $sets $key $set -}}
{{- end -}}
{{- end -}}
{{- toJson $sets -}}
{{- end -}}

{{- /* The enabled loginsets, whole. */ -}}
{{- define "slurm.loginsets" -}}
{{- $given := include "slurm.starts" . | empty | ternary .Values.loginsets (dict "slinky" .Values.starter.loginset) -}}
{{- $sets := dict -}}
{{- range $key, $own := $given -}}
{{- $set := mergeOverwrite (deepCopy $.Values.loginsetDefaults) (deepCopy ($own | default dict)) -}}
{{- if $set.enabled -}}{{- $_ := set $sets $key $set -}}{{- end -}}
{{- end -}}
{{- toJson $sets -}}
{{- end -}}

{{- /* A line of slurm.conf for each enabled partition. */ -}}
{{- define "slurm.partitions" -}}
{{- $nodesets := include "slurm.nodesets" . | fromJson -}}
{{- $lines := list -}}
{{- range $name, $partition := .Values.partitions -}}
{{- if or $partition.enabled (and (eq $name "all") (include "slurm.starts" $)) -}}
{{- if not $partition.nodesets -}}{{- fail (printf "partitions.%s.nodesets is empty: name nodesets, or ALL" $name) -}}{{- end -}}
{{- range $partition.nodesets -}}
{{- if not (or (eq . "ALL") (hasKey $nodesets .)) -}}
{{- fail (printf "partitions.%s.nodesets: there is no enabled nodeset %q" $name .) -}}
{{- end -}}
{{- end -}}
{{- $words := include "slurm.conf" (dict "text" $partition.config "map" $partition.configMap "separator" " ") -}}
{{- $lines = append $lines (printf "PartitionName=%s Nodes=%s %s" $name (join "," $partition.nodesets) $words | trim) -}}
{{- end -}}
{{- end -}}
{{- join "\n" $lines -}}
{{- end -}}

{{- /* The partition of the bridge, whose nodes come by a feature. */ -}}
{{- define "slurm.bridge" -}}
{{- $own := .Values.bridge -}}
{{- if $own.enabled -}}
{{- $name := $own.partition -}}
{{- if or (hasKey (include "slurm.nodesets" . | fromJson) $name) (hasKey .Values.partitions $name) -}}
{{- fail (printf "bridge.partition: there is a nodeset or partition %q already" $name) -}}
{{- end -}}
{{- $words := include "slurm.conf" (dict "text" $own.config "map" $own.configMap "separator" " ") -}}
{{- printf "NodeSet=%s Feature=%s\nPartitionName=%s Nodes=%s %s" $name $name $name $name $words | trim -}}
{{- end -}}
{{- end -}}

{{- /* Whether somebody needs sssd.conf, and where it is. */ -}}
{{- define "slurm.sssdNeeded" -}}
{{- $needed := include "slurm.loginsets" . | fromJson -}}
{{- range include "slurm.nodesets" . | fromJson -}}
{{- if .ssh.enabled -}}{{- $_ := set $needed "ssh" true -}}{{- end -}}
{{- end -}}
{{- if and $needed (or .Values.sssd.conf (dig "name" "" (.Values.sssd.secretRef | default dict))) -}}true{{- end -}}
{{- end -}}

{{- define "slurm.sssdRef" -}}
{{- $given := .Values.sssd.secretRef | default dict -}}
name: {{ $given.name | default (printf "%s-sssd-conf" (include "slurm.fullname" .)) }}
key: {{ $given.key | default "sssd.conf" }}
{{- end -}}

{{- /* Files beside slurm.conf: the user's, and gres.conf where a vendor's machines need one. */ -}}
{{- define "slurm.configFiles" -}}
{{- $files := deepCopy (.Values.configFiles | default dict) -}}
{{- if and (include "slurm.googleItems" . | fromJsonArray) (not (hasKey $files "gres.conf")) -}}
{{- $_ := set $files "gres.conf" "AutoDetect=nvidia\n" -}}
{{- end -}}
{{- toJson $files -}}
{{- end -}}
