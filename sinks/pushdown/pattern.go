package pushdown

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// place is where in a record a text stands: names with a zero byte between.
type place string

const (
	eventName = place("eventName")
	viewType  = place("dynamodb\x00StreamViewType")
	userType  = place("userIdentity\x00type")
	principal = place("userIdentity\x00principalId")
)

// of is the place of an attribute's value of one type. image is Keys, NewImage or OldImage.
func of(image, attribute, tag string) place {
	return place(strings.Join([]string{"dynamodb", image, attribute, tag}, "\x00"))
}

// within tells whether p is in an image.
func (p place) within(image string) bool {
	return strings.HasPrefix(string(p), "dynamodb\x00"+image+"\x00")
}

// nameable tells whether a pattern can name an attribute and mean that one alone.
func nameable(attribute string) bool {
	return attribute != "" && !strings.ContainsAny(attribute, ".$\x00")
}

// pattern is what a record must be: each text as its leaf says. The empty one is met by all.
type pattern map[place]leaf

// and is what meets both; ok is false where nothing does.
func (p pattern) and(q pattern) (both pattern, ok bool) {
	both = maps.Clone(p)
	if both == nil {
		both = pattern{}
	}
	for at, l := range q {
		if has, there := both[at]; there {
			l = has.and(l)
		}
		if l.impossible() {
			return nil, false
		}
		both[at] = l
	}
	return both, true
}

// covers tells whether all that meets q meets p.
func (p pattern) covers(q pattern) bool {
	for at, l := range p {
		if of, there := q[at]; !there || !l.or(of).equal(l) {
			return false
		}
	}
	return true
}

// joined is p or q as one pattern, where one can say it.
func (p pattern) joined(q pattern) (pattern, bool) {
	if len(p) != len(q) {
		return nil, false
	}
	differs := place("")
	for at, l := range p {
		of, there := q[at]
		switch {
		case !there:
			return nil, false
		case l.equal(of):
		case differs != "":
			return nil, false
		default:
			differs = at
		}
	}
	if differs == "" {
		return p, true
	}
	j := maps.Clone(p)
	j[differs] = p[differs].or(q[differs])
	return j, true
}

// String is the pattern as JSON, its names in order.
func (p pattern) String() string {
	root := map[string]any{}
	for at, l := range p {
		names := strings.Split(string(at), "\x00")
		m := root
		for _, name := range names[:len(names)-1] {
			inner, ok := m[name].(map[string]any)
			if !ok {
				inner = map[string]any{}
				m[name] = inner
			}
			m = inner
		}
		last := names[len(names)-1]
		m[last] = l.rules(last == "BOOL")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(root) // texts, and lists and maps of them
	return strings.TrimSpace(b.String())
}

// choice is patterns one of which a record must meet. None of them: no record meets it.
type choice []pattern

// anything is met by every record.
var anything = choice{{}}

func (c choice) anything() bool { return len(c) == 1 && len(c[0]) == 0 }

// or is what meets c or d.
func (c choice) or(d choice) choice { return slices.Concat(c, d).tidy() }

// and is what meets both.
func (c choice) and(d choice) choice {
	var both choice
	for _, p := range c {
		for _, q := range d {
			if pq, ok := p.and(q); ok {
				both = append(both, pq)
			}
		}
	}
	return both.tidy()
}

// tidy says the same in fewer patterns.
func (c choice) tidy() choice {
	c = slices.Clone(c)
	for i, p := range c {
		c[i] = maps.Clone(p)
		maps.DeleteFunc(c[i], func(at place, l leaf) bool {
			return l.but && len(l.not) == 0 && (l.absent || at == eventName) // every record has an eventName
		})
	}
again:
	for i := range c {
		for j := range c {
			if i == j {
				continue
			}
			if c[i].covers(c[j]) {
				c = slices.Delete(c, j, j+1)
				goto again
			}
			if both, ok := c[i].joined(c[j]); ok {
				c[i] = both
				c = slices.Delete(c, j, j+1)
				goto again
			}
		}
	}
	slices.SortFunc(c, func(p, q pattern) int { return strings.Compare(p.String(), q.String()) })
	return c
}
