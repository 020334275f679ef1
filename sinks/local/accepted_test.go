package local_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
)

// texts contains the texts that a mutation writes into a file.
var texts = []string{
	"x", "1", "2", "256", "0", "90s", "5m", "1h", "4MiB", "true", "false", "a/b/", "{PK}", "{@key}", "x#{@key}", "{A|esc}", "{A}/{@version}.json",
	"{each.a}", "each.a", "A", "A.b", "Lines", "Address.**", "item.A == 1", "op == 'INSERT'", "per_item", "log", "fast", "hmac", "on_demand",
	"parquet", "jsonl.gz", "last", "keep_first", "keep", "retract", "in_place", "apart", "ttl_deletes", "no_change", "INSERT", "REMOVE", "count",
	"latest", "scaled_float", "plain_json", "dead_letter", "block", "none", "auto", "i-{A|index_name}", "arn:aws:dynamodb:eu-central-1:123456789012:table/rows",
}

// mutable calls each for n and all nodes below n, with their keys.
func mutable(n *yaml.Node, key string, each func(key string, n *yaml.Node)) {
	each(key, n)
	for i, e := range n.Content {
		switch {
		case n.Kind != yaml.MappingNode:
			mutable(e, key, each)
		case i%2 == 1:
			mutable(e, n.Content[i-1].Value, each)
		}
	}
}

// mutate changes one place of a file. It writes another text, removes a key, or copies the value of the same key from
// another place.
func mutate(r *rapid.T, doc *yaml.Node, elsewhere map[string][]*yaml.Node) {
	var keys []string
	var nodes []*yaml.Node
	mutable(doc, "", func(key string, n *yaml.Node) { keys, nodes = append(keys, key), append(nodes, n) })
	i := rapid.IntRange(1, len(nodes)-1).Draw(r, "place")
	n := nodes[i]
	switch what := rapid.IntRange(0, 2).Draw(r, "what"); {
	case what == 0 && n.Kind == yaml.ScalarNode:
		*n = yaml.Node{Kind: yaml.ScalarNode, Value: rapid.SampledFrom(texts).Draw(r, "text")}
	case what == 1 && n.Kind == yaml.MappingNode && len(n.Content) > 2:
		at := 2 * rapid.IntRange(0, len(n.Content)/2-1).Draw(r, "key")
		n.Content = append(n.Content[:at:at], n.Content[at+2:]...)
	case len(elsewhere[keys[i]]) > 0:
		*n = *cloned(rapid.SampledFrom(elsewhere[keys[i]]).Draw(r, "same key"))
	}
}

// cloned returns a deep copy of n. A later mutation of the copy must not change n. Without the copy, a node could also
// become its own descendant.
func cloned(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, e := range n.Content {
		c.Content[i] = cloned(e)
	}
	return &c
}

// Each file that the config parser accepts can be assembled with the stores of a folder.
func TestAcceptedAssembles(t *testing.T) {
	t.Setenv("OS_URL", "https://search.example")
	t.Setenv("TABLEWAKE_HMAC_KEY", "0123456789abcdef")
	t.Setenv("COMPLETED_QUEUE", "completed")
	const examples = "../../pipeline/config/testdata/examples/"
	files, err := filepath.Glob("../../pipeline/config/testdata/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var docs []string
	elsewhere := make(map[string][]*yaml.Node)
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc yaml.Node
		if yaml.Unmarshal(b, &doc) != nil || doc.Kind == 0 {
			continue
		}
		mutable(&doc, "", func(key string, n *yaml.Node) { elsewhere[key] = append(elsewhere[key], n) })
		if strings.Contains(file, "/good/") || strings.Contains(file, "/examples/") {
			docs = append(docs, string(b))
		}
	}
	accepted := 0
	rapid.Check(t, func(r *rapid.T) {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(rapid.SampledFrom(docs).Draw(r, "file")), &doc); err != nil {
			r.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(r, "mutations") {
			mutate(r, &doc, elsewhere)
		}
		text, err := yaml.Marshal(&doc)
		if err != nil {
			r.Skip(err)
		}
		cfg, err := config.Parse(examples+"mutated.yaml", text, os.LookupEnv)
		if err != nil {
			return
		}
		accepted++
		if err := assembleWhole(t, cfg); err != nil {
			r.Fatalf("%v\n%s", err, text)
		}
	})
	if accepted == 0 {
		t.Error("no mutated file was accepted")
	}
}

// assembleWhole assembles the pipeline of a configuration with the stores of a folder. It supplies the Go sinks and
// functions that the configuration names.
func assembleWhole(t *testing.T, cfg *config.Config) error {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		return err
	}
	stores, err := local.Open(dir)
	if err != nil {
		return err
	}
	opts := []sinks.Option{sinks.Finite()}
	for _, s := range cfg.Sinks {
		if s.Custom != nil {
			opts = append(opts, sinks.With(s.Custom.Name, func(context.Context, any) (pipeline.Sink, error) {
				return pipeline.SinkFunc(func(context.Context, []pipeline.Delivery) error { return nil }), nil
			}))
		}
	}
	for _, d := range cfg.Detectors {
		if d.Func != "" {
			opts = append(opts, sinks.WithFunc(d.Func, func(dst []pipeline.Event, _ *record.Change) ([]pipeline.Event, error) { return dst, nil }))
		}
	}
	filters := slices.Clone(cfg.Filters)
	for _, s := range cfg.Sinks {
		filters = append(filters, s.Filters...)
	}
	for _, f := range filters {
		if g, isGo := f.Filter.(*config.GoFilter); isGo {
			keep := func(*record.Change) (bool, error) { return true, nil }
			opts = append(opts, sinks.WithFilter(g.Func, keep, sinks.KeysOnly()))
		}
	}
	_, err = sinks.Assemble(t.Context(), cfg, stores, opts...)
	return errors.Join(err, stores.Close(), os.RemoveAll(dir))
}
