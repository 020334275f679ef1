package main

import (
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/config"
)

// baseConfig completes a part of a configuration if its document has no whole configuration before it.
const baseConfig = `version: 1
name: shop
source: {table: shop}
state: {table: tablewake-state}
leases: {table: shop-leases}
sinks: {orders: {view: {table: shop-views, key: {PK: 'STATUS#{Status}', SK: '{@key}'}}}}
`

// TestDocuments_Configurations checks each configuration. A block with some keys of the top level takes the others from
// the last whole configuration of the document.
func TestDocuments_Configurations(t *testing.T) {
	whole := 0
	for _, d := range documents(t) {
		base := mappingOf(t, "baseConfig", baseConfig)
		for _, b := range d.blocks {
			if b.kind != "yaml" {
				continue
			}
			part := mappingOf(t, d.at(b), b.text)
			switch {
			case part == nil:
				continue
			case has(part, "version"):
				base = part
				whole++
			case has(part, "tests"): // a file of tests, not a configuration
				continue
			}
			text, err := yaml.Marshal(merged(base, part))
			if err != nil {
				t.Fatal(err)
			}
			getenv := func(string) (string, bool) { return "a value of sixteen bytes or more", true }
			cfg, err := config.Parse("tablewake.yaml", text, getenv)
			if err != nil {
				t.Errorf("%s: %v", d.at(b), err)
				continue
			}
			for _, p := range cfg.LocalOnly {
				t.Errorf("%s: %v", d.at(b), p)
			}
		}
	}
	if whole < 4 {
		t.Errorf("%d whole configurations were checked", whole)
	}
}

// mappingOf returns the mapping of a block, or nil if the block is a list, such as tests.
func mappingOf(t *testing.T, at, text string) *yaml.Node {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Errorf("%s: %v", at, err)
		return nil
	}
	if n.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	return n.Content[0]
}

func has(mapping *yaml.Node, key string) bool {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return true
		}
	}
	return false
}

// merged returns part, with the keys of base that part lacks.
func merged(base, part *yaml.Node) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode, Content: slices.Clone(part.Content)}
	for i := 0; i < len(base.Content); i += 2 {
		if !has(part, base.Content[i].Value) {
			m.Content = append(m.Content, base.Content[i], base.Content[i+1])
		}
	}
	return m
}
