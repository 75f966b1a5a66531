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
env:
  - name: CONTENTLOG_EVENT_STORE_URL
    valueFrom: {secretKeyRef: {name: {{ .Values.databaseSecret }}, key: event-store-url}}
  - name: CONTENTLOG_READ_MODEL_URL
    valueFrom: {secretKeyRef: {name: {{ .Values.databaseSecret }}, key: read-model-url}}
  {{- range $name, $value := .Values.settings }}
  - {name: {{ $name }}, value: {{ $value | quote }}}
  {{- end }}
{{- end }}
