package retryconfig

import (
	"strings"
	"testing"
)

const (
	linkRoute = `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: pay, namespace: shop}
spec:
  hosts: [pay]
  http:
  - match: [{method: {exact: GET}}]
    timeout: 5s
    route: [{destination: {host: pay}}]
`
	linkRule = `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: pay, namespace: shop}
spec:
  host: pay.shop.svc.cluster.local
  trafficPolicy:
    connectionPool: {http: {maxRetries: 7}}
    outlierDetection: {consecutive5xxErrors: 5}
    loadBalancer: {consistentHash: {httpHeaderName: x}}
`
	linkMesh = `apiVersion: v1
kind: ConfigMap
metadata: {name: istio, namespace: istio-system}
data:
  mesh: |-
    defaultHttpRetryPolicy: {attempts: 4, perTryTimeout: 500ms, retryOn: "5xx"}
`
)

// TestIstioFilesOfAFolder: the mesh configuration and the DestinationRule of the same
// folder hold for a route, those of another folder are named and not applied.
func TestIstioFilesOfAFolder(t *testing.T) {
	route := func(files []*File) (*File, *Hop) {
		for _, f := range files {
			if h := f.Hop("shop/pay#0"); h != nil {
				return f, h
			}
		}
		t.Fatal("the route is not read")
		return nil, nil
	}
	f, h := route(readFolder(t, map[string]string{"vs.yaml": linkRoute, "dr.yaml": linkRule, "mesh.yaml": linkMesh}))
	notes := strings.Join(append(h.Notes, h.Hidden...), "\n")
	if h.AttemptsText() != "5" || textOr(h.PerTry) != "500ms" || textOr(h.Overall) != "5s" || textOr(h.Slow) != "5" || h.Default {
		t.Errorf("attempts %s, one %s, call %s, slow %s", h.AttemptsText(), textOr(h.PerTry), textOr(h.Overall), textOr(h.Slow))
	}
	if h.Budget == nil || h.Budget.Concurrency != 7 {
		t.Errorf("budget %+v", h.Budget)
	}
	for _, want := range []string{"at most 7 at once", "outlierDetection", "mesh configuration in mesh.yaml"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note has %q:\n%s", want, notes)
		}
	}
	for _, x := range f.Facts {
		if x.Rule == "implicit-default-retry" {
			t.Error("still called a default that nobody wrote")
		}
	}

	_, h = route(readFolder(t, map[string]string{"vs.yaml": linkRoute, "other/dr.yaml": linkRule, "other/mesh.yaml": linkMesh}))
	notes = strings.Join(h.Notes, "\n")
	if h.AttemptsText() != "3" || h.Budget != nil || strings.Count(notes, "not taken into account") != 2 {
		t.Errorf("attempts %s, budget %v, notes:\n%s", h.AttemptsText(), h.Budget, notes)
	}

	_, h = route(readFolder(t, map[string]string{"vs.yaml": linkRoute, "a.yaml": linkRule, "b.yaml": linkRule, "m1.yaml": linkMesh, "m2.yaml": linkMesh}))
	if notes = strings.Join(h.Notes, "\n"); h.AttemptsText() != "3" || h.Budget != nil || strings.Count(notes, "none is taken into account") != 2 {
		t.Errorf("two of each: attempts %s, budget %v, notes:\n%s", h.AttemptsText(), h.Budget, notes)
	}
}

// TestIstioOff: a mesh configuration that switches retries off.
func TestIstioOff(t *testing.T) {
	off := "meshConfig:\n  defaultHttpRetryPolicy: {attempts: 0}\n"
	for _, f := range readFolder(t, map[string]string{"vs.yaml": linkRoute, "values.yaml": off}) {
		if h := f.Hop("shop/pay#0"); h != nil && (h.AttemptsText() != "1" || len(f.Facts) > 0) {
			t.Errorf("attempts %s, facts %v", h.AttemptsText(), f.Facts)
		}
	}
}
