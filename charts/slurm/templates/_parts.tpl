{{- /* A map without what says nothing: null, "", [] and {}. The operator takes an explicit empty
       value at its word; one that stands in values.yaml as an example means nothing. */ -}}
{{- define "slurm.pruned" -}}
{{- $kept := dict -}}
{{- range $key, $value := . -}}
{{- $bare := and (or (kindIs "map" $value) (kindIs "slice" $value) (kindIs "string" $value)) (not $value) -}}
{{- if not (or (kindIs "invalid" $value) $bare) -}}{{- $_ := set $kept $key $value -}}{{- end -}}
{{- end -}}
{{- toJson $kept -}}
{{- end -}}

{{- /* An image reference from a string or {repository, tag, digest}; nothing from nothing. */ -}}
{{- define "slurm.image" -}}
{{- if kindIs "map" . -}}
{{- if not .repository -}}
{{- else if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else if .tag -}}
{{- printf "%s:%s" .repository (kindIs "string" .tag | ternary .tag (toJson .tag)) -}}
{{- else -}}
{{- .repository -}}
{{- end -}}
{{- else -}}
{{- . | default "" -}}
{{- end -}}
{{- end -}}

{{- /* A container: root, container. */ -}}
{{- define "slurm.container" -}}
{{- $container := deepCopy (.container | default dict) -}}
{{- $_ := set $container "image" (include "slurm.image" $container.image) -}}
{{- $_ := set $container "imagePullPolicy" ($container.imagePullPolicy | default .root.Values.imagePullPolicy) -}}
{{- include "slurm.pruned" $container -}}
{{- end -}}

{{- define "slurm.priorityClass" -}}
{{- if .Values.priorityClass.enabled -}}{{- .Values.priorityClass.name -}}{{- end -}}
{{- end -}}

{{- /* A pod template: root, metadata, podSpec. */ -}}
{{- define "slurm.podTemplate" -}}
{{- $spec := deepCopy (.podSpec | default dict) -}}
{{- $_ := set $spec "imagePullSecrets" (concat ($spec.imagePullSecrets | default list) (.root.Values.imagePullSecrets | default list) | uniq) -}}
{{- $_ := set $spec "priorityClassName" ($spec.priorityClassName | default (include "slurm.priorityClass" .root)) -}}
{{- $metadata := include "slurm.pruned" (.metadata | default dict) | fromJson -}}
{{- include "slurm.pruned" (dict "metadata" $metadata "spec" (include "slurm.pruned" $spec | fromJson)) -}}
{{- end -}}

{{- /* A Service before a daemon. */ -}}
{{- define "slurm.service" -}}
{{- $service := deepCopy (. | default dict) -}}
{{- with $service.metadata -}}{{- $_ := set $service "metadata" (include "slurm.pruned" . | fromJson) -}}{{- end -}}
{{- include "slurm.pruned" $service -}}
{{- end -}}

{{- /* A value as Slurm writes it: lists by commas, yes and no as words, numbers with all digits. */ -}}
{{- define "slurm.value" -}}
{{- if kindIs "slice" . -}}
{{- $words := list -}}
{{- range . -}}{{- $words = append $words (include "slurm.value" .) -}}{{- end -}}
{{- join "," $words -}}
{{- else if kindIs "bool" . -}}
{{- ternary "YES" "NO" . -}}
{{- else if kindIs "string" . -}}
{{- . -}}
{{- else -}}
{{- toJson . -}}
{{- end -}}
{{- end -}}

{{- /* Key=Value words: text, map, separator. The text wins; what is empty is left out. */ -}}
{{- define "slurm.conf" -}}
{{- if .text -}}
{{- .text | trim -}}
{{- else -}}
{{- $words := list -}}
{{- range $key, $value := .map | default dict -}}
{{- with include "slurm.value" $value -}}
{{- if ne . "null" -}}{{- $words = append $words (printf "%s=%s" $key .) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- join .separator $words -}}
{{- end -}}
{{- end -}}

{{- /* A claim's spec; a class of "-" or "" means that nothing is provisioned. */ -}}
{{- define "slurm.claim" -}}
{{- $claim := omit . "enabled" "existingClaim" "retentionPolicy" "storageClassName" -}}
{{- $spec := include "slurm.pruned" $claim | fromJson -}}
{{- if kindIs "string" .storageClassName -}}
{{- $_ := set $spec "storageClassName" (eq .storageClassName "-" | ternary "" .storageClassName) -}}
{{- end -}}
{{- toJson $spec -}}
{{- end -}}

{{- /* Lists of named things with ours added, where the user has none of that name. */ -}}
{{- define "slurm.withNamed" -}}
{{- $names := list -}}
{{- range .given -}}{{- $names = append $names .name -}}{{- end -}}
{{- $all := .given | default list -}}
{{- range .added -}}{{- if not (has .name $names) -}}{{- $all = append $all . -}}{{- end -}}{{- end -}}
{{- toJson $all -}}
{{- end -}}
