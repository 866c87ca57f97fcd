{{- /* The four sorts of scripts: values key -> prefix of file and ConfigMap. */ -}}
{{- define "slurm.scriptSorts" -}}
prologScripts: prolog
epilogScripts: epilog
prologSlurmctldScripts: prolog-slurmctld
epilogSlurmctldScripts: epilog-slurmctld
{{- end -}}

{{- /* The files of one sort, named with their prefix: root, key, prefix. */ -}}
{{- define "slurm.scripts" -}}
{{- $files := dict -}}
{{- range $name, $text := index .root.Values .key -}}{{- $_ := set $files (printf "%s-%s" $.prefix $name) $text -}}{{- end -}}
{{- $dcgm := .root.Values.vendor.nvidia.dcgm -}}
{{- if and $dcgm.enabled (has .prefix (list "prolog" "epilog")) -}}
{{- $text := .root.Files.Get (printf "files/dcgm-%s.sh" .prefix) | replace "@JOB_MAPPING_DIR@" $dcgm.jobMappingDir -}}
{{- $_ := set $files (printf "%s-%s-dcgm.sh" .prefix (toString $dcgm.scriptPriority)) $text -}}
{{- end -}}
{{- toJson $files -}}
{{- end -}}

{{- /* References for the Controller: root, key, prefix. */ -}}
{{- define "slurm.scriptRefs" -}}
{{- $refs := list -}}
{{- if include "slurm.scripts" . | fromJson -}}
{{- $refs = append $refs (dict "name" (printf "%s-%s" (include "slurm.fullname" .root) .prefix)) -}}
{{- end -}}
{{- range index .root.Values (printf "%sRefs" (trimSuffix "s" .key)) -}}
{{- $refs = append $refs (kindIs "string" . | ternary (dict "name" (toString .)) .) -}}
{{- end -}}
{{- toJson $refs -}}
{{- end -}}
