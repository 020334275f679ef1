package config

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/template"
)

// minHMACKey is the least length of the secret: 128 bits.
const minHMACKey = 16

// sensitiveRules checks that what the file calls sensitive reaches no sink that
// does not say so, and that there is a secret where one is needed.
func (c *checker) sensitiveRules(cfg *Config, root *value) {
	c.hmacKeyRules(cfg, root)
	mask, err := pipeline.NewMask(cfg.Sensitive, []byte("any")) // of what it hides only places matter here
	if err != nil {
		return
	}
	for i, s := range cfg.Sinks {
		v := root.get("sinks").all()[i]
		if len(v.all()) != 1 {
			continue
		}
		kind := v.entries[0]
		for _, e := range kind.get("allow_sensitive").all() {
			switch {
			case as[pipeline.Pattern](e).IsZero(): // said by the walk
			case mask == nil:
				c.fail(e, "remove it, or add sensitive: [...] at the top", "the file has no sensitive attributes")
			case !mask.Hides(e.source):
				c.fail(e, "remove it; sensitive are "+enumerate(patternTexts(mask.Patterns()), "and"), "%s is not sensitive", e.source)
			}
		}
		if s.Archive != nil {
			c.archiveSays(s.Archive, kind, mask)
		}
		if left := mask.Except(s.AllowSensitive); left != nil {
			c.reads(cfg, s, kind, sight{left, s.AllowSensitive})
		}
	}
}

// hmacKeyRules checks the secret, and that it is there where it is needed only.
func (c *checker) hmacKeyRules(cfg *Config, root *value) {
	users := []*value{root.get("sensitive")}
	for i, s := range cfg.Sinks {
		if s.Search == nil {
			continue
		}
		v := root.get("sinks").all()[i].entries[0]
		users = append(users, v.get("fields").get("hash"))
		if s.Search.HashID {
			users = append(users, v.get("id"))
		}
	}
	key, used := root.get("hmac_key"), false
	for _, u := range users {
		if u == nil {
			continue
		}
		used = true
		if key == nil {
			c.fail(u, "add hmac_key: '${TABLEWAKE_HMAC_KEY}' at the top, and keep it secret", "it needs a secret, and the file has no hmac_key")
		}
	}
	if key == nil || key.data == nil {
		return
	}
	if len(key.text()) < minHMACKey {
		c.fail(key, "make one with: openssl rand -hex 32", "it has %d bytes, and %d are the least: whoever sees what it hides could try short ones", len(key.text()), minHMACKey)
	}
	if !used {
		c.warn(key, "remove it", "nothing uses it: the file has no sensitive, no id: hmac and no fields.hash")
	}
	if !key.env {
		c.fail(key, "write hmac_key: '${TABLEWAKE_HMAC_KEY}', and make a new key: who reads the file knows this one", "a secret stands in the file")
	}
}

// archiveSays makes sure that an archive says what becomes of what is sensitive:
// it holds every attribute, and for long.
func (c *checker) archiveSays(a *Archive, v *value, mask *pipeline.Mask) {
	switch {
	case mask != nil && !a.Masked && v.get("allow_sensitive") == nil:
		c.fail(v, "add masked: true, or allow_sensitive with what it may hold as it is", "the archive does not say what becomes of sensitive attributes")
	case mask == nil && a.Masked:
		c.warn(v.get("masked"), "remove it, or add sensitive: [...] at the top", "the file has no sensitive attributes: nothing is masked")
	}
}

// sight is what a sink may not see.
type sight struct {
	left    *pipeline.Mask
	allowed []pipeline.Pattern
}

// hidesAll tells whether a path leads into what may not be seen, not merely to
// something around it.
func (s sight) hidesAll(path string) bool {
	return covered(path, s.left.Patterns()) && !covered(path, s.allowed)
}

// covered tells whether all that fits path, itself a pattern, fits one of the patterns.
func covered(path string, by []pipeline.Pattern) bool {
	p, err := pipeline.ParsePattern(path)
	if err != nil {
		return false
	}
	m, err := pipeline.NewMask([]pipeline.Pattern{p}, []byte("any"))
	return err == nil && m.Except(by) == nil
}

// reads refuses what a sink reads and may not have.
func (c *checker) reads(cfg *Config, s Sink, v *value, see sight) {
	switch {
	case s.View != nil:
		for _, e := range append(v.get("key").all(), v.get("attributes").all()...) {
			c.readsTemplate(e, "", see)
		}
	case s.Aggregate != nil:
		for _, e := range v.get("group").all() {
			c.readsTemplate(e, s.Aggregate.ForEach, see)
		}
		for _, e := range v.get("values").all() {
			for _, way := range e.all() {
				path := way.source
				if rest, each := cutEach(path); each && s.Aggregate.ForEach != "" {
					path = element(s.Aggregate.ForEach, rest)
				}
				c.readsPath(way, path, see)
			}
		}
		if e := v.get("for_each"); e != nil && see.hidesAll(s.Aggregate.ForEach) {
			c.readsPath(e, s.Aggregate.ForEach, see)
		}
	case s.Search != nil:
		c.readsTemplate(v.get("index"), "", see)
		for _, e := range v.get("fields").get("include").all() {
			if see.hidesAll(e.source) && !covered(e.source, patternsOf(s.Search.Hash)) {
				c.readsPath(e, e.source, see)
			}
		}
	case s.Archive != nil && s.Archive.Masked: // what it is named by is masked, too
	case s.Archive != nil:
		c.readsTemplate(v.get("key"), "", see)
		c.readsTemplate(v.get("partition"), "", see)
	case s.Notify != nil:
		c.maskedEvents(cfg, v, see)
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
	if path == "" || !see.left.Hides(path) {
		return
	}
	c.fail(v, "add allow_sensitive: ["+quoted(path)+"] to the sink, or leave it out", "%s is sensitive, and the sink does not say that it may hold it", path)
}

// maskedEvents says which events tell that something sensitive changed, and not what
// it was and is.
func (c *checker) maskedEvents(cfg *Config, v *value, see sight) {
	for _, e := range v.get("events").all() {
		for _, d := range cfg.Detectors {
			if d.Name != e.text() {
				continue
			}
			for _, path := range d.paths {
				if see.hidesAll(path) {
					c.warn(e, "add allow_sensitive: ["+quoted(path)+"] to the sink where the values should be sent", "%s is sensitive: the old and the new value in these events are masked", path)
				}
			}
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

func templateOf(v *value) *template.Template { return as[*template.Template](v) }

func patternTexts(ps []pipeline.Pattern) []string {
	texts := make([]string, len(ps))
	for i, p := range ps {
		texts[i] = p.String()
	}
	return texts
}

func patternsOf(paths []string) []pipeline.Pattern {
	var ps []pipeline.Pattern
	for _, path := range paths {
		if p, err := pipeline.ParsePattern(path); err == nil {
			ps = append(ps, p)
		}
	}
	return ps
}
