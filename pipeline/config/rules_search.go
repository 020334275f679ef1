package config

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/template"
)

// indexRules checks where the documents of search sink i go.
func (c *checker) indexRules(cfg *Config, i int, v *value) {
	s := cfg.Sinks[i].Search
	if e := v.get("mode"); s.Fast && e != nil {
		c.warn(e, "keep mode: exact where two processes may write, or an item changes more than once a second", "changes of an item within one second are told apart by this process alone")
	}
	if e := v.get("routing"); e != nil && s.Routing != nil && !s.Routing.Stable() {
		c.fail(e, "make it of key attributes, {@key} and {@table}", "it differs from change to change of an item, and the document would be in two places")
	}
	index := v.get("index")
	if index == nil || s.Index == nil {
		return
	}
	for _, other := range cfg.Sinks[:i] {
		if o := other.Search; o != nil && o.Index != nil && o.Index.String() == index.source {
			c.fail(index, "give it an index of its own, or make one sink of the two", "%s writes into the same index: an item has one document there, and each sink would remove or overwrite the other's", other.Name)
		}
	}
	if _, whole := s.Index.Prefix(); !whole {
		c.indexTemplateRules(s, index, v)
		return
	}
	if !indexName.MatchString(index.source) {
		c.fail(index, "use a-z, 0-9, ., _ and -, starting with a letter or digit, 255 at most", "%s is no name of an index", quoted(index.source))
	}
	if e := v.get("max_indexes"); e != nil {
		c.fail(e, "remove it", "the sink has one index: its name is no template")
	}
}

// indexTemplateRules checks an index of which there are as many as it has names.
func (c *checker) indexTemplateRules(s *Search, index, v *value) {
	if !s.Index.Stable() {
		c.fail(index, "make it of the item, {@key} and {@table}", "it differs from change to change of an item, and the document of an older one could not be found again")
	}
	if !s.OnDemand {
		at := v.get("create")
		if at == nil {
			at = index
		}
		c.fail(at, "write create: on_demand", "which indexes there are, only the items tell: none can be made on start")
	}
	if s.MaxIndexes == 0 {
		c.warn(index, "write max_indexes: 500", "a new value makes a new index, and nothing bounds how many")
	}
	switch {
	case !indexName.MatchString(strings.Join(s.Index.Literals(), "x")): // whatever stands between
		c.fail(index, "use a-z, 0-9, ., _ and - around the placeholders, starting with a letter, a digit or a placeholder", "%s makes no names of indexes", quoted(index.source))
	case !makesIndexNames(s.Index):
		c.warn(index, "end each placeholder with |index_name", "a value that is no index name, as one with an upper-case letter, sends its document to dead letters")
	}
}

// makesIndexNames tells whether each placeholder of t makes a part of an index's name,
// whatever the item holds.
func makesIndexNames(t *template.Template) bool {
	return !slices.ContainsFunc(t.Placeholders(), func(p template.Placeholder) bool { return !p.IndexName })
}
