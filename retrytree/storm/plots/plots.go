// Package plots draws the pictures of a storm analysis with gonum/plot: the
// fold diagram, the vulnerability map and goodput over time, as SVG or PNG.
package plots

import (
	"bytes"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/relplan/relplan/retrytree/storm/des"
	"github.com/relplan/relplan/retrytree/storm/fold"
)

// Picture is a finished plot.
type Picture struct {
	Name, Caption string
	plot          *plot.Plot
}

var (
	green  = color.RGBA{R: 0x2e, G: 0x7d, B: 0x32, A: 0xff}
	red    = color.RGBA{R: 0xc6, G: 0x28, B: 0x28, A: 0xff}
	amber  = color.RGBA{R: 0xef, G: 0x6c, B: 0x00, A: 0xff}
	blue   = color.RGBA{R: 0x15, G: 0x65, B: 0xc0, A: 0xff}
	grey   = color.RGBA{R: 0x75, G: 0x75, B: 0x75, A: 0xff}
	pale   = color.RGBA{R: 0xff, G: 0xcd, B: 0xd2, A: 0xff}
	paleOK = color.RGBA{R: 0xdc, G: 0xed, B: 0xc8, A: 0xff}
)

const (
	width  = 16 * vg.Centimeter
	height = 10 * vg.Centimeter
)

// SVG returns the picture as an svg element without XML declaration, ready to
// stand inside an HTML page.
func (p *Picture) SVG() ([]byte, error) {
	b, err := p.bytes("svg")
	if err != nil {
		return nil, err
	}
	if i := bytes.Index(b, []byte("<svg")); i > 0 {
		b = b[i:]
	}
	return bytes.TrimSpace(b), nil
}

// File returns the picture as a file of the format svg, png or pdf.
func (p *Picture) File(format string) ([]byte, error) { return p.bytes(format) }

