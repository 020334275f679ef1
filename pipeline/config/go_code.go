package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/record"
)

// GoFilter is the placeholder of a filter that is Go code: `func: NAME`. The program replaces it with the code.
type GoFilter struct {
	Func string // name of the code
	// StateSinks is the problem to report if the code reads more than keys. A filter before a sink that keeps state may
	// read only keys. StateSinks is nil if the code may read images.
	StateSinks *Problem

	name    string // name by which dropped changes are counted
	problem Problem
}

var _ pipeline.Named = (*GoFilter)(nil)

// Name returns the name by which dropped changes are counted.
func (g *GoFilter) Name() string { return g.name }

// Check always fails, because the code is not in the file.
func (g *GoFilter) Check(*record.Change) (pipeline.Verdict, error) {
	return pipeline.Verdict{}, fmt.Errorf("the filter %s is Go code, which this pipeline does not have", g.Func)
}

// Problem returns a problem at the filter's line of the file.
func (g *GoFilter) Problem(message, hint string) Problem {
	p := g.problem
	p.Message, p.Hint = message, hint
	return p
}

// With is the `with` of a custom sink: settings that the sink defines itself.
type With struct {
	file string
	node *yaml.Node
}

// Bind stores the value with its environment variables expanded.
func (w *With) Bind(f *yamlbind.File, v *value) {
	*w = With{f.Name(), f.Expanded(v)}
	v.Data = *w
}

// Decode stores the settings in the struct or map that out points to, by its `yaml` tags. It returns an error if the
// struct lacks a key, or if a value has the wrong type. If the file has no `with`, Decode does not change out.
func (w With) Decode(out any) error {
	if w.node == nil {
		return nil
	}
	text, err := yaml.Marshal(w.node)
	if err != nil {
		return fmt.Errorf("%s: with: %w", w.file, err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(out); err != nil {
		if e, ok := errors.AsType[*yaml.TypeError](err); ok {
			err = errors.New(ownLine.ReplaceAllString(e.Errors[0], ""))
		}
		return fmt.Errorf("%s: with (line %d): %w", w.file, w.node.Line, err)
	}
	return nil
}

// ownLine matches the line number in an error of the YAML decoder. The number counts from the beginning of the
// settings, not of the file. So Decode removes it.
var ownLine = regexp.MustCompile(`^line [0-9]+: `)
