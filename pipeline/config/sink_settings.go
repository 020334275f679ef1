package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/config/indexmap"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
)

// settingsOf returns the settings that shape the output of a sink. The result maps the path of each setting to the
// setting's value in canonical form. The settings include the sink's own keys ("view.key.PK") and keys outside the sink
// ("source.tables", "filters", "detect.paid", "sensitive", "hmac_key"). Two files with the same settings make the sink
// write the same output. It makes no difference whether a file writes a default or leaves it out. Keys that only change
// the sink's speed or its destination are not included. Secrets are included as digests.
func (c *checker) settingsOf(s *Sink) map[string]string {
	kind := c.ValueOf(s).Entries[0]
	m := make(settings)
	m.add(kind.Name, kind)

	m.set("source.tables", joinSet(textsOf(c.cfg.Source.Tables, tableName)))
	if c.cfg.Source.Kinesis != "" {
		m.set("source.kinesis", "versions are times") // the name of the Kinesis stream does not change the output
	}
	m.set("filters", c.canonicalFilters(c.cfg.Filters))
	m.set(kind.Name+".filters", c.canonicalFilters(s.Filters))
	for _, d := range c.ValueOf(&c.cfg.Detectors).All() {
		if s.receivesEvents(d.Name) {
			m.set(yamlbind.Join("detect", d.Name), canonicalValue(d))
		}
	}
	m.addSensitive(c.cfg, s)
	m.addEntities(c, s)
	switch {
	case s.View != nil:
		m.setForEach("view", s.View.ForEach)
		m["view.tombstones"] = "apart" // even if the file leaves it out
		if s.View.InPlace {
			m["view.tombstones"] = "in_place"
		}
		m["view.guards"] = s.View.guardedParts(len(c.cfg.Source.Tables))
	case s.Search != nil:
		m.set("search.fields.include", joinSet(textsOf(s.Search.Fields.Include, canonicalPath)))
		m.set("search.mapping", mappingDigest(s.Search.Mapping))
		m.setForEach("search", s.Search.ForEach)
	case m["archive.kinds"] == "change, ttl_delete, user_delete":
		delete(m, "archive.kinds") // all kinds, as in a file without the key
	}
	return m
}

// settings maps the path of a key to the key's value in canonical form.
type settings map[string]string

func (m settings) set(path, text string) {
	if text != "" {
		m[path] = text
	}
}

// add adds the settings of v and of the values inside v.
func (m settings) add(path string, v *value) {
	switch v.Rule.Shape {
	case yamlbind.ObjectShape:
		for _, k := range v.Rule.Keys {
			if e := v.Get(k.Name); e != nil && !k.Apart && !isDefault(k, e) {
				m.add(yamlbind.Join(path, k.Name), e)
			}
		}
	case yamlbind.MapShape:
		m.set(path, v.Text()) // some maps can be written as one word
		if v.Rule.Ordered {
			m.set(path, strings.Join(textsOf(v.Entries, func(e *value) string { return e.Name }), ", "))
		}
		namesArePaths := v.Rule.Name != nil && v.Rule.Name.Kind.AsWritten
		for _, e := range v.Entries {
			name := e.Name
			if namesArePaths {
				name = canonicalPath(name)
			}
			m.add(yamlbind.Join(path, name), e)
		}
	case yamlbind.ListShape:
		m.set(path, joinSet(textsOf(v.Entries, canonicalScalar)))
	case yamlbind.AnyShape:
		m.addDigests(path, yamlbind.As[With](v).node)
	default:
		m.set(path, canonicalScalar(v))
	}
}

// setForEach sets for_each.path, so that the short form, for_each: PATH, has the same settings as the long form.
func (m settings) setForEach(kind string, e *ForEach) {
	if e == nil {
		return
	}
	delete(m, kind+".for_each")
	m.set(kind+".for_each.path", canonicalPath(e.Path))
}

// isDefault reports whether e is the default of the key.
func isDefault(k yamlbind.Key, e *value) bool {
	return k.Def != "" && strings.EqualFold(canonicalScalar(e), strings.Trim(k.Def, "'"))
}

// addDigests adds the settings of a custom sink as digests, because they may contain secrets.
func (m settings) addDigests(path string, n *yaml.Node) {
	if n == nil {
		return
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			m.addDigests(yamlbind.Join(path, n.Content[i].Value), n.Content[i+1])
		}
		return
	}
	h := sha256.New()
	digestNode(h, n)
	m[path] = shortDigest(h.Sum(nil))
}

// receivesEvents reports whether the sink receives the events of a detector.
func (s *Sink) receivesEvents(detector string) bool {
	return s.Custom != nil || s.Notify != nil && slices.Contains(s.Notify.Events, detector)
}

// addEntities adds the entities that decide which items the sink receives and how its rows are guarded (protected from
// older versions).
func (m settings) addEntities(c *checker, s *Sink) {
	names := c.entitiesOf(s)
	for i := range c.cfg.Entities {
		e := &c.cfg.Entities[i]
		if !slices.Contains(names, e.Name) {
			continue
		}
		path := yamlbind.Join("entities", e.Name)
		m.add(path+".key", c.ValueOf(&e.Key))
		if e.When != nil {
			m.add(path+".when", c.ValueOf(&e.When))
		}
		if s.View != nil && len(e.Unique) > 0 {
			m.add(path+".unique", c.ValueOf(&e.Unique))
		}
	}
}

