package model

import (
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// Template is a list of parts in their order.
type Template []Part

// Part is a literal text, or a placeholder.
type Part struct {
	Literal  string
	Key      bool     // {@key}
	Identity bool     // {@each}
	Version  bool     // {@version}
	Shards   int      // n of {@shard}; 0: no shards
	Bound    *Binding // {Name}; nil: no name
	Path     []string // names, from the element if Each is set, else from the item
	Each     bool
	Optional bool
	Funcs    []Func // lower, upper, esc, date, after, before, default
}

// Func is a function that changes a text.
type Func struct{ Name, Arg string }

// String returns the template as it is written in the configuration.
func (t Template) String() string {
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.String())
	}
	return b.String()
}

// String returns the part as it is written in the configuration.
func (p Part) String() string {
	var body string
	switch {
	case p.Key:
		body = "@key"
	case p.Identity:
		body = "@each"
	case p.Version:
		body = "@version"
	case p.Shards > 0:
		body = "@shard"
	case p.Bound != nil:
		body = p.Bound.Name
	case len(p.Path) > 0:
		body = strings.Join(p.Path, ".")
		if p.Each {
			body = "each." + body
		}
	default:
		return strings.NewReplacer("{", "{{", "}", "}}").Replace(p.Literal)
	}
	if p.Optional {
		body += "?"
	}
	for _, f := range p.Funcs {
		body += "|" + f.Name
		if f.Arg != "" {
			body += ":" + strings.NewReplacer(`\`, `\\`, "|", `\|`, "}", `\}`, ":", `\:`).Replace(f.Arg)
		}
	}
	return "{" + body + "}"
}

// verdict is the outcome of an evaluation.
type verdict uint8

const (
	found   verdict = iota
	missing         // sparse, or left out
	failed          // a permanent error
)

// scope holds the values that a template can read.
type scope struct {
	key  string // canonical, of the item
	item sinktest.Item
	each sinktest.Attr
	id   string // of each
}

// eval returns the value of a template. A template that is exactly one path keeps the type of its value.
func (t Template) eval(s scope) (sinktest.Attr, verdict) {
	isOnePath := len(t) == 1 && (len(t[0].Path) > 0 || t[0].Bound != nil) && len(t[0].Funcs) == 0
	if isOnePath {
		v := t[0].lookup(s)
		if empty(v) {
			return nil, missing
		}
		return v, found
	}
	var b strings.Builder
	for _, p := range t {
		text, v := p.text(s)
		if v != found {
			return nil, v
		}
		b.WriteString(text)
	}
	if b.Len() == 0 {
		return nil, missing
	}
	return sinktest.Attr{"S": b.String()}, found
}

// evalKey evaluates the template of a key attribute, which is S, N or B.
func (t Template) evalKey(s scope) (sinktest.Attr, verdict) {
	v, is := t.eval(s)
	if is == found && tag(v) != "S" && tag(v) != "N" && tag(v) != "B" {
		return nil, failed
	}
	return v, is
}

func (p Part) lookup(s scope) sinktest.Attr {
	if p.Bound != nil {
		return p.Bound.value(s.item)
	}
	if p.Each {
		return at(members(s.each), p.Path)
	}
	return at(s.item, p.Path)
}

func (p Part) text(s scope) (string, verdict) {
	if p.Shards > 0 {
		h := fnv.New64a()
		h.Write([]byte(s.key))
		return strconv.FormatUint(h.Sum64()%uint64(p.Shards), 10), found
	}
	if p.Identity {
		return escaped(s.id), found
	}
	if !p.Key && len(p.Path) == 0 && p.Bound == nil {
		return p.Literal, found
	}
	text, ok := s.key, true
	if !p.Key {
		text, ok = plainText(p.lookup(s))
	}
	if !ok {
		return "", failed
	}
	for _, f := range p.Funcs {
		if text, ok = f.apply(text); !ok {
			return "", failed
		}
	}
	if text == "" && !p.Optional {
		return "", missing
	}
	return text, found
}

func (f Func) apply(text string) (string, bool) {
	if text == "" {
		if f.Name == "default" {
			return f.Arg, true
		}
		return "", true
	}
	switch f.Name {
	case "lower":
		return strings.ToLower(text), true
	case "upper":
		return strings.ToUpper(text), true
	case "esc":
		return escaped(text), true
	case "after":
		_, after, _ := strings.Cut(text, f.Arg)
		return after, true
	case "before":
		before, _, ok := strings.Cut(text, f.Arg)
		if !ok {
			return "", true
		}
		return before, true
	case "date":
		at, ok := instant(text)
		return at.UTC().Format(f.Arg), ok
	}
	return text, true
}

// instant parses a time: epoch seconds, epoch milliseconds from 10^11 on, or RFC 3339.
func instant(text string) (time.Time, bool) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, true
	}
	whole, _, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	if n >= 100_000_000_000 {
		return time.UnixMilli(n), true
	}
	return time.Unix(n, 0), true
}

// rowKey returns the key attributes of a row in their order, up to the first that is missing or fails.
func (s scope) rowKey(pk, sk Template) (sinktest.Item, verdict) {
	p, is := pk.evalKey(s)
	if is != found {
		return nil, is
	}
	q, is := sk.evalKey(s)
	if is != found {
		return nil, is
	}
	return sinktest.Item{"PK": p, "SK": q}, found
}