func (p *Picture) bytes(format string) ([]byte, error) {
	w, err := p.plot.WriterTo(width, height, format)
	if err != nil {
		return nil, fmt.Errorf("plot %s as %s: %w", p.Name, format, err)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.Legend.Top = true
	p.Legend.Left = true
	p.Add(plotter.NewGrid())
	return p
}

func line(p *plot.Plot, xy plotter.XYs, c color.Color, dashed bool, legend string) error {
	if len(xy) == 0 {
		return nil
	}
	l, err := plotter.NewLine(xy)
	if err != nil {
		return err
	}
	l.Color, l.Width = c, vg.Points(1.5)
	if dashed {
		l.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	}
	p.Add(l)
	if legend != "" {
		p.Legend.Add(legend, l)
	}
	return nil
}

func upright(p *plot.Plot, x, top float64, c color.Color, legend string) error {
	return line(p, plotter.XYs{{X: x, Y: 0}, {X: x, Y: top}}, c, true, legend)
}

// Fold draws attempts over load: every steady state of an edge, the stable
// ones solid, with the present load.
func Fold(name string, c *fold.Curve, load float64) (*Picture, error) {
	p := newPlot("Steady states of "+name, "first tries per second", "attempts per second")
	limit := 1.15 * math.Max(c.Fold, load)
	var runs []plotter.XYs
	var stable []bool
	top := 0.0
	for i, pt := range c.Points {
		if pt.Load > limit || pt.Attempts > 3*c.Capacity+2*limit {
			continue
		}
		top = math.Max(top, pt.Attempts)
		if i == 0 || len(runs) == 0 || stable[len(stable)-1] != pt.Stable {
			var start plotter.XYs
			if n := len(runs); n > 0 { // join the branches
				start = plotter.XYs{runs[n-1][len(runs[n-1])-1]}
			}
			runs, stable = append(runs, start), append(stable, pt.Stable)
		}
		n := len(runs) - 1
		runs[n] = append(runs[n], plotter.XY{X: pt.Load, Y: pt.Attempts})
	}
	seen := map[bool]bool{}
	for i, r := range runs {
		label := ""
		if !seen[stable[i]] {
			label = map[bool]string{true: "stable state", false: "unstable state"}[stable[i]]
		}
		seen[stable[i]] = true
		col := color.Color(green)
		if !stable[i] {
			col = grey
		} else if i > 0 {
			col = red
			label = "collapsed state"
		}
		if err := line(p, r, col, !stable[i], label); err != nil {
			return nil, err
		}
	}
	if err := upright(p, load, top, blue, fmt.Sprintf("load %.4g", load)); err != nil {
		return nil, err
	}
	if !c.Monostable {
		if err := upright(p, c.Stable, top, amber, fmt.Sprintf("comes back below %.4g", c.Stable)); err != nil {
			return nil, err
		}
	}
	p.X.Min, p.Y.Min = 0, 0
	p.X.Max = limit
	return &Picture{Name: "fold-" + slug(name), Caption: fmt.Sprintf("Every steady state of %s: attempts over first tries. Between the two loads where branches end there are two stable states.", name), plot: p}, nil
}

// Threshold is a point of the vulnerability map: at this load a trigger of
// Fluid seconds tips; P10 and P90 are simulated, NaN without.
type Threshold struct{ Load, Fluid, P10, P90 float64 }

// Vulnerability draws which trigger lengths tip at which load.
func Vulnerability(name, trigger string, c *fold.Curve, load float64, ts []Threshold) (*Picture, error) {
	p := newPlot("What tips "+name, "first tries per second", trigger+", seconds")
	top := 0.0
	for _, t := range ts {
		if !math.IsInf(t.Fluid, 0) && !math.IsNaN(t.Fluid) {
			top = math.Max(top, t.Fluid)
		}
	}
	if top == 0 {
		top = 1
	}
	top *= 1.2
	var edge plotter.XYs
	for _, t := range ts {
		if math.IsNaN(t.Fluid) {
			continue
		}
		edge = append(edge, plotter.XY{X: t.Load, Y: math.Min(t.Fluid, top)})
	}
	if len(edge) > 1 {
		area := append(plotter.XYs{{X: edge[0].X, Y: top}}, edge...)
		area = append(area, plotter.XY{X: edge[len(edge)-1].X, Y: top})
		if err := fill(p, area, pale, "stays down"); err != nil {
			return nil, err
		}
		below := append(plotter.XYs{{X: 0, Y: 0}, {X: 0, Y: top}, {X: edge[0].X, Y: top}}, edge...)
		below = append(below, plotter.XY{X: edge[len(edge)-1].X, Y: 0})
		if err := fill(p, below, paleOK, "comes back"); err != nil {
			return nil, err
		}
	}
	if err := line(p, edge, red, false, "fluid model"); err != nil {
		return nil, err
	}
	legend := "simulation, 10 to 90 %"
	for _, t := range ts {
		if math.IsNaN(t.P10) || math.IsNaN(t.P90) || math.IsInf(t.P90, 0) {
			continue
		}
		if err := line(p, plotter.XYs{{X: t.Load, Y: t.P10}, {X: t.Load, Y: t.P90}}, blue, false, legend); err != nil {
			return nil, err
		}
		legend = ""
	}
	if err := upright(p, load, top, blue, fmt.Sprintf("load %.4g", load)); err != nil {
		return nil, err
	}
	p.X.Min, p.Y.Min, p.Y.Max = 0, 0, top
	p.X.Max = 1.05 * math.Max(load, c.Fold)
	return &Picture{Name: "map-" + slug(name), Caption: fmt.Sprintf("Length of a trigger (%s) that tips %s, over the load. Below %.4g it always comes back.", trigger, name, c.Stable), plot: p}, nil
}

func fill(p *plot.Plot, xy plotter.XYs, c color.Color, legend string) error {
	g, err := plotter.NewPolygon(xy)
	if err != nil {
		return err
	}
	g.Color = c
	g.LineStyle = draw.LineStyle{}
	p.Add(g)
	p.Legend.Add(legend, g)
	return nil
}

// Goodput draws one simulated run: offered, good and attempts per second, and
// when the trigger was on.
func Goodput(name string, r *des.Result, start, length float64) (*Picture, error) {
	p := newPlot("Goodput of "+name, "seconds", "per second")
	b := r.Bucket.Seconds()
	if b <= 0 {
		return nil, fmt.Errorf("plot goodput: the run has no series")
	}
	var offered, good, attempts plotter.XYs
	top := 0.0
	for i, pt := range r.Series {
		x := (float64(i) + .5) * b
		offered = append(offered, plotter.XY{X: x, Y: float64(pt.Offered) / b})
		good = append(good, plotter.XY{X: x, Y: float64(pt.Good) / b})
		attempts = append(attempts, plotter.XY{X: x, Y: float64(pt.Busiest) / b})
		top = math.Max(top, math.Max(float64(pt.Busiest), float64(pt.Offered))/b)
	}
	if length > 0 {
		area := plotter.XYs{{X: start, Y: 0}, {X: start, Y: 1.1 * top}, {X: start + length, Y: 1.1 * top}, {X: start + length, Y: 0}}
		if err := fill(p, area, pale, "trigger"); err != nil {
			return nil, err
		}
	}
	if err := line(p, attempts, amber, false, "attempts at the busiest service"); err != nil {
		return nil, err
	}
	if err := line(p, offered, blue, true, "first tries"); err != nil {
		return nil, err
	}
	if err := line(p, good, green, false, "goodput"); err != nil {
		return nil, err
	}
	p.Y.Min, p.X.Min = 0, 0
	p.Y.Max = 1.35 * top // room for the legend
	return &Picture{Name: "goodput-" + slug(name), Caption: fmt.Sprintf("One simulated run (seed %d, %s): goodput is what arrives while its caller still waits.", r.Seed, r.Fate), plot: p}, nil
}

// slug makes a file name out of an edge's name.
func slug(s string) string {
	out := []rune{}
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			out = append(out, c)
		case len(out) > 0 && out[len(out)-1] != '-':
			out = append(out, '-')
		}
	}
	return string(out)
}