// entitiesOf returns the names of the entities that the output of a sink depends on. Names may be repeated.
func (c *checker) entitiesOf(s *Sink) (names []string) {
	if c.readsEntity(c.ValueOf(s)) {
		names = textsOf(c.cfg.Entities, func(e Entity) string { return e.Name })
	}
	for field, entities := range c.ofNames {
		isInFilters := strings.HasPrefix(field, "filters[")
		isInSink := strings.HasPrefix(field+".", c.ValueOf(s).Field+".")
		detector, isInDetector := strings.CutPrefix(field, "detect.")
		if isInFilters || isInSink || isInDetector && s.receivesEvents(detector) {
			names = append(names, entities...)
		}
	}
	return names
}

// readsEntity reports whether a template in v or inside it has {@entity}.
func (c *checker) readsEntity(v *value) bool {
	t := templateOf(v)
	return t != nil && t.ReadsEntity() || slices.ContainsFunc(v.All(), c.readsEntity)
}

// addSensitive adds the sensitive paths that are hidden from the sink, if they affect its output. It also adds a digest
// of hmac_key if the output depends on it.
func (m settings) addSensitive(cfg *Config, s *Sink) {
	hidden := s.hiddenText(cfg.Sensitive)
	m.set("sensitive", hidden)
	if s.needsSecret(hidden) && cfg.HMACKey != "" {
		sum := sha256.Sum256([]byte("tablewake hmac_key\x00" + cfg.HMACKey))
		m["hmac_key"] = shortDigest(sum[:])
	}
}

// needsSecret reports whether the sink's output depends on hmac_key. hidden is the result of hiddenText.
func (s *Sink) needsSecret(hidden string) bool {
	switch {
	case s.Search != nil: // a document leaves hidden values out, and hashes others
		return s.Search.HashID || len(s.Search.Fields.Hash) > 0
	case s.View != nil || s.Aggregate != nil:
		return false
	}
	return hidden != "" // hidden values are masked
}

// hiddenText returns the patterns of sensitive that are hidden from the sink and affect its output, and the allowed
// paths inside these patterns. An aggregate reads no hidden path, and a view only leaves them out of `attributes: all`.
func (s *Sink) hiddenText(sensitive []item.Pattern) string {
	if readsNone := s.Aggregate != nil || s.View != nil && !s.View.AllAttributes; readsNone {
		return ""
	}
	m, err := mask.New(sensitive, []byte("any"))
	if err != nil {
		return ""
	}
	hidden := m.Except(s.AllowSensitive).Patterns()
	if s.View != nil {
		return joinSet(textsOf(hidden, canonicalPattern))
	}
	if s.Search != nil {
		hidden = slices.DeleteFunc(hidden, s.Search.Fields.isUnaffectedBy)
	}
	remaining, err := mask.New(hidden, []byte("any"))
	if err != nil || remaining == nil {
		return ""
	}
	isOutside := func(p item.Pattern) bool { return !remaining.Hides(p.String()) }
	allowed := slices.DeleteFunc(slices.Clone(s.AllowSensitive), isOutside)
	text := joinSet(textsOf(hidden, canonicalPattern))
	if len(allowed) > 0 {
		text += " but " + joinSet(textsOf(allowed, canonicalPattern))
	}
	return text
}

// isUnaffectedBy reports whether hiding the paths of a pattern does not change the document: no included field has one
// of the paths, or all of them are hashed.
func (f *Fields) isUnaffectedBy(hidden item.Pattern) bool {
	if isHashed := isCovered(hidden.String(), patternsOf(f.Hash)); isHashed {
		return true
	}
	if f.Include == nil { // every field is included
		return false
	}
	m, err := mask.New([]item.Pattern{hidden}, []byte("any"))
	return err == nil && !slices.ContainsFunc(f.Include, m.Hides)
}

// mappingDigest returns a digest of a mapping that does not depend on the order of names. It returns "" if there is no
// mapping.
func mappingDigest(mapping json.RawMessage) string {
	if mapping == nil {
		return ""
	}
	v, err := indexmap.Decode(mapping)
	if err != nil {
		return "" // cannot happen: readMapping has parsed it
	}
	text, err := json.Marshal(v) // sorts the names
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return shortDigest(sum[:])
}

// shortDigest returns the first 8 bytes of a digest, which are enough to distinguish two settings.
func shortDigest(sum []byte) string { return "sha256:" + hex.EncodeToString(sum[:8]) }

// digestNode writes a YAML node to the hash.
func digestNode(h hash.Hash, n *yaml.Node) {
	fmt.Fprintf(h, "%d%s%q", n.Kind, n.ShortTag(), n.Value)
	for _, e := range n.Content {
		digestNode(h, e)
	}
	fmt.Fprint(h, ";")
}
