package retryconfig

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relplan/relplan/retrytree/retryconfig/internal/tree"
)

// link completes hops with what other files of the same folder say about them: the mesh
// configuration and DestinationRules of Istio, and the settings that a file of one
// Spring profile is laid over. What stands in another folder is not applied, since it
// may belong to another cluster; a note says so.
func link(files []*File) {
	folders := map[string][]*File{}
	for _, f := range files {
		if f.settings != nil {
			folders[folder(f.Path)] = append(folders[folder(f.Path)], f)
		}
	}
	for _, near := range folders {
		linkSettings(near)
	}
	linkIstio(files)
	for _, f := range files {
		f.istio, f.settings = nil, nil
	}
}

// linkSettings reads files of Spring again that are laid over others of their folder.
func linkSettings(near []*File) {
	for _, f := range near {
		var under []layer
		var hops []*Hop
		for _, o := range near {
			if f.settings != nil && o != f && o.settings != nil && below(o.Path, f.Path) {
				under = append(under, o.settings...)
				hops = append(hops, o.Hops...)
			}
		}
		if len(under) > 0 {
			f.again(under, hops)
		}
	}
}

// again reads the file over the settings below it.
func (f *File) again(under []layer, hops []*Hop) {
	for i, l := range under {
		set := make(props, len(l.set))
		for j, x := range l.set {
			v := *x.Value
			v.Pos = tree.Pos{} // a place in another file
			set[j] = tree.Prop{Path: x.Path, Value: &v}
		}
		under[i].set = set
	}
	if hops == nil {
		hops = []*Hop{}
	}
	fresh := &File{Path: f.Path, Source: f.Source}
	in := &input{file: fresh, under: under, underHops: hops}
	if in.load(f.Source) {
		in.dispatch()
	}
	fresh.done()
	if len(fresh.Hops) == 0 && fresh.Status == Skipped {
		fresh.Reason = "nothing in it changes the retries of the files below it"
	}
	fresh.settings = f.settings
	*f = *fresh
}

// settingsRank orders the files that Spring lays over each other; 0 is none of them.
func settingsRank(name string) (stem, profile string, rank int) {
	base := path.Base(filepath.ToSlash(name))
	ext := path.Ext(base)
	stem, profile, _ = strings.Cut(strings.TrimSuffix(base, ext), "-")
	switch {
	case stem != "application" && stem != "bootstrap":
		return "", "", 0
	case ext == ".yml" || ext == ".yaml":
		rank = 1
	case ext == ".properties":
		rank = 2
	default:
		return "", "", 0
	}
	if profile != "" {
		rank += 2
	}
	return stem, profile, rank
}

// below reports whether Spring lays over over under.
func below(under, over string) bool {
	s1, p1, r1 := settingsRank(under)
	s2, p2, r2 := settingsRank(over)
	return r1 > 0 && s1 == s2 && r1 < r2 && (p1 == "" || p1 == p2)
}

// istioIndex finds mesh configurations and DestinationRules by folder and host.
type istioIndex struct {
	meshes []*File
	meshOf map[string][]*File // by folder
	rules  map[string][]*hostRule
	ruleOf map[string][]*hostRule // by folder and host
}

func indexIstio(files []*File) istioIndex {
	x := istioIndex{meshOf: map[string][]*File{}, rules: map[string][]*hostRule{}, ruleOf: map[string][]*hostRule{}}
	for _, f := range files {
		if f.istio == nil {
			continue
		}
		if f.istio.mesh != nil {
			x.meshes = append(x.meshes, f)
			x.meshOf[folder(f.Path)] = append(x.meshOf[folder(f.Path)], f)
		}
		for host, r := range f.istio.rules {
			x.rules[host] = append(x.rules[host], r)
			x.ruleOf[folder(f.Path)+"\x00"+host] = append(x.ruleOf[folder(f.Path)+"\x00"+host], r)
		}
	}
	return x
}

func folder(name string) string { return path.Dir(filepath.ToSlash(name)) }

// linkIstio applies mesh configurations and DestinationRules.
func linkIstio(files []*File) {
	x := indexIstio(files)
	if len(x.meshes) == 0 && len(x.rules) == 0 {
		return
	}
	for _, f := range files {
		if f.istio == nil {
			continue
		}
		in := &input{file: f}
		for _, h := range f.Hops {
			if h.Kind == "istio.VirtualService" {
				in.linkMesh(h, x)
				in.linkRules(h, x)
			}
		}
		f.sortFacts()
	}
}

// linkMesh reads a route without a retries block by the mesh configuration of its folder.
func (in *input) linkMesh(h *Hop, x istioIndex) {
	if !h.meshDefault || in.file.istio.mesh != nil {
		return
	}
	switch near := x.meshOf[folder(h.File)]; {
	case len(near) == 1:
		in.meshAgain(h, near[0])
	case len(near) > 1:
		h.note("%d mesh configurations in this folder set a default retry policy: none is taken into account", len(near))
	case len(x.meshes) > 0:
		h.note("the mesh configuration in %s sets a default retry policy: another folder, so that it is not taken into account", x.meshes[0].Path)
	}
}

// meshAgain reads the hop by the policy of a mesh configuration in another file.
func (in *input) meshAgain(h *Hop, mesh *File) {
	kept := in.file.Facts[:0]
	for _, x := range in.file.Facts {
		if x.Hop != h || x.Rule == "renamed-or-unknown-field" {
			kept = append(kept, x)
		}
	}
	in.file.Facts = kept
	fresh := &Hop{File: h.File, Line: h.Line, Column: h.Column, Kind: h.Kind, Name: h.Name, To: h.To, Methods: h.Methods, Budget: h.Budget}
	if h.exposure != "" {
		fresh.note("%s", h.exposure)
	}
	timeout := h.Overall
	*h = *fresh
	own := len(in.file.Facts)
	in.istioPolicy(h, mesh.istio.mesh, timeout)
	h.finish()
	h.Hidden = append(h.Hidden, "the retry policy comes from the mesh configuration in "+filepath.Base(mesh.Path))
	kept = in.file.Facts[:own]
	for _, x := range in.file.Facts[own:] {
		x.Line, x.Column = h.Line, h.Column
		if !slices.Contains([]string{"renamed-or-unknown-field", "unknown-condition", "invalid-duration", "invalid-policy-rejected"}, x.Rule) {
			kept = append(kept, x) // the others stand at the mesh configuration
		}
	}
	in.file.Facts = kept
}

// linkRules applies the one DestinationRule of the folder for the host of a route.
func (in *input) linkRules(h *Hop, x istioIndex) {
	for _, host := range h.To {
		if in.file.istio.rules[host] != nil {
			continue // applied when the file was read
		}
		all := x.rules[host]
		switch near := x.ruleOf[folder(h.File)+"\x00"+host]; {
		case len(near) == 1:
			in.applyRule(h, near[0])
		case len(near) > 1:
			h.note("%d DestinationRules in this folder name %s: none is taken into account", len(near), host)
		case len(all) > 0 && h.Retries():
			h.note("DestinationRule %s in %s names %s: another folder, so that it is not taken into account", all[0].name, all[0].file, host)
		}
	}
}
