package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/template"
)

// minHMACKey is the minimum length of the secret, in bytes: 128 bits.
const minHMACKey = 16

// checkSensitive checks that sensitive attributes reach only sinks that allow them, and that the file has a secret if
// one is needed.
func (c *checker) checkSensitive() {
	c.checkHMACKey()
	sensitive, err := mask.New(c.cfg.Sensitive, []byte("any")) // any secret will do: only the hidden paths matter here
	if err != nil {
		return
	}
	for _, s := range c.sinks {
		c.checkAllowed(s, sensitive)
		if s.Archive != nil { // it stores every attribute, for a long time
			c.checkMasked(s, sensitive)
		}
		hiddenMask := sensitive.Except(s.AllowSensitive)
		if hiddenMask == nil {
			continue
		}
		hidden := hiddenPaths{hiddenMask, s.AllowSensitive}
		before := len(c.Problems)
		c.checkReads(s, hidden)
		if len(c.Problems) == before { // after a problem, its hint may already allow the key attribute
			c.checkKeys(s, hidden)
		}
	}
}

// checkAllowed checks that the sink allows only attributes that are sensitive.
func (c *checker) checkAllowed(s *Sink, sensitive *mask.Mask) {
	for _, e := range c.ValueOf(&s.AllowSensitive).All() {
		switch {
		case e.Data == nil, c.undeclared[e]: // already reported
		case sensitive == nil:
			c.Fail(e, "remove it, or add sensitive: [...] at the top", "the file has no sensitive attributes")
		case !sensitive.Hides(e.Source):
			c.Fail(e, "remove it; sensitive are "+yamlbind.Enumerate(textsOf(sensitive.Patterns(), item.Pattern.String), "and"),
				"%s is not sensitive", e.Source)
		}
	}
}

// checkMasked checks whether an archive masks sensitive attributes.
func (c *checker) checkMasked(s *Sink, sensitive *mask.Mask) {
	a := s.Archive
	if c.Has(&a.Masked) && !c.Sound(&a.Masked) {
		return // yamlbind has reported it
	}
	if sensitive == nil {
		c.WarnIf(a.Masked, &a.Masked, "remove it, or add sensitive: [...] at the top",
			"the file has no sensitive attributes: nothing is masked")
		return
	}
	saysNothing := !a.Masked && !c.Has(&s.AllowSensitive)
	c.FailIf(saysNothing, a, "add masked: true, or allow_sensitive with what it may hold as it is",
		"the archive does not say what becomes of sensitive attributes")
}

// checkKeys refuses a sink that stores the keys of items if one of its entities has a hidden key attribute. The key
// attributes of items without an entity are unknown before the first change.
func (c *checker) checkKeys(s *Sink, hidden hiddenPaths) {
	storesKeysInIDs := s.Search != nil && !s.Search.HashID
	if s.View == nil && s.Aggregate == nil && !storesKeysInIDs {
		return
	}
	hint := "add allow_sensitive: ['%s'] to the sink"
	if storesKeysInIDs {
		hint += ", or write id: hmac"
	}
	entities := c.scopeOf(s).Entities()
	if entities == nil {
		entities = c.entitySet().All()
	}
	for _, e := range entities {
		for _, k := range e.Key {
			if path := item.PathText([]string{k.Attribute}); hidden.hidesValue(path) {
				c.Fail(s, fmt.Sprintf(hint, path), "the key attribute %s is sensitive, and the sink stores the keys of items",
					k.Attribute)
				return
			}
		}
	}
}

// hmacKeyUsers returns the fields of the file that need hmac_key.
func (c *checker) hmacKeyUsers() []any {
	users := []any{&c.cfg.Sensitive}
	for _, s := range c.sinks {
		if s.Search == nil {
			continue
		}
		users = append(users, &s.Search.Fields.Hash)
		if s.Search.HashID {
			users = append(users, &s.Search.HashID)
		}
	}
	return slices.DeleteFunc(users, func(field any) bool { return !c.Has(field) })
}

