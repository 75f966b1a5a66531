{{- define "labels" -}}
app.kubernetes.io/name: contentlog
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "security" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
automountServiceAccountToken: false
volumes:
  - name: tmp
    emptyDir: {sizeLimit: {{ .Values.temporaryFiles }}}
{{- end }}

{{- define "container" -}}
image: {{ .Values.image | quote }}
imagePullPolicy: {{ .Values.imagePullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
{{- with .Values.settingsSecret }}
envFrom:
  - secretRef: {name: {{ . }}}
{{- end }}
env:
  - name: CONTENTLOG_EVENT_STORE_URL
    valueFrom: {secretKeyRef: {name: {{ .Values.databaseSecret }}, key: event-store-url}}
  - name: CONTENTLOG_READ_MODEL{{ with .Values.readModel.name }}_{{ upper . }}{{ end }}_URL
    valueFrom: {secretKeyRef: {name: {{ .Values.databaseSecret }}, key: read-model-url}}
  {{- with .Values.readModel.name }}
  - {name: CONTENTLOG_READ_MODEL, value: {{ . | quote }}}
  {{- with $.Values.readModel.workspaces }}
  - {name: CONTENTLOG_READ_MODEL{{ print "_" (upper $.Values.readModel.name) }}_WORKSPACES, value: {{ join "," . | quote }}}
  {{- end }}
  {{- end }}
  {{- range $name, $value := .Values.settings }}
  - {name: {{ $name }}, value: {{ $value | quote }}}
  {{- end }}
{{- end }}
