package config

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/template"
)

// minHMACKey is the least length of the secret: 128 bits.
const minHMACKey = 16

// sensitiveRules checks that what the file calls sensitive reaches no sink that
// does not say so, and that there is a secret where one is needed.
func (c *checker) sensitiveRules() {
	c.hmacKeyRules()
	mask, err := mask.New(c.cfg.Sensitive, []byte("any")) // of what it hides only places matter here
	if err != nil {
		return
	}
	for _, s := range c.sinks {
		for _, e := range c.Of(&s.AllowSensitive).All() {
			switch {
			case e.Data == nil: // said by the walk
			case mask == nil:
				c.Fail(e, "remove it, or add sensitive: [...] at the top", "the file has no sensitive attributes")
			case !mask.Hides(e.Source):
				c.Fail(e, "remove it; sensitive are "+yamlbind.Enumerate(texts(mask.Patterns(), item.Pattern.String), "and"), "%s is not sensitive", e.Source)
			}
		}
		if a := s.Archive; a != nil { // it holds every attribute, and for long
			switch {
			case mask != nil && !a.Masked && !c.Has(&s.AllowSensitive):
				c.Fail(a, "add masked: true, or allow_sensitive with what it may hold as it is", "the archive does not say what becomes of sensitive attributes")
			case mask == nil && a.Masked:
				c.Warn(&a.Masked, "remove it, or add sensitive: [...] at the top", "the file has no sensitive attributes: nothing is masked")
			}
		}
		if left := mask.Except(s.AllowSensitive); left != nil {
			c.reads(s, sight{left, s.AllowSensitive})
		}
	}
}

// hmacKeyRules checks the secret, and that it is there where it is needed only.
func (c *checker) hmacKeyRules() {
	users := []any{&c.cfg.Sensitive}
	for _, s := range c.sinks {
		if s.Search == nil {
			continue
		}
		if users = append(users, &s.Search.Fields.Hash); s.Search.HashID {
			users = append(users, &s.Search.HashID)
		}
	}
	users = slices.DeleteFunc(users, func(at any) bool { return !c.Has(at) })
	key := c.Of(&c.cfg.HMACKey)
	if key == nil {
		for _, u := range users {
			c.Fail(u, "add hmac_key: '${TABLEWAKE_HMAC_KEY}' at the top, and keep it secret", "it needs a secret, and the file has no hmac_key")
		}
		return
	}
	if key.Data == nil {
		return
	}
	c.FailIf(len(key.Text()) < minHMACKey, key, "make one with: openssl rand -hex 32",
		"it has %d bytes, and %d are the least: whoever sees what it hides could try short ones", len(key.Text()), minHMACKey)
	c.WarnIf(len(users) == 0, key, "remove it",
		"nothing uses it: the file has no sensitive, no id: hmac and no fields.hash")
	c.FailIf(!key.Env, key, "write hmac_key: '${TABLEWAKE_HMAC_KEY}', and make a new key: who reads the file knows this one",
		"a secret stands in the file")
}

// sight is what a sink may not see.
type sight struct {
	left    *mask.Mask
	allowed []item.Pattern
}

// hidesAll tells whether a path leads into what may not be seen, not merely to
// something around it.
func (s sight) hidesAll(path string) bool {
	return covered(path, s.left.Patterns()) && !covered(path, s.allowed)
}

// covered tells whether all that fits path, itself a pattern, fits one of the patterns.
func covered(path string, by []item.Pattern) bool {
	m, err := mask.New(patternsOf([]string{path}), []byte("any"))
	return err == nil && m != nil && m.Except(by) == nil
}

// reads refuses what a sink reads and may not have.
func (c *checker) reads(s *Sink, see sight) {
	switch {
	case s.View != nil:
		for _, e := range slices.Concat(c.Of(&s.View.Key).All(), c.Of(&s.View.Attributes).All()) {
			c.readsTemplate(e, "", see)
		}
	case s.Aggregate != nil:
		c.aggregateReads(s.Aggregate, see)
	case s.Search != nil:
		c.readsTemplate(c.Of(&s.Search.Index), "", see)
		for _, e := range c.Of(&s.Search.Fields.Include).All() {
			if see.hidesAll(e.Source) && !covered(e.Source, patternsOf(s.Search.Fields.Hash)) {
				c.readsPath(e, e.Source, see)
			}
		}
	case s.Archive != nil && !s.Archive.Masked: // else what it is named by is masked, too
		c.readsTemplate(c.Of(&s.Archive.Key), "", see)
		c.readsTemplate(c.Of(&s.Archive.Partition), "", see)
	case s.Notify != nil:
		c.maskedEvents(s.Notify, see)
	}
}

func (c *checker) aggregateReads(a *Aggregate, see sight) {
	for _, e := range c.Of(&a.Group).All() {
		c.readsTemplate(e, a.ForEach, see)
	}
	for _, e := range c.Of(&a.Values).All() {
		for _, way := range e.All() {
			path := way.Source
			if rest, each := cutEach(path); each && a.ForEach != "" {
				path = element(a.ForEach, rest)
			}
			c.readsPath(way, path, see)
		}
	}
	if c.Has(&a.ForEach) && see.hidesAll(a.ForEach) {
		c.readsPath(c.Of(&a.ForEach), a.ForEach, see)
	}
}

// readsTemplate refuses a template that reads what may not be seen. forEach is the
// list that {each} is an element of.
func (c *checker) readsTemplate(v *value, forEach string, see sight) {
	t := templateOf(v)
	if t == nil {
		return
	}
	for _, p := range t.Paths() {
		c.readsPath(v, p, see)
	}
	for _, p := range t.EachPaths() {
		if rest, ok := cutEach(p); ok && forEach != "" {
			c.readsPath(v, element(forEach, rest), see)
		}
	}
}

func (c *checker) readsPath(v *value, path string, see sight) {
	c.FailIf(path != "" && see.left.Hides(path), v, "add allow_sensitive: ["+yamlbind.Quoted(path)+"] to the sink, or leave it out",
		"%s is sensitive, and the sink does not say that it may hold it", path)
}

// maskedEvents says which events tell that something sensitive changed, and not what
// it was and is.
func (c *checker) maskedEvents(n *Notify, see sight) {
	for _, e := range c.Of(&n.Events).All() {
		i := slices.IndexFunc(c.cfg.Detectors, func(d Detector) bool { return d.Name == e.Text() })
		if i < 0 {
			continue
		}
		for _, path := range c.cfg.Detectors[i].paths {
			c.WarnIf(see.hidesAll(path), e, "add allow_sensitive: ["+yamlbind.Quoted(path)+"] to the sink where the values should be sent",
				"%s is sensitive: the old and the new value in these events are masked", path)
		}
	}
}

// element is the pattern of a path in each element of a list.
func element(list, rest string) string {
	if rest != "" && rest[0] != '[' {
		rest = "." + rest
	}
	return list + "[*]" + rest
}

func templateOf(v *value) *template.Template { return yamlbind.As[*template.Template](v) }

func patternsOf(paths []string) []item.Pattern {
	var ps []item.Pattern
	for _, path := range paths {
		if p, err := item.ParsePattern(path); err == nil {
			ps = append(ps, p)
		}
	}
	return ps
}
