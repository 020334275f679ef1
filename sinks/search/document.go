package search

import (
	"iter"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// mostDraft bounds the room that is kept for documents to come, in bytes.
const mostDraft = 64 << 10

// document is what [Sink.appendDocument] writes, in memory of its own size.
func (s *Sink) document(d *pipeline.Delivery, item item.Image, v record.Version) ([]byte, error) {
	draft, ok := s.drafts.Get().(*[]byte)
	if !ok {
		draft = new([]byte)
	}
	doc, err := s.appendDocument((*draft)[:0], item, v)
	if cap(doc) > mostDraft {
		return doc[:len(doc):len(doc)], err
	}
	whole := d.Bytes(doc) // before anybody else has the draft
	*draft = doc
	s.drafts.Put(draft)
	return whole, err
}

// appendDocument writes item, without what is hidden, as the plain JSON document of
// a change at version v.
func (s *Sink) appendDocument(dst []byte, item item.Image, v record.Version) ([]byte, error) {
	dst = s.appendHeader(dst, v, false)
	item = s.mask.Without(item)
	if _, own := item.Get(reserved); s.whole && !own {
		return appendWhole(dst, item), nil
	}
	dst, err := s.appendMembers(dst, item.All(), s.fields, scope{taken: s.fields.include})
	return append(dst, '}'), err
}

// appendWhole appends an item, of which nothing is left out or changed, to the fields
// of a document that is not yet closed.
func appendWhole(dst []byte, item item.Image) []byte {
	brace := len(dst)
	dst = item.AppendJSONForDoubles(dst)
	if dst[brace+1] == '}' {
		return append(dst[:brace], '}')
	}
	dst[brace] = ','
	return dst
}

// appendTombstone writes what stands in the place of a deleted document.
func (s *Sink) appendTombstone(dst []byte, v record.Version, void bool) []byte {
	dst = s.appendHeader(dst, v, true)
	if void {
		dst = append(dst[:len(dst)-1], `,"void":true}`...)
	}
	return append(dst, '}')
}

// appendHeader opens a document with who wrote it, and at which version.
func (s *Sink) appendHeader(dst []byte, v record.Version, deleted bool) []byte {
	dst = append(dst, `{"`+reserved+`":{"version":"`...)
	dst = v.Append(dst)
	dst = appendText(append(dst, `","by":`...), s.by)
	if s.birth != "" {
		dst = append(append(append(dst, `,"birth":"`...), s.birth...), '"')
	}
	if deleted {
		dst = append(dst, `,"deleted":true`...)
	}
	return append(dst, '}')
}

// scope is what holds for an attribute because of those around it.
type scope struct {
	taken  bool // it is included
	number Number
	hash   bool // scalars are hashed
}

// appendMembers writes what f takes of the members of a map, each behind a comma
// where dst does not end in the map's brace.
func (s *Sink) appendMembers(dst []byte, members iter.Seq2[string, item.Value], f *field, around scope) ([]byte, error) {
	var there map[string]bool // new names that were given
	for name, value := range members {
		inside := around
		inner := f.of(name)
		if inner != nil {
			inside = inner.scope(around)
		}
		if !inside.taken && (inner == nil || !inner.leads) || inner != nil && inner.exclude {
			continue
		}
		if !inside.taken && value.Kind() != item.KindM && value.Kind() != item.KindL {
			continue // what is included is inside, and there is no inside
		}
		if inner != nil && inner.name != "" {
			name = inner.name
		}
		if from, contested := f.given(name); contested {
			if there[name] {
				return dst, errs.Errorf("search: %q is renamed to %q, and there is an attribute of that name: exclude it", redact.Field(from), redact.Field(name))
			}
			if there == nil {
				there = make(map[string]bool)
			}
			there[name] = true
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, name), ':')
		var err error
		if dst, err = s.appendValue(dst, value, inner, inside); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func (f *field) scope(around scope) scope {
	around.taken = around.taken || f.include
	if f.number != nil {
		around.number = *f.number
	}
	around.hash = around.hash || f.hash
	return around
}

// appendValue writes v as plain JSON. f is what the options say of it and of what
// is inside, nil where they say nothing. Only what can hold a number or a field is
// walked.
func (s *Sink) appendValue(dst []byte, v item.Value, f *field, in scope) (out []byte, err error) {
	if in.taken && !in.hash && (f == nil || len(f.inner) == 0) {
		switch in.number {
		case NumberExact:
			return v.AppendJSONForDoubles(dst), nil
		case NumberScaledFloat:
			return v.AppendJSON(dst), nil
		default: // each number is written in its form
		}
	}
	switch kind := v.Kind(); {
	case kind == item.KindM:
		dst, err = s.appendMembers(append(dst, '{'), v.Members(), f, in)
		return append(dst, '}'), err
	case kind == item.KindL, kind == item.KindNS, in.hash && (kind == item.KindSS || kind == item.KindBS):
		dst = append(dst, '[')
		for _, e := range v.Elements() {
			if !in.taken && e.Kind() != item.KindM && e.Kind() != item.KindL {
				continue
			}
			if dst[len(dst)-1] != '[' {
				dst = append(dst, ',')
			}
			if dst, err = s.appendValue(dst, e, f, in); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case in.hash:
		return s.hasher.append(dst, v), nil
	case kind == item.KindN:
		if d, ok := v.Number(); ok {
			return appendNumber(dst, d, in.number), nil
		}
	}
	return v.AppendJSON(dst), nil
}

func appendText(dst []byte, s string) []byte {
	return item.StringValue(s).AppendJSON(dst)
}