// checkHMACKey checks hmac_key, the secret. The file must have it if another key of the file needs a secret. If no key
// needs one, it warns.
func (c *checker) checkHMACKey() {
	users := c.hmacKeyUsers()
	key := c.ValueOf(&c.cfg.HMACKey)
	if key == nil {
		for _, user := range users {
			c.Fail(user, "add hmac_key: '${TABLEWAKE_HMAC_KEY}' at the top, and keep it secret",
				"it needs a secret, and the file has no hmac_key")
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
	c.FailIf(!key.Env, key,
		"write hmac_key: '${TABLEWAKE_HMAC_KEY}', and make a new key: who reads the file knows this one",
		"a secret is in the file")
	if key.Default {
		problem := c.Problem(key,
			"set the variable, as to what `openssl rand -hex 32` prints; the default is for saved records",
			"the default is in the file: who reads it can find out what was hashed, by trying values")
		c.Warnings = append(c.Warnings, problem)
		c.notLive = append(c.notLive, problem)
	}
}

// hiddenPaths are the sensitive paths that a sink does not allow.
type hiddenPaths struct {
	mask    *mask.Mask
	allowed []item.Pattern // patterns that the sink allows
}

// hidesValue reports whether the whole value at the path is hidden, not only a part of the value.
func (h hiddenPaths) hidesValue(path string) bool {
	return isCovered(path, h.mask.Patterns()) && !isCovered(path, h.allowed)
}

// isCovered reports whether patterns match path, or all paths that it matches if it is a pattern.
func isCovered(path string, patterns []item.Pattern) bool {
	m, err := mask.New(patternsOf([]string{path}), []byte("any"))
	return err == nil && m != nil && m.Except(patterns) == nil
}

// checkReads refuses hidden paths that the sink reads.
func (c *checker) checkReads(s *Sink, hidden hiddenPaths) {
	switch {
	case s.View != nil:
		c.checkViewReads(s.View, hidden)
	case s.Aggregate != nil:
		c.checkAggregateReads(s, hidden)
	case s.Search != nil:
		c.checkSearchReads(s.Search, hidden)
	case s.Archive != nil && !s.Archive.Masked: // a masked archive also masks the values in its object names
		c.checkTemplateReads(c.ValueOf(&s.Archive.Key), "", hidden)
		c.checkTemplateReads(c.ValueOf(&s.Archive.Partition), "", hidden)
	case s.Notify != nil:
		for _, e := range c.ValueOf(&s.Notify.Attributes).All() {
			for _, path := range readPaths(e.Source, c.scopeOf(s)) {
				c.checkPathRead(e, path, hidden)
			}
		}
		c.warnMaskedEvents(s.Notify, hidden)
	}
}

// checkSearchReads refuses hidden paths that a search sink reads.
func (c *checker) checkSearchReads(s *Search, hidden hiddenPaths) {
	c.checkTemplateReads(c.ValueOf(&s.Index), "", hidden)
	if s.ForEach != nil {
		c.checkPathOfElements(&s.ForEach, hidden)
		if s.ForEach.By != "" && !s.HashID {
			c.checkElementRead(c.elementsAt(&s.ForEach), s.ForEach.Path, s.ForEach.By, hidden)
		}
	}
	for _, e := range c.ValueOf(&s.Fields.Include).All() {
		if hidden.hidesValue(e.Source) && !isCovered(e.Source, patternsOf(s.Fields.Hash)) {
			c.checkPathRead(e, e.Source, hidden)
		}
	}
}

func (c *checker) checkViewReads(v *View, hidden hiddenPaths) {
	path, by := "", ""
	if v.ForEach != nil {
		path, by = v.ForEach.Path, v.ForEach.By
		c.checkPathOfElements(&v.ForEach, hidden)
	}
	for _, e := range slices.Concat(c.ValueOf(&v.Key).All(), c.ValueOf(&v.Attributes).All()) {
		c.checkTemplateReads(e, path, hidden)
		readsIdentity := templateOf(e) != nil && templateOf(e).ReadsIdentity()
		if readsIdentity && by != "" {
			c.checkElementRead(e, path, by, hidden)
		}
	}
}

// readPaths returns the paths of the item that a sink reads for a path in the file. If path is a name that the keys of
// the scope bind, these are the paths of the key attributes.
func readPaths(path string, sc *entity.Scope) []string {
	if sc == nil {
		return []string{path}
	}
	if binding := sc.Binding(path); binding != nil {
		return binding.Attributes()
	}
	return []string{cmp.Or(itemPath(path), path)}
}

func (c *checker) checkPathOfElements(field **ForEach, hidden hiddenPaths) {
	if hidden.hidesValue((*field).Path) {
		c.checkPathRead(c.elementsAt(field), (*field).Path, hidden)
	}
}

// checkElementRead refuses to read a hidden path inside the elements of the list or map at path. rest is the path
// inside each element.
func (c *checker) checkElementRead(v *value, path, rest string, hidden hiddenPaths) {
	inList, inMap := elementPattern(path, rest), joinPattern(path+".*", rest)
	isHiddenInMapOnly := hidden.mask.Hides(inMap) && !hidden.mask.Hides(inList)
	if isHiddenInMapOnly {
		c.checkPathRead(v, inMap, hidden)
		return
	}
	c.checkPathRead(v, inList, hidden)
}

func (c *checker) checkAggregateReads(s *Sink, hidden hiddenPaths) {
	a := s.Aggregate
	for _, e := range c.ValueOf(&a.Group).All() {
		c.checkTemplateReads(e, a.ForEach, hidden)
	}
	for _, e := range c.ValueOf(&a.Values).All() {
		for _, operand := range e.All() {
			for _, path := range operandPaths(operand.Source, s) {
				c.checkPathRead(operand, path, hidden)
			}
		}
	}
	if c.Has(&a.ForEach) && hidden.hidesValue(a.ForEach) {
		c.checkPathRead(c.ValueOf(&a.ForEach), a.ForEach, hidden)
	}
}

// operandPaths returns the paths of the item that an aggregate reads for the operand of a value.
func operandPaths(operand string, s *Sink) []string {
	if rest, hasEach := cutEachPrefix(operand); hasEach && s.Aggregate.ForEach != "" {
		return []string{elementPattern(s.Aggregate.ForEach, rest)}
	}
	return readPaths(operand, s.Scope)
}

// checkTemplateReads refuses a template that reads a hidden path. forEach is the path of the list whose elements {each}
// reads. It is "" if there is no list.
func (c *checker) checkTemplateReads(v *value, forEach string, hidden hiddenPaths) {
	t := templateOf(v)
	if t == nil {
		return
	}
	for _, p := range slices.Concat(t.Paths(), t.KeyPaths()) {
		c.checkPathRead(v, p, hidden)
	}
	for _, p := range t.EachPaths() {
		if rest, ok := cutEachPrefix(p); ok && forEach != "" {
			c.checkElementRead(v, forEach, rest, hidden)
		}
	}
}

// checkPathRead refuses a path that v reads if the path is hidden.
func (c *checker) checkPathRead(v *value, path string, hidden hiddenPaths) {
	isReported := v.Data == nil || c.undeclared[v]
	c.FailIf(path != "" && !isReported && hidden.mask.Hides(path), v,
		"add allow_sensitive: ["+yamlbind.Quoted(path)+"] to the sink, or leave it out",
		"%s is sensitive, and the sink does not say that it may hold it", path)
}

// warnMaskedEvents warns of events whose old and new values are masked.
func (c *checker) warnMaskedEvents(n *Notify, hidden hiddenPaths) {
	for _, e := range c.ValueOf(&n.Events).All() {
		i := slices.IndexFunc(c.cfg.Detectors, func(d Detector) bool { return d.Name == e.Text() })
		if i < 0 {
			continue
		}
		for _, path := range c.cfg.Detectors[i].paths {
			c.WarnIf(hidden.hidesValue(path), e, "add allow_sensitive: ["+yamlbind.Quoted(path)+
				"] to the sink where the values should be sent",
				"%s is sensitive: the old and the new value in these events are masked", path)
		}
	}
}

// elementPattern returns the pattern of the path rest inside every element of a list.
func elementPattern(list, rest string) string { return joinPattern(list+"[*]", rest) }

// joinPattern returns the pattern of the path rest inside the values that pattern matches.
func joinPattern(pattern, rest string) string {
	if rest != "" && rest[0] != '[' {
		rest = "." + rest
	}
	return pattern + rest
}

func templateOf(v *value) *template.Template { return yamlbind.As[*template.Template](v) }

func patternsOf(paths []string) []item.Pattern {
	var patterns []item.Pattern
	for _, path := range paths {
		if p, err := item.ParsePattern(path); err == nil {
			patterns = append(patterns, p)
		}
	}
	return patterns
}
