package plots

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"testing"
	"time"

	"github.com/relplan/relplan/retrytree/storm/des"
	"github.com/relplan/relplan/retrytree/storm/fold"
)

func pictures(t *testing.T) []*Picture {
	t.Helper()
	c, err := fold.Solve(fold.Station{Servers: 1, Rate: 300, Timeout: 1}, fold.Layer{Attempts: 2})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Fold("web->db", c, 280)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Vulnerability("web->db", "outage of db", c, 280, []Threshold{{160, 1.46, math.NaN(), math.NaN()}, {200, 1.22, 1, 1.4}, {280, 1, .9, 1.1}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := des.Run(des.Config{
		Nodes:    []des.Node{{Name: "db", Servers: 1, Service: des.Dist{Kind: des.Exponential, Mean: time.Second / 300}}},
		Edges:    []des.Edge{{From: -1, To: 0, Attempts: 2, Timeout: time.Second}},
		Sources:  []des.Source{{Edge: 0, Rate: 280}},
		Triggers: []des.Trigger{{Kind: des.Outage, At: 5 * time.Second, For: 3 * time.Second}},
		Horizon:  30 * time.Second, Bucket: time.Second}, 1)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Goodput("web->db", r, 5, 3)
	if err != nil {
		t.Fatal(err)
	}
	return []*Picture{a, b, g}
}

// Every picture is well-formed SVG without outside references, a decodable
// PNG, and the same bytes each time.
func TestPictures(t *testing.T) {
	again := pictures(t)
	for i, p := range pictures(t) {
		svg, err := p.SVG()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(svg, []byte("<svg")) {
			t.Errorf("%s: starts with %q", p.Name, svg[:20])
		}
		d := xml.NewDecoder(bytes.NewReader(svg))
		shapes := 0
		for {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
			if e, ok := tok.(xml.StartElement); ok && (e.Name.Local == "path" || e.Name.Local == "text") {
				shapes++
			}
		}
		if shapes < 20 {
			t.Errorf("%s: only %d shapes", p.Name, shapes)
		}
		raw, err := p.File("png")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(bytes.NewReader(raw)); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if svg2, _ := again[i].SVG(); !bytes.Equal(svg, svg2) {
			t.Errorf("%s: not the same bytes twice", p.Name)
		}
		if _, err := p.File("docx"); err == nil {
			t.Error("unknown format accepted")
		}
	}
}
