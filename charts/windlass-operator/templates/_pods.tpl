{{- /* An image reference from a string or {repository, tag, digest}; no tag: `tag`. */ -}}
{{- define "windlass.image" -}}
{{- if kindIs "string" .image -}}
{{- .image -}}
{{- else if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (.image.tag | default .tag | toString) -}}
{{- end -}}
{{- end -}}

{{- define "windlass.partImage" -}}
{{- $image := (index .root.Values .part).image -}}
{{- if or (not $image) (and (kindIs "map" $image) (not $image.repository)) -}}
{{- $image = .root.Values.operator.image -}}
{{- end -}}
{{- include "windlass.image" (dict "image" $image "tag" .root.Chart.AppVersion) -}}
{{- end -}}

{{- define "windlass.logLevel" -}}
{{- $level := . | toString -}}
{{- if regexMatch "^[0-9]+$" $level -}}
{{- eq $level "0" | ternary "info" "debug" -}}
{{- else -}}
{{- $level -}}
{{- end -}}
{{- end -}}

{{- /* The pods of a part: root, part, args; ports and volumes where it has more. */ -}}
{{- define "windlass.podTemplate" -}}
{{- $own := index .root.Values .part -}}
metadata:
  labels:
    {{- merge (dict) (include "windlass.selector" . | fromYaml) $own.podLabels | toYaml | nindent 4 }}
  annotations:
    {{- merge (dict "kubectl.kubernetes.io/default-container" .part) $own.podAnnotations | toYaml | nindent 4 }}
spec:
  serviceAccountName: {{ include "windlass.serviceAccount" . }}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext: {{- toYaml $own.podSecurityContext | nindent 4 }}
  containers:
    - name: {{ .part }}
      image: {{ include "windlass.partImage" . }}
      imagePullPolicy: {{ $own.imagePullPolicy | default .root.Values.imagePullPolicy }}
      args: {{- toYaml .args | nindent 8 }}
      env:
        - name: POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - name: POD_NAMESPACE
          valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
      ports:
        - {name: health, containerPort: {{ $own.healthPort }}, protocol: TCP}
        {{- if $own.metricsSecure }}
        - {name: metrics, containerPort: 8443, protocol: TCP}
        {{- end }}
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
        {{- with .mounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - {name: tmp, emptyDir: {}}
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
        matchLabels: {{- include "windlass.selector" . | nindent 10 }}
  {{- end }}
{{- end -}}

{{- define "windlass.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "windlass.partName" . }}
  namespace: {{ include "windlass.namespace" .root }}
  labels: {{- include "windlass.labels" . | nindent 4 }}
spec:
  replicas: {{ (index .root.Values .part).replicas }}
  revisionHistoryLimit: 3
  selector:
    matchLabels: {{- include "windlass.selector" . | nindent 6 }}
  template: {{- include "windlass.podTemplate" . | nindent 4 }}
{{- end -}}

{{- define "windlass.serviceAccountObject" -}}
{{- $account := (index .root.Values .part).serviceAccount -}}
{{- if $account.create }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "windlass.serviceAccount" . }}
  namespace: {{ include "windlass.namespace" .root }}
  labels: {{- include "windlass.labels" . | nindent 4 }}
  {{- with $account.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end -}}

{{- /* A budget only where a pod can be spared, and never both bounds: the server refuses that. */ -}}
{{- define "windlass.budget" -}}
{{- $own := index .root.Values .part -}}
{{- if and $own.enabled $own.pdb.enabled (gt (int $own.replicas) 1) }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "windlass.partName" . }}
  namespace: {{ include "windlass.namespace" .root }}
  labels: {{- include "windlass.labels" . | nindent 4 }}
spec:
  {{- if not (kindIs "invalid" $own.pdb.maxUnavailable) }}
  maxUnavailable: {{ $own.pdb.maxUnavailable }}
  {{- else }}
  minAvailable: {{ $own.pdb.minAvailable }}
  {{- end }}
  selector:
    matchLabels: {{- include "windlass.selector" . | nindent 6 }}
{{- end }}
{{- end -}}
