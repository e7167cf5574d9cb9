{{/* Names and labels. Upstream's, so that selectors of dashboards and policies keep working. */}}
{{- define "karpenter.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "karpenter.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "karpenter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "karpenter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "karpenter.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "karpenter.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.additionalLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/*
The release with the usual name has upstream's names. Others have names of their own, so that two releases have room in
one namespace.
*/}}
{{- define "karpenter.factsName" -}}
{{- printf "%s-facts" (include "karpenter.fullname" .) }}
{{- end }}

{{- define "karpenter.loggingName" -}}
{{- $fullname := include "karpenter.fullname" . }}
{{- eq $fullname "karpenter" | ternary "config-logging" (printf "%s-config-logging" $fullname) }}
{{- end }}

{{/* The metadata that every object has, but for its name. */}}
{{- define "karpenter.metadata" -}}
labels:
  {{- include "karpenter.labels" . | nindent 2 }}
{{- with .Values.additionalAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* An observer writes no object and has no log level that changes, so it has no ConfigMap. */}}
{{- define "karpenter.logsByConfigMap" -}}
{{- and .Values.logConfig.enabled (not .Values.settings.observeOnly) }}
{{- end }}

{{- define "karpenter.serviceAccountName" -}}
{{- default (include "karpenter.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{- define "karpenter.image" -}}
{{- $image := .Values.controller.image }}
{{- if $image.digest }}
{{- printf "%s@%s" $image.repository $image.digest }}
{{- else }}
{{- printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) }}
{{- end }}
{{- end }}

{{/* Terms without a selector mean the controller's own pods. */}}
{{- define "karpenter.affinity" -}}
{{- $own := dict "matchLabels" (include "karpenter.selectorLabels" .root | fromYaml) }}
{{- $affinity := deepCopy (default dict .affinity) }}
{{- range $kind := list "podAffinity" "podAntiAffinity" }}
{{- range dig $kind "requiredDuringSchedulingIgnoredDuringExecution" list $affinity }}
{{- if not (hasKey . "labelSelector") }}{{ $_ := set . "labelSelector" $own }}{{ end }}
{{- end }}
{{- range dig $kind "preferredDuringSchedulingIgnoredDuringExecution" list $affinity }}
{{- if not (hasKey .podAffinityTerm "labelSelector") }}{{ $_ := set .podAffinityTerm "labelSelector" $own }}{{ end }}
{{- end }}
{{- end }}
{{- toYaml $affinity }}
{{- end }}

{{- define "karpenter.topologySpreadConstraints" -}}
{{- $own := dict "matchLabels" (include "karpenter.selectorLabels" . | fromYaml) }}
{{- $constraints := deepCopy .Values.topologySpreadConstraints }}
{{- range $constraints }}
{{- if not (hasKey . "labelSelector") }}{{ $_ := set . "labelSelector" $own }}{{ end }}
{{- end }}
{{- toYaml $constraints }}
{{- end }}

{{/* Settings in, `CapacityBuffer=false,Drift=true,…` out: each gate's key with a capital letter. */}}
{{- define "karpenter.featureGates" -}}
{{- if and .legacyNodeRepair .featureGates.terminateFirstRepair }}
{{- fail "settings.legacyNodeRepair deletes broken nodes at once: set settings.featureGates.terminateFirstRepair to false, or legacyNodeRepair" }}
{{- end }}
{{- $gates := list }}
{{- range $key, $on := .featureGates }}
{{- $name := printf "%s%s" (upper (substr 0 1 $key)) (substr 1 -1 $key) }}
{{- $gates = append $gates (printf "%s=%t" $name $on) }}
{{- end }}
{{- join "," $gates }}
{{- end }}

{{/*
Settings in; as YAML which gates of resource claims (DRA) are on, and whether claims are ignored. An open gate has them
planned, whatever ignoreDRARequests says.
*/}}
{{- define "karpenter.dra" -}}
{{- $settings := . }}
{{- if $settings.enableDRA }}
{{- range $name, $given := dict "awsFeatureGates.draNVIDIAGPU" $settings.awsFeatureGates.draNVIDIAGPU "awsFeatureGates.draEFA" $settings.awsFeatureGates.draEFA "ignoreDRARequests" $settings.ignoreDRARequests }}
{{- if not (kindIs "invalid" $given) }}
{{- fail (printf "settings.enableDRA is true and settings.%s is %v: enableDRA sets it; leave one of the two out" $name $given) }}
{{- end }}
{{- end }}
{{- end }}
{{- $gpu := or $settings.enableDRA $settings.awsFeatureGates.draNVIDIAGPU | default false }}
{{- $efa := or $settings.enableDRA $settings.awsFeatureGates.draEFA | default false }}
{{- $neuron := $settings.awsFeatureGates.draNeuron | default false }}
{{- $ignored := kindIs "invalid" $settings.ignoreDRARequests | ternary true $settings.ignoreDRARequests }}
gpu: {{ $gpu }}
efa: {{ $efa }}
neuron: {{ $neuron }}
ignored: {{ and $ignored (not (or $gpu $efa $neuron)) }}
{{- end }}

{{/* Name, value and the program's default in: the variable out, unless it says what goes without saying, or nothing. */}}
{{- define "karpenter.env" -}}
{{- $given := index . 1 }}
{{- if not (or (kindIs "invalid" $given) (eq (toString $given) (index . 2))) -}}
- name: {{ index . 0 }}
  value: {{ $given | toString | quote }}
{{- end }}
{{- end }}

{{/* The namespaces of moves without downtime, by comma; nothing when there are none. A timeout of no length turns them off, however it is written: 0, 0s, 0h0m0s. */}}
{{- define "karpenter.surges" -}}
{{- if not (regexMatch "^(0+[a-z]*)+$" (toString .Values.settings.surgeTimeout)) }}
{{- join "," .Values.settings.surgeNamespaces }}
{{- end }}
{{- end }}

{{/* Four fifths of a memory limit in Mi or Gi: what upstream's MEMORY_LIMIT is to Go. Nothing when the user says it. */}}
{{- define "karpenter.heapMegabytes" -}}
{{- $limit := dig "limits" "memory" "" (default dict .Values.controller.resources) | toString }}
{{- $named := list }}
{{- range .Values.controller.env }}{{ $named = append $named .name }}{{ end }}
{{- if and (regexMatch "^[0-9]+[MG]i$" $limit) (not (has "NODE_OPTIONS" $named)) }}
{{- $amount := regexFind "^[0-9]+" $limit | int64 }}
{{- if hasSuffix "Gi" $limit }}{{ $amount = mul $amount 1024 }}{{ end }}
{{- div (mul $amount 4) 5 }}
{{- end }}
{{- end }}
