package pushdown

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// recordPath is the path of a text in a record. A zero byte separates the names of the path.
type recordPath string

const (
	eventName = recordPath("eventName")
	viewType  = recordPath("dynamodb\x00StreamViewType")
	userType  = recordPath("userIdentity\x00type")
	principal = recordPath("userIdentity\x00principalId")
)

// attributePath returns the path of an attribute's value. image is Keys, NewImage or OldImage, and tag is the type of
// the value, such as S.
func attributePath(image, attribute, tag string) recordPath {
	return recordPath(strings.Join([]string{"dynamodb", image, attribute, tag}, "\x00"))
}

// inImage reports whether p is a path in the given image.
func (p recordPath) inImage(image string) bool {
	return strings.HasPrefix(string(p), "dynamodb\x00"+image+"\x00")
}

// canBeNamed reports whether a pattern can name an attribute without ambiguity. A name with a dot or a $ is ambiguous.
func canBeNamed(attribute string) bool {
	return attribute != "" && !strings.ContainsAny(attribute, ".$\x00")
}

// pattern has the rules for the texts of a record, by path. A record matches if all these texts meet their rules. So
// every record matches the empty pattern.
type pattern map[recordPath]textRule

// acceptsMissing reports whether a text of the image may be absent in a record that matches.
func (p pattern) acceptsMissing(image string) bool {
	for path, l := range p {
		if l.absent && path.inImage(image) {
			return true
		}
	}
	return false
}

// intersection returns the pattern of the records that match both patterns. ok is false if no record can match both.
func (p pattern) intersection(q pattern) (both pattern, ok bool) {
	both = maps.Clone(p)
	if both == nil {
		both = pattern{}
	}
	for path, l := range q {
		if other, ok := both[path]; ok {
			l = other.intersection(l)
		}
		if l.matchesNothing() {
			return nil, false
		}
		both[path] = l
	}
	return both, true
}

// covers reports whether every record that matches q also matches p. True is certain; false means perhaps.
func (p pattern) covers(q pattern) bool {
	for path, l := range p {
		if other, ok := q[path]; !ok || !l.union(other).sameAs(l) {
			return false
		}
	}
	return true
}

// union returns the pattern of the records that match p or q. ok is false unless p and q have the same paths, and
// differ in at most one rule.
func (p pattern) union(q pattern) (either pattern, ok bool) {
	if len(p) != len(q) {
		return nil, false
	}
	var different []recordPath
	for path, l := range p {
		other, ok := q[path]
		if !ok {
			return nil, false
		}
		if !l.sameAs(other) {
			different = append(different, path)
		}
	}
	if len(different) > 1 {
		return nil, false
	}
	either = maps.Clone(p)
	for _, path := range different {
		either[path] = p[path].union(q[path])
	}
	return either, true
}

// String returns the pattern as JSON with sorted names.
func (p pattern) String() string {
	root := map[string]any{}
	for path, l := range p {
		names := strings.Split(string(path), "\x00")
		lastName := names[len(names)-1]
		object := root
		for _, name := range names[:len(names)-1] {
			if object[name] == nil {
				object[name] = map[string]any{}
			}
			object = object[name].(map[string]any)
		}
		object[lastName] = l.rules(lastName)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(root) // texts, lists and maps cannot fail
	return strings.TrimSpace(text.String())
}

// alternatives is a list of patterns. A record matches the list if it matches one of the patterns. So no record matches
// an empty list.
type alternatives []pattern

// anything is the pattern that every record matches.
var anything = alternatives{{}}

func (c alternatives) matchesAll() bool { return len(c) == 1 && len(c[0]) == 0 }

// union returns the patterns of the records that match c or d.
func (c alternatives) union(d alternatives) alternatives { return slices.Concat(c, d).simplify() }

// intersection returns the patterns of the records that match c and d.
func (c alternatives) intersection(d alternatives) alternatives {
	var both alternatives
	for _, p := range c {
		for _, q := range d {
			if pq, ok := p.intersection(q); ok {
				both = append(both, pq)
			}
		}
	}
	return both.simplify()
}

// simplify returns alternatives that match the same records with fewer patterns.
func (c alternatives) simplify() alternatives {
	c = slices.Clone(c)
	for i, p := range c {
		c[i] = maps.Clone(p)
		maps.DeleteFunc(c[i], func(path recordPath, l textRule) bool {
			matchesAnyText := l.anyExcept && len(l.except) == 0
			isAlwaysPresent := path == eventName
			return matchesAnyText && (l.absent || isAlwaysPresent)
		})
	}
	for merged := true; merged; {
		c, merged = c.mergeTwo()
	}
	slices.SortFunc(c, func(p, q pattern) int { return strings.Compare(p.String(), q.String()) })
	return c
}

// mergeTwo looks for two patterns that one pattern can replace, and replaces the first two, in place. ok is false if
// there are none.
func (c alternatives) mergeTwo() (merged alternatives, ok bool) {
	for i := range c {
		for j := range c {
			if i == j {
				continue
			}
			if c[i].covers(c[j]) {
				return slices.Delete(c, j, j+1), true
			}
			if both, ok := c[i].union(c[j]); ok {
				c[i] = both
				return slices.Delete(c, j, j+1), true
			}
		}
	}
	return c, false
}
