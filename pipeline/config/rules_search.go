package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/indexmap"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
)

// indexName is what every search store takes.
var indexName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,254}$`)

// checkSearch checks the index and the fields of a search sink.
func (c *checker) checkSearch(sink *Sink) {
	s := sink.Search
	c.failOnServersIf(s.Connection == "", s, "add connection: NAME, one of connections", "no server is named")
	c.checkServerless(s)
	c.checkMapping(s)
	c.WarnIf(s.Fast, &s.Fast, "keep mode: exact where two processes may write, or an item changes more than once a second",
		"changes of an item within one second are told apart by this process alone")
	if s.Index != nil {
		c.checkIndex(sink)
	}
	if s.Routing != nil {
		c.checkRouting(s)
	}
	c.checkFields(&s.Fields)
}

// checkIndex checks where the documents of a search sink go.
func (c *checker) checkIndex(sink *Sink) {
	s, name := sink.Search, sink.Search.Index.String()
	for _, other := range c.sinks {
		if other == sink {
			break
		}
		if o := other.Search; o != nil && o.Index != nil && o.Index.String() == name {
			c.Fail(&s.Index, "give it an index of its own, or make one sink of the two", "%s writes into the same index: an item has one document there, and each sink would remove or overwrite the other's", other.Name)
		}
	}
	if _, whole := s.Index.Prefix(); !whole {
		c.checkIndexTemplate(s)
		return
	}
	c.FailIf(!indexName.MatchString(name), &s.Index, "use a-z, 0-9, ., _ and -, starting with a letter or digit, 255 at most",
		"%s is no name of an index", yamlbind.Quoted(name))
	c.Refuse(&s.MaxIndexes, "remove it", "the sink has one index: its name is no template")
}

// checkIndexTemplate checks an index of which there are as many as it has names.
func (c *checker) checkIndexTemplate(s *Search) {
	c.FailIf(!s.Index.Stable(), &s.Index, "make it of the item, {@key} and {@table}",
		"it differs from change to change of an item, and the document of an older one could not be found again")
	if !s.OnDemand {
		var at any = &s.OnDemand
		if !c.Has(at) {
			at = &s.Index
		}
		c.Fail(at, "write create: on_demand", "which indexes there are, only the items tell: none can be made on start")
	}
	c.WarnIf(s.MaxIndexes == 0, &s.Index, "write max_indexes: 500",
		"a new value makes a new index, and nothing bounds how many")
	switch {
	case !indexName.MatchString(strings.Join(s.Index.Literals(), "x")): // whatever stands between
		c.Fail(&s.Index, "use a-z, 0-9, ., _ and - around the placeholders, starting with a letter, a digit or a placeholder", "%s makes no names of indexes", yamlbind.Quoted(s.Index.String()))
	case slices.ContainsFunc(s.Index.Placeholders(), func(p template.Placeholder) bool { return !p.IndexName }):
		c.Warn(&s.Index, "end each placeholder with |index_name", "a value that is no index name, as one with an upper-case letter, sends its document to dead letters")
	}
}

// checkRouting checks what a routing is made of.
func (c *checker) checkRouting(s *Search) {
	if !s.Routing.Stable() {
		c.Fail(&s.Routing, "make it of key attributes, {@key} and {@table}", "it differs from change to change of an item, and the document would be in two places")
		return
	}
	const hint = "make it of key attributes"
	if _, whole := s.Routing.Prefix(); whole {
		c.Fail(&s.Routing, hint, "it is the same for every item, and all documents would be in one shard")
		return
	}
	for _, p := range s.Routing.Paths() {
		if len(memberNames(p)) != 1 {
			c.Fail(&s.Routing, hint, "{%s} is no key attribute: what may change would leave a document in two places", p)
			return
		}
	}
}

// checkServerless refuses the mode that OpenSearch Serverless lacks: it stores no script.
func (c *checker) checkServerless(s *Search) {
	i := slices.IndexFunc(c.cfg.Connections, func(conn Connection) bool { return conn.Name == s.Connection })
	if i < 0 || s.Fast || c.cfg.Connections[i].Auth != "sigv4" {
		return
	}
	u, err := url.Parse(c.cfg.Connections[i].OpenSearch)
	c.failOnServersIf(err == nil && slices.Contains(strings.Split(u.Hostname(), "."), "aoss"), s, "write mode: fast, whose order within one second is that of one process",
		"mode: exact needs a stored script, and OpenSearch Serverless stores none")
}

// checkMapping checks what the file of a mapping says, and that the numbers which are written for a scaled_float have
// one: an index keeps others as a float.
func (c *checker) checkMapping(s *Search) {
	_, mappings, err := indexmap.Read(s.Mapping)
	if err != nil {
		c.Fail(&s.Mapping, "correct the file", "the mapping cannot be used: %v", err)
		return
	}
	for _, e := range c.Of(&s.Fields.Numbers).All() {
		if e.Text() != "scaled_float" || memberNames(e.Name) == nil {
			continue
		}
		if err := indexmap.Scaled(mappings, e.Name, s.Fields.Rename); err != nil {
			c.failOnServers(e, "add mapping: FILE that maps it as scaled_float with its scaling_factor, or write string or double", "the index would keep it as a float, which loses digits: %v", err)
		}
	}
}

// maxHashDepth bounds the names of a hashed path beside sensitive: each doubles the patterns that it
// comes to.
const maxHashDepth = 8

// checkFields checks what a document holds.
func (c *checker) checkFields(f *Fields) {
	included, excluded := make(map[string]bool), c.Of(&f.Exclude).All()
	for _, e := range c.Of(&f.Include).All() {
		place := c.documentPath(e, e.Source)
		included[place] = true
		c.refuseVersionField(e, place, "remove it")
	}
	for _, e := range c.Of(&f.Hash).All() {
		place := c.documentPath(e, e.Source)
		for _, x := range excluded {
			if out := joinNames(memberNames(x.Source)); out != "" && (place == out || strings.HasPrefix(place, out+"\x00")) {
				c.Fail(e, "remove one of them", "%s is excluded: there is nothing to hash", yamlbind.Quoted(e.Source))
			}
		}
		c.refuseVersionField(e, place, "remove it")
		if names := memberNames(e.Source); len(c.cfg.Sensitive) > 0 && len(names) > maxHashDepth {
			c.Fail(e, "hash an attribute around it", "the path has %d names, and %d are the most beside sensitive", len(names), maxHashDepth)
		}
	}
	for _, e := range excluded {
		if place := c.documentPath(e, e.Source); place != "" && included[place] {
			c.Fail(e, "remove one of them", "%s is included too", yamlbind.Quoted(e.Source))
		}
	}
	for _, e := range c.Of(&f.Numbers).All() {
		c.fieldNames(e, e.Name)
	}
	renamed := make(map[string]string) // by place of the new name
	for _, e := range c.Of(&f.Rename).All() {
		names := c.fieldNames(e, e.Name)
		if names == nil {
			continue
		}
		names[len(names)-1] = e.Text()
		place := joinNames(names)
		if other, taken := renamed[place]; taken {
			c.Fail(e, "give each its own name", "%s has this name already", other)
		}
		c.refuseVersionField(e, place, "give it another name")
		renamed[place] = e.Name
	}
}

func (c *checker) refuseVersionField(e *value, place, hint string) {
	c.FailIf(place == "_tw", e, hint, "_tw is where a document keeps its version")
}

// documentPath is where a path leads in a document.
func (c *checker) documentPath(e *value, path string) string { return joinNames(c.fieldNames(e, path)) }

func joinNames(names []string) string { return strings.Join(names, "\x00") }

// memberNames are the names that a path leads through; nil where there are others too.
func memberNames(path string) []string {
	p, err := item.ParsePath(path)
	if err != nil {
		return nil
	}
	names, _ := p.Names()
	return names
}

// names are the names that a path leads through. A path to an element of a list is
// refused: a document has all of them.
func (c *checker) fieldNames(v *value, path string) []string {
	p, err := item.ParsePath(path)
	if err != nil {
		return nil // said by the walk
	}
	names, ok := p.Names()
	if !ok {
		c.Fail(v, "write the path without the index: all elements of the list are meant", "%s names one element of a list", path)
		return nil
	}
	return names
}
