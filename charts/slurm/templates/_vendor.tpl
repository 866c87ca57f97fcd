{{- /* GPU jobs are made known to dcgm-exporter: the folder it reads is mounted where GPUs are. */ -}}
{{- define "slurm.dcgm" -}}
{{- $set := deepCopy .set -}}
{{- $dcgm := .root.Values.vendor.nvidia.dcgm -}}
{{- $resources := $set.slurmd.resources | default dict -}}
{{- $gpus := or (dig "limits" "nvidia.com/gpu" "" $resources) (dig "requests" "nvidia.com/gpu" "" $resources) -}}
{{- if and $dcgm.enabled $gpus -}}
{{- $volume := dict "name" "dcgm-job-mapping" "hostPath" (dict "path" $dcgm.jobMappingDir "type" "DirectoryOrCreate") -}}
{{- $mount := dict "name" "dcgm-job-mapping" "mountPath" $dcgm.jobMappingDir -}}
{{- $_ := set $set.podSpec "volumes" (include "slurm.withNamed" (dict "given" $set.podSpec.volumes "added" (list $volume)) | fromJsonArray) -}}
{{- $_ := set $set.slurmd "volumeMounts" (include "slurm.withNamed" (dict "given" $set.slurmd.volumeMounts "added" (list $mount)) | fromJsonArray) -}}
{{- end -}}
{{- toJson $set -}}
{{- end -}}

{{- /* All A3 items, each with its machine. Slinky 1.2 had one map {enabled, targetNodeSets, ...}
       where later versions have a list of {targetNodeSet, ...}. */ -}}
{{- define "slurm.googleItems" -}}
{{- $items := list -}}
{{- range $machine := list "a3mega" "a3ultra" -}}
{{- $given := index $.Values.vendor.google $machine -}}
{{- if kindIs "map" $given -}}
{{- if $given.enabled -}}
{{- range $given.targetNodeSets -}}
{{- $items = append $items (dict "machine" $machine "targetNodeSet" . "nodePool" $given.nodePool "networks" $given.networks) -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- range $given -}}{{- $items = append $items (merge (dict "machine" $machine) .) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $items -}}
{{- end -}}

{{- /* A nodeset as Google's A3 machines need it: root, key, set. */ -}}
{{- define "slurm.google" -}}
{{- $set := .set -}}
{{- $key := .key -}}
{{- $root := .root -}}
{{- range include "slurm.googleItems" .root | fromJsonArray -}}
{{- if eq .targetNodeSet $key -}}
{{- if ne (len .networks) 9 -}}
{{- fail (printf "vendor.google.%s: nodeset %q needs exactly 9 networks, and has %d" .machine $key (len .networks)) -}}
{{- end -}}
{{- if and (eq .machine "a3mega") (not $root.Values.vendor.google.tcpxoImage) -}}
{{- fail "vendor.google.a3mega needs vendor.google.tcpxoImage: the image of the GPUDirect-TCPXO daemon" -}}
{{- end -}}
{{- $patch := tpl ($root.Files.Get (printf "files/%s.yaml" .machine)) (merge (dict "item" .) $root) | fromYaml -}}
{{- $slurmd := $patch.slurmd -}}
{{- $podSpec := $patch.podSpec -}}
{{- range $list := list "env" "volumeMounts" -}}
{{- $_ := set $slurmd $list (include "slurm.withNamed" (dict "given" (index $set.slurmd $list) "added" (index $slurmd $list)) | fromJsonArray) -}}
{{- end -}}
{{- range $list := list "volumes" "containers" -}}
{{- $_ := set $podSpec $list (include "slurm.withNamed" (dict "given" (index $set.podSpec $list) "added" (index $podSpec $list)) | fromJsonArray) -}}
{{- end -}}
{{- $set = mergeOverwrite $set $patch -}}
{{- end -}}
{{- end -}}
{{- toJson $set -}}
{{- end -}}
