package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/indexmap"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
)

// indexName matches the index names that every search store accepts.
var indexName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,254}$`)

// checkSearch checks the index and the fields of a search sink.
func (c *checker) checkSearch(sink *Sink) {
	s := sink.Search
	c.failOnServersIf(s.Connection == "", s, "add connection: NAME, one of connections", "no server is named")
	c.checkServerless(s)
	c.checkMapping(s)
	c.WarnIf(s.Fast, &s.Fast, "keep mode: exact where two processes may write, or an item changes more than once a second",
		"changes of an item within one second are distinguished only by this process")
	if s.Index != nil {
		c.checkIndex(sink)
	}
	if s.Routing != nil {
		c.checkRouting(s)
	}
	c.checkFields(&s.Fields)
	c.warnOfNameClashes(sink)
	c.checkElementDocuments(sink)
}

// checkIndex checks the index of a search sink. No two sinks may write into one index.
func (c *checker) checkIndex(sink *Sink) {
	s, name := sink.Search, sink.Search.Index.String()
	for _, other := range c.sinks {
		if other == sink {
			break
		}
		hasSameIndex := other.Search != nil && other.Search.Index != nil && other.Search.Index.String() == name
		c.FailIf(hasSameIndex, &s.Index, "give it an index of its own, or make one sink of the two",
			"%s writes into the same index: an item has one document there, and each sink would remove or overwrite the other's", other.Name)
	}
	if _, isConstant := s.Index.Prefix(); !isConstant {
		c.checkIndexTemplate(s)
		return
	}
	c.FailIf(!indexName.MatchString(name), &s.Index,
		"use a-z, 0-9, ., _ and -, starting with a letter or digit, 255 at most",
		"%s is not a name of an index", yamlbind.Quoted(name))
	c.Refuse(&s.MaxIndexes, "remove it", "the sink has one index: its name is not a template")
}

// checkIndexTemplate checks an index name that is a template.
func (c *checker) checkIndexTemplate(s *Search) {
	c.FailIf(!s.Index.Stable(), &s.Index, "make it of the item, {@key} and {@table}",
		"it differs from change to change of an item, and the document of an older one could not be found again")
	place := c.firstWritten(&s.OnDemand, &s.Index)
	c.FailIf(!s.OnDemand, place, "write create: on_demand",
		"which indexes there are, only the items tell: none can be made on start")
	c.WarnIf(s.MaxIndexes == 0, &s.Index, "write max_indexes: 500",
		"a new value makes a new index, and nothing bounds how many")
	exampleName := strings.Join(s.Index.Literals(), "x") // x is in place of any value
	if !indexName.MatchString(exampleName) {
		c.Fail(&s.Index, "use a-z, 0-9, ., _ and - around the placeholders, starting with a letter, a digit or a placeholder",
			"%s makes no names of indexes", yamlbind.Quoted(s.Index.String()))
		return
	}
	isUnconverted := func(p template.Placeholder) bool { return !p.IndexName }
	c.WarnIf(slices.ContainsFunc(s.Index.Placeholders(), isUnconverted), &s.Index, "end each placeholder with |index_name",
		"a value that is not an index name, as one with an upper-case letter, sends its document to dead letters")
}

// checkRouting checks that a routing can be made of key attributes only. If another attribute changed, the document
// would be written to another shard of the index, and the old document would stay. The file does not name the key
// attributes. So the sink compares the routing with the key of each change.
func (c *checker) checkRouting(s *Search) {
	if !s.Routing.Stable() {
		c.Fail(&s.Routing, "make it of key attributes, {@key} and {@table}",
			"it differs from change to change of an item, and the document would be in two places")
		return
	}
	const hint = "make it of key attributes"
	if _, isConstant := s.Routing.Prefix(); isConstant {
		c.Fail(&s.Routing, hint, "it is the same for every item, and all documents would be in one shard")
		return
	}
	for _, path := range s.Routing.Paths() {
		if isTopLevel := len(memberNames(path)) == 1; !isTopLevel {
			c.Fail(&s.Routing, hint, "{%s} is not a key attribute: what may change would leave a document in two places", path)
			return
		}
	}
}

// checkServerless refuses mode: exact on OpenSearch Serverless, because the mode needs a stored script.
func (c *checker) checkServerless(s *Search) {
	i := slices.IndexFunc(c.cfg.Connections, func(conn Connection) bool { return conn.Name == s.Connection })
	if i < 0 || s.Fast || c.cfg.Connections[i].Auth != "sigv4" {
		return
	}
	server, err := url.Parse(c.cfg.Connections[i].OpenSearch)
	isServerless := err == nil && slices.Contains(strings.Split(server.Hostname(), "."), "aoss")
	c.failOnServersIf(isServerless, s, "write mode: fast, whose order within one second is that of one process",
		"mode: exact needs a stored script, and OpenSearch Serverless stores none")
}

// checkMapping checks the mapping file. The file must map each field that fields.numbers declares as scaled_float. By
// default an index stores such a number as a float, which loses digits.
func (c *checker) checkMapping(s *Search) {
	_, mappings, err := indexmap.Parse(s.Mapping)
	if err != nil {
		c.Fail(&s.Mapping, "correct the file", "the mapping cannot be used: %v", err)
		return
	}
	for _, e := range c.ValueOf(&s.Fields.Numbers).All() {
		if e.Text() != "scaled_float" || memberNames(e.Name) == nil {
			continue
		}
		if err := indexmap.CheckScaledFloat(mappings, e.Name, s.Fields.Rename); err != nil {
			c.failOnServers(e,
				"add mapping: FILE that maps it as scaled_float with its scaling_factor, or write string or double",
				"the index would keep it as a float, which loses digits: %v", err)
		}
	}
}

// maxHashDepth is the maximum number of names in a hashed path if the file has `sensitive`. For a path of n names, the
// mask needs 2^(n-1) patterns, because a list may follow each name but the last.
const maxHashDepth = 8

// checkFields checks that the fields of a document do not contradict each other.
func (c *checker) checkFields(f *Fields) {
	included, excluded := make(map[string]bool), c.ValueOf(&f.Exclude).All()
	for _, e := range c.ValueOf(&f.Include).All() {
		field := c.checkedFieldKey(e, e.Source)
		included[field] = true
		c.refuseVersionField(e, field, "remove it")
	}
	for _, e := range c.ValueOf(&f.Hash).All() {
		c.checkHashedField(e, excluded)
	}
	for _, e := range excluded {
		field := c.checkedFieldKey(e, e.Source)
		c.FailIf(field != "" && included[field], e, "remove one of them", "%s is included too", yamlbind.Quoted(e.Source))
	}
	for _, e := range c.ValueOf(&f.Numbers).All() {
		c.checkedNames(e, e.Name)
	}
	c.checkRenamedFields(f)
}

// checkHashedField checks a path of fields.hash. excluded has the paths of fields.exclude.
func (c *checker) checkHashedField(hashed *value, excluded []*value) {
	field := c.checkedFieldKey(hashed, hashed.Source)
	for _, e := range excluded {
		outer := fieldKey(memberNames(e.Source))
		c.FailIf(outer != "" && isInside(field, outer), hashed, "remove one of them",
			"%s is excluded: there is nothing to hash", yamlbind.Quoted(hashed.Source))
	}
	c.refuseVersionField(hashed, field, "remove it")
	depth := len(memberNames(hashed.Source))
	c.FailIf(len(c.cfg.Sensitive) > 0 && depth > maxHashDepth, hashed, "hash an attribute around it",
		"the path has %d names, and %d are the most beside sensitive", depth, maxHashDepth)
}

// checkRenamedFields checks that the new names of fields differ.
func (c *checker) checkRenamedFields(f *Fields) {
	attributes := make(map[string]string) // path of the attribute, by the fieldKey of the new field
	for _, e := range c.ValueOf(&f.Rename).All() {
		names := c.checkedNames(e, e.Name)
		if names == nil {
			continue
		}
		names[len(names)-1] = e.Text()
		field := fieldKey(names)
		other, isTaken := attributes[field]
		c.FailIf(isTaken, e, "give each its own name", "%s has this name already", other)
		c.refuseVersionField(e, field, "give it another name")
		attributes[field] = e.Name
	}
}

// warnOfNameClashes warns if an attribute is renamed to the name of another attribute that the document also contains.
// The document contains it under that name if the attribute is included, and neither excluded nor renamed.
func (c *checker) warnOfNameClashes(sink *Sink) {
	f := &sink.Search.Fields
	if sink.Search.ForEach != nil || c.namesBrokenEntity(sink) {
		return
	}
	included := textsOf(c.ValueOf(&f.Include).All(), (*value).Written)
	excluded := textsOf(c.ValueOf(&f.Exclude).All(), (*value).Written)
	renamed := textsOf(c.ValueOf(&f.Rename).All(), func(e *value) string { return e.Name })
	for _, e := range c.ValueOf(&f.Rename).All() {
		isTopLevel := len(memberNames(e.Name)) == 1
		name := e.Text() // the new name
		isIncluded := len(included) == 0 || slices.Contains(included, name)
		otherKeepsName := isIncluded && !slices.Contains(excluded, name) && !slices.Contains(renamed, name)
		if !isTopLevel || !otherKeepsName {
			continue
		}
		isDeclared := slices.ContainsFunc(c.declaredShapes(c.scopeOf(sink)),
			func(s *entity.Shape) bool { return s.Member(name) != nil })
		c.WarnIf(isDeclared, e, "give it another name, or exclude that attribute",
			"the document has the attribute %s, too, and one field of that name", name)
	}
}

func (c *checker) refuseVersionField(e *value, field, hint string) {
	c.FailIf(field == "_tw", e, hint, "_tw is where a document keeps its version")
}

// checkedFieldKey returns the fieldKey of a path. If the path goes through an element of a list, checkedFieldKey notes
// a problem and returns "".
func (c *checker) checkedFieldKey(e *value, path string) string {
	return fieldKey(c.checkedNames(e, path))
}

// fieldKey returns the names of a path as one string, which identifies a field.
func fieldKey(names []string) string { return strings.Join(names, "\x00") }

// isInside reports whether field is outer or a part of it. Both are made by fieldKey.
func isInside(field, outer string) bool { return strings.HasPrefix(field+"\x00", outer+"\x00") }

// memberNames returns the names that a path consists of. It returns nil if the path is wrong or goes through an element
// of a list.
func memberNames(path string) []string {
	p, err := item.ParsePath(path)
	if err != nil {
		return nil
	}
	names, _ := p.Names()
	return names
}

// checkedNames is memberNames, and notes a problem if the path goes through one element of a list: a field of a
// document always covers all elements.
func (c *checker) checkedNames(v *value, path string) []string {
	p, err := item.ParsePath(path)
	if err != nil {
		return nil // yamlbind has reported the error
	}
	names, ok := p.Names()
	c.FailIf(!ok, v, "write the path without the index: all elements of the list are meant",
		"%s names one element of a list", path)
	return names
}
