{{- /* The values of a part, whole: what `scheduler` leaves empty stands under `controllers`. */ -}}
{{- define "bridge.own" -}}
{{- $own := deepCopy (index .root.Values .part) -}}
{{- if eq .part "scheduler" -}}
{{- $other := .root.Values.controllers -}}
{{- range $key := list "priorityClassName" "tolerations" "verbosity" -}}
{{- $_ := set $own $key (index $own $key | default (index $other $key)) -}}
{{- end -}}
{{- range $key := list "resources" "nodeSelector" "affinity" -}}
{{- $_ := set $own $key (mergeOverwrite (deepCopy (index $other $key | default dict)) (index $own $key | default dict)) -}}
{{- end -}}
{{- $_ := set $own "replicas" (max $own.replicaCount $other.replicas) -}}
{{- if not $own.pdb.enabled -}}{{- $_ := set $own "pdb" $other.pdb -}}{{- end -}}
{{- end -}}
{{- toJson $own -}}
{{- end -}}

{{- /* An image reference from a string or {repository, tag, digest}. */ -}}
{{- define "bridge.image" -}}
{{- $image := (index .root.Values .part).image -}}
{{- if or (not $image) (and (kindIs "map" $image) (not $image.repository)) -}}
{{- $image = .root.Values.scheduler.image -}}
{{- end -}}
{{- if kindIs "string" $image -}}
{{- $image -}}
{{- else if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository ($image.tag | default .root.Chart.AppVersion | toString) -}}
{{- end -}}
{{- end -}}

{{- define "bridge.pullPolicy" -}}
{{- $image := (index .root.Values .part).image -}}
{{- if kindIs "map" $image -}}{{- $image.pullPolicy | default "IfNotPresent" -}}{{- else -}}IfNotPresent{{- end -}}
{{- end -}}

{{- define "bridge.logging" -}}
{{- $level := .verbosity | default 0 | toString -}}
{{- if regexMatch "^[0-9]+$" $level -}}{{- $level = eq $level "0" | ternary "info" "debug" -}}{{- end -}}
{{- list (printf "--log-level=%s" $level) (printf "--log-format=%s" .logFormat) | toJson -}}
{{- end -}}

{{- /* The pods of a part: root, part, args; env, ports, mounts and volumes where it has more. */ -}}
{{- define "bridge.podTemplate" -}}
{{- $own := include "bridge.own" . | fromJson -}}
{{- $notes := dict "kubectl.kubernetes.io/default-container" .part "checksum/config" (include "bridge.config" .root | sha256sum) -}}
metadata:
  labels:
    {{- merge (dict) (include "bridge.selector" . | fromYaml) ($own.podLabels | default dict) | toYaml | nindent 4 }}
  annotations:
    {{- merge $notes ($own.podAnnotations | default dict) | toYaml | nindent 4 }}
spec:
  serviceAccountName: {{ include "bridge.serviceAccount" . }}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext: {{- toYaml $own.podSecurityContext | nindent 4 }}
  containers:
    - name: {{ .part }}
      image: {{ include "bridge.image" . }}
      imagePullPolicy: {{ include "bridge.pullPolicy" . }}
      args: {{- toYaml .args | nindent 8 }}
      env:
        - name: POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        {{- with .env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - {name: health, containerPort: {{ $own.healthPort }}, protocol: TCP}
        {{- with .ports }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      livenessProbe:
        httpGet: {path: /healthz, port: health}
        initialDelaySeconds: 15
        periodSeconds: 20
        timeoutSeconds: 5
      readinessProbe:
        httpGet: {path: /readyz, port: health}
        periodSeconds: 5
        timeoutSeconds: 5
      securityContext: {{- toYaml $own.securityContext | nindent 8 }}
      resources: {{- toYaml $own.resources | nindent 8 }}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        - {name: config, mountPath: /etc/slurm-bridge, readOnly: true}
        {{- with .mounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - {name: tmp, emptyDir: {}}
    - {name: config, configMap: {name: {{ include "bridge.fullname" .root }}}}
    {{- with .volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $own.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
  {{- with $own.topologySpreadConstraints }}
    {{- toYaml . | nindent 4 }}
  {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "bridge.selector" . | nindent 10 }}
  {{- end }}
{{- end -}}

{{- define "bridge.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "bridge.partName" . }}
  namespace: {{ include "bridge.namespace" .root }}
  labels: {{- include "bridge.labels" . | nindent 4 }}
spec:
  replicas: {{ (include "bridge.own" . | fromJson).replicas }}
  revisionHistoryLimit: 3
  selector:
    matchLabels: {{- include "bridge.selector" . | nindent 6 }}
  template: {{- include "bridge.podTemplate" . | nindent 4 }}
{{- end -}}

{{- define "bridge.serviceAccountObject" -}}
{{- $account := (index .root.Values .part).serviceAccount -}}
{{- if $account.create }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "bridge.serviceAccount" . }}
  namespace: {{ include "bridge.namespace" .root }}
  labels: {{- include "bridge.labels" . | nindent 4 }}
  {{- with $account.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end -}}

{{- /* A budget only where a pod can be spared, and never both bounds: the server refuses that. */ -}}
{{- define "bridge.budget" -}}
{{- $own := include "bridge.own" . | fromJson -}}
{{- if and $own.pdb.enabled (gt (int $own.replicas) 1) }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "bridge.partName" . }}
  namespace: {{ include "bridge.namespace" .root }}
  labels: {{- include "bridge.labels" . | nindent 4 }}
spec:
  {{- if not (kindIs "invalid" $own.pdb.maxUnavailable) }}
  maxUnavailable: {{ $own.pdb.maxUnavailable }}
  {{- else }}
  minAvailable: {{ $own.pdb.minAvailable }}
  {{- end }}
  selector:
    matchLabels: {{- include "bridge.selector" . | nindent 6 }}
{{- end }}
{{- end -}}

{{- /* Binds the roles of a part: root, part, kind, name. */ -}}
{{- define "bridge.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}
  {{- if eq .kind "Role" }}
  namespace: {{ include "bridge.namespace" .root }}
  {{- end }}
  labels: {{- include "bridge.labels" . | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: {{ .kind }}, name: {{ .name }}}
subjects:
  - {kind: ServiceAccount, name: {{ include "bridge.serviceAccount" . }}, namespace: {{ include "bridge.namespace" .root }}}
{{- end -}}
