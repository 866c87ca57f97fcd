{{- /* What the operator may do where the clusters are: in all namespaces, or in those chosen. */ -}}
{{- define "windlass.operatorRules" -}}
- apiGroups: [slinky.slurm.net]
  resources: [accountings, controllers, loginsets, nodesets, restapis, tokens]
  verbs: [get, list, watch]
# A NodeSet carries a finalizer while a reservation of its own is in Slurm.
- apiGroups: [slinky.slurm.net]
  resources: [nodesets]
  verbs: [patch]
- apiGroups: [slinky.slurm.net]
  resources:
    - accountings/status
    - controllers/status
    - loginsets/status
    - nodesets/status
    - restapis/status
    - tokens/status
  verbs: [patch]
# Some clusters demand this of whoever makes an object that its owner waits for.
- apiGroups: [slinky.slurm.net]
  resources:
    - accountings/finalizers
    - controllers/finalizers
    - loginsets/finalizers
    - nodesets/finalizers
    - restapis/finalizers
    - tokens/finalizers
  verbs: [update]
- apiGroups: [""]
  resources: [configmaps, persistentvolumeclaims, pods, secrets, services]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [pods/status]
  verbs: [patch]
- apiGroups: [apps]
  resources: [controllerrevisions, deployments, statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [monitoring.coreos.com]
  resources: [servicemonitors]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{- /* What the webhook looks up to judge a custom resource. */ -}}
{{- define "windlass.webhookRules" -}}
- apiGroups: [""]
  resources: [configmaps, persistentvolumeclaims]
  verbs: [get]
- apiGroups: [slinky.slurm.net]
  resources: [accountings]
  verbs: [get]
{{- if .Values.webhook.podsEviction }}
# That an eviction was asked for is written on the worker.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, patch]
- apiGroups: [slinky.slurm.net]
  resources: [nodesets]
  verbs: [get]
{{- else if .Values.webhook.podsBinding }}
- apiGroups: [""]
  resources: [pods]
  verbs: [get]
{{- end }}
{{- end -}}

{{- /* What belongs to no namespace, and the rest where no namespaces are chosen. */ -}}
{{- define "windlass.webhookClusterRules" -}}
{{- if not .Values.certManager.enabled }}
# Its own configuration and no other: the authority of its certificate is written there.
- apiGroups: [admissionregistration.k8s.io]
  resources: [validatingwebhookconfigurations{{ if .Values.webhook.podsBinding }}, mutatingwebhookconfigurations{{ end }}]
  resourceNames: [{{ include "windlass.partName" (dict "root" . "part" "webhook") }}]
  verbs: [get, patch]
{{- end }}
{{- if .Values.webhook.podsBinding }}
- apiGroups: [""]
  resources: [nodes]
  verbs: [get]
{{- end }}
{{- if .Values.webhook.metricsSecure }}
{{- include "windlass.reviewRules" . }}
{{- end }}
{{- if not (include "windlass.webhookNamespaces" .) }}
{{ include "windlass.webhookRules" . }}
{{- end }}
{{- end -}}

{{- /* To ask who scrapes, and whether he may. */ -}}
{{- define "windlass.reviewRules" }}
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end -}}
