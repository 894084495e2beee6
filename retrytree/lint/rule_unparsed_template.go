package lint

import (
	"github.com/relplan/relplan/internal/diag"
)

// unparsedTemplate is rule 53.
var unparsedTemplate = &Rule{
	Number: 53,
	Code:   "unparsed-template",
	Title:  "A template: its numbers are not known before it is rendered",
	Text:   `Helm, Jinja and kustomize make the file that counts. A template is never guessed at: render it, and read the result.`,
	Before: []Source{
		{Name: "vs.yaml", Text: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: {{ .Release.Name }}
spec:
  http:
  - retries:
      attempts: {{ .Values.retries | default 5 }}
`},
	},
	After: []Source{
		{Name: "vs.yaml", Text: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: a, namespace: shop}
spec:
  hosts: [a]
  http:
  - match: [{uri: {prefix: /}, method: {exact: GET}}]
    route: [{destination: {host: a}}]
    timeout: 10s
    retries: {attempts: 2, perTryTimeout: 2s, retryOn: "gateway-error,reset,connect-failure"}
`},
	},
	Severity: diag.Error,
	Run:      fromFacts,
}
