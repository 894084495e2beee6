package retryconfig

import (
	"time"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// kongReader reads services of the declarative configuration, the KongIngress object
// and the annotations of a Kubernetes Service.
// Source: Kong services.lua schema (retries 5, timeouts 60000 ms).
var kongReader = &Reader{
	Name:    "kong",
	Title:   "Kong declarative configuration, KongIngress, Service annotations",
	Objects: []string{"_format_version", "KongIngress", "Service"},
	refusal: "the declarative file is refused",
	Samples: []Reading{{Setting: "services[].retries", Counts: "after the first", Name: "kong.yaml", Text: `_format_version: "3.0"
services:
- name: a
  url: http://a:80
  retries: @N@
`}},
	claims: func(d *doc) bool {
		return d.root.Has("_format_version") || d.is("configuration.konghq.com", "KongIngress") || d.kind == "Service" && hasPrefixKey(d.root.Get("metadata", "annotations"), konghq+"retries", konghq+"read-timeout")
	},
	read: func(in *input, own []*doc) {
		for _, d := range own {
			in.kongDoc(d)
		}
	},
}

const konghq = "konghq.com/"

func (in *input) kongDoc(d *doc) {
	switch d.kind {
	case "KongIngress":
		if p := d.root.Get("proxy"); p.Is(tree.Map) {
			in.kongService(in.hop("kong.KongIngress", d.id(), p.At()), p.Get, p)
		}
		return
	case "Service":
		an := d.root.Get("metadata", "annotations")
		rename := map[string]string{"retries": "retries", "connect_timeout": "connect-timeout", "write_timeout": "write-timeout", "read_timeout": "read-timeout"}
		h := in.hop("kong.Service", d.id(), an.At())
		h.To = []string{d.name + "." + d.ns() + ".svc.cluster.local"}
		in.kongService(h, func(keys ...string) *tree.Node { return an.Get(konghq + rename[keys[0]]) }, nil)
		return
	}
	for _, s := range d.root.Get("services").List() {
		name := s.Get("name").Str()
		if name == "" {
			name = s.First("host", "url").Str()
		}
		at := s.At()
		if e := s.Entry("retries"); e != nil {
			at = e.KeyPos
		}
		h := in.hop("kong.service", name, at)
		if host := s.Get("host").Str(); host != "" {
			h.To = []string{host}
		} else if u := s.Get("url").Str(); u != "" {
			h.To = []string{hostOf(u)}
		}
		in.unknownKeys(s, h, "a service", "name", "url", "protocol", "host", "port", "path", "retries", "connect_timeout", "read_timeout", "write_timeout", "routes", "plugins",
			"tags", "client_certificate", "tls_verify", "tls_verify_depth", "ca_certificates", "enabled", "id", "created_at", "updated_at", "ws_id", "_comment", "_ignore", "tls_sans")
		in.kongService(h, s.Get, s)
	}
}

func (in *input) kongService(h *Hop, get func(...string) *tree.Node, _ *tree.Node) {
	ms := func(key string) time.Duration {
		n := get(key)
		if d := in.duration(h, key, n, millisGrammar); d != nil {
			if *d < time.Millisecond || *d > 2147483646*time.Millisecond {
				in.refuse(h, n.At(), "%s must be from 1 to 2147483646 ms", key)
			}
			return *d
		}
		return 60 * time.Second
	}
	n := in.count(h, "retries", get("retries"), number{Min: 0, Max: 32767, Floats: true, Strings: h.Kind == "kong.Service"})
	h.retries("retries", n, 5)
	h.phases(ms("connect_timeout"), ms("write_timeout"), ms("read_timeout"))
	h.OverallKnown = true
	h.TimeoutRetried = Yes
	h.Conditions = []string{"error", "timeout"}
	h.Waits = Backoff{Elsewhere: true, Source: "the next target at once"}
	if n == nil && h.Refused == "" {
		h.Default = true
		h.hidden("5 more attempts, 60s to connect, to send and to read")
		in.fact("implicit-default-retry", tree.Pos{}, h, "nobody wrote retries, still a request makes up to 6 attempts").Value = "6"
	}
}
