package mask

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"hash"
	"slices"
	"sync"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Mask hides attributes of items: in what people are shown, and from sinks that
// are not meant to have them.
//
// A pattern hides what stands at each place that it fits, with all that is below:
// Address hides what Address.** does. A hidden value becomes one text as a whole, so
// that neither its type nor its size nor the names inside a map show: an S of
// "masked-" and 12 hex digits of an HMAC-SHA256 over its kind and its canonical value.
// So what is equal by meaning ([item.Value.Equal]) stays equal under one key, and
// nothing else can be told. Two values share a text by chance once in 2^48.
//
// Sets have no places: a pattern that goes into a list (Tags[*], Tags[0]) hides a
// set that stands there as a whole.
//
// A nil *Mask hides nothing. A Mask is safe for concurrent use, and what it is
// asked to mask is never changed: where nothing is hidden, the answer is what was
// given, and nothing is allocated.
type Mask struct {
	sensitive []item.Pattern
	allowed   []item.Pattern
	root      sight
	macs      *sync.Pool // of hash.Hash
}

// New makes the mask that hides what fits patterns. key is the secret behind
// the texts: the same key makes the same texts in every process. Without patterns
// the mask is nil, and needs no key.
func New(patterns []item.Pattern, key []byte) (*Mask, error) {
	patterns = slices.DeleteFunc(slices.Clone(patterns), item.Pattern.IsZero)
	if len(patterns) == 0 {
		return nil, nil
	}
	if len(key) == 0 {
		return nil, errors.New("mask: the key is empty: give a secret, so that nobody can try values until their text fits")
	}
	key = slices.Clone(key)
	macs := &sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}
	return newMask(patterns, nil, macs), nil
}

func newMask(sensitive, allowed []item.Pattern, macs *sync.Pool) *Mask {
	m := &Mask{sensitive: sensitive, allowed: allowed, macs: macs}
	for _, p := range sensitive {
		m.root.sensitive = append(m.root.sensitive, p.Segments())
	}
	for _, p := range allowed {
		m.root.allowed = append(m.root.allowed, p.Segments())
	}
	return m
}

// Except is m without what fits allowed, with all that is below: nil where
// nothing is left to hide. Of a hidden subtree an allowed part shows, and beside it
// the names of the others.
func (m *Mask) Except(allowed []item.Pattern) *Mask {
	if m == nil || len(allowed) == 0 {
		return m
	}
	left := slices.DeleteFunc(slices.Clone(m.sensitive), func(p item.Pattern) bool {
		return slices.ContainsFunc(allowed, func(a item.Pattern) bool { return covers(a.Segments(), p.Segments()) })
	})
	if len(left) == 0 {
		return nil
	}
	allowed = slices.DeleteFunc(slices.Concat(m.allowed, allowed), item.Pattern.IsZero)
	return newMask(left, allowed, m.macs)
}

// Patterns are the patterns that m hides, in the order in which they were given.
func (m *Mask) Patterns() []item.Pattern {
	if m == nil {
		return nil
	}
	return slices.Clone(m.sensitive)
}

// Hides tells whether what stands at a path, or something inside it, may be
// hidden. The path may have a pattern's wildcards: Lines[*].serial. Of an unsound
// path it is true.
func (m *Mask) Hides(path string) bool {
	if m == nil {
		return false
	}
	p, err := item.ParsePattern(path)
	return err != nil || m.root.mayHide(p.Segments())
}

// Text is the text that stands for s as an S.
func (m *Mask) Text(s string) string {
	if m == nil {
		return s
	}
	return m.text(item.Raw(item.KindS, ddbjson.AppendRaw(nil, s)))
}

// Value is v, which stands at path or is a member of the set there, with what is
// hidden of it masked. Where the path is unsound or "", nobody can tell what v is
// made of, and it is masked as a whole.
func (m *Mask) Value(path string, v item.Value) item.Value {
	if m == nil || !v.Exists() {
		return v
	}
	p, err := item.ParsePath(path)
	if err != nil {
		return m.masked(v)
	}
	v, _ = m.ValueAt(p, v)
	return v
}

// ValueAt is [Mask.Value] of a path that was read before; hidden tells whether
// anything of v is hidden.
func (m *Mask) ValueAt(p item.Path, v item.Value) (masked item.Value, hidden bool) {
	if m == nil || !v.Exists() {
		return v, false
	}
	if !slices.ContainsFunc(m.root.sensitive, func(pattern []item.Segment) bool { return reaches(pattern, p, v) }) {
		return v, false // as a rule, and that costs no allocation
	}
	s := m.root
	top := true
	for name, index := range p.Segments() {
		s, top = s.step(pathStep{name, index}, top), false
	}
	if !s.touches(v) {
		return v, false
	}
	return m.value(v, s), true
}

// Image is item with what is hidden of it masked.
func (m *Mask) Image(item item.Image) item.Image { return m.image(item, false) }

// Without is item with what is hidden of it left out, as if the item did not have it.
// The elements of a list close up.
func (m *Mask) Without(item item.Image) item.Image { return m.image(item, true) }

func (m *Mask) image(it item.Image, drop bool) item.Image {
	if m == nil || !m.touches(it) {
		return it
	}
	w := maskWriter{m, drop}
	doc := w.members(make([]byte, 0, len(it.Bytes())+64), it.Bytes(), m.root, true)
	masked, _ := item.Of(item.Raw(item.KindM, doc))
	return masked
}

// value is v at a place that s sees, masked.
func (m *Mask) value(v item.Value, s sight) item.Value {
	switch s.of(v) {
	case hideWhole:
		return m.masked(v)
	case showWhole:
		return v
	}
	w := maskWriter{m, false}
	if v.Kind() == item.KindM {
		return item.Raw(item.KindM, w.members(nil, v.Raw(), s, false))
	}
	return item.Raw(item.KindL, w.elements(nil, v.Raw(), s))
}

// masked is what stands for the whole of v.
func (m *Mask) masked(v item.Value) item.Value { return item.Raw(item.KindS, []byte(m.text(v))) }

// text needs no escapes: it stands within quotes as it is.
func (m *Mask) text(v item.Value) string {
	mac, _ := m.macs.Get().(hash.Hash)
	defer m.macs.Put(mac)
	mac.Reset()
	var buf [256]byte
	mac.Write(appendCanonical(buf[:0], v))
	var sum [sha256.Size]byte
	const digits = "0123456789abcdef"
	text := append(make([]byte, 0, len(maskedPrefix)+12), maskedPrefix...)
	for _, b := range mac.Sum(sum[:0])[:6] {
		text = append(text, digits[b>>4], digits[b&15])
	}
	return ddbjson.View(text)
}

// maskedPrefix begins every masked value.
const maskedPrefix = "masked-"

// maskWriter copies items without what is hidden.
type maskWriter struct {
	m    *Mask
	drop bool // what is hidden is left out, not masked
}

// members copies the members of a map at a place that s sees.
func (w maskWriter) members(dst, raw []byte, s sight, top bool) []byte {
	dst = append(dst, '{')
	item.EachMember(raw, func(name []byte, v item.Value) bool {
		inner := s.member(ddbjson.TextOf(name), top)
		if w.drop && inner.of(v) == hideWhole {
			return true
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = w.value(append(ddbjson.AppendString(dst, name), ':'), v, inner)
		return true
	})
	return append(dst, '}')
}

// elements copies the elements of a list at a place that s sees.
func (w maskWriter) elements(dst, raw []byte, s sight) []byte {
	dst = append(dst, '[')
	i := -1
	item.EachElement(raw, item.KindL, func(v item.Value) bool {
		i++
		inner := s.element(i)
		if w.drop && inner.of(v) == hideWhole {
			return true
		}
		if dst[len(dst)-1] != '[' {
			dst = append(dst, ',')
		}
		dst = w.value(dst, v, inner)
		return true
	})
	return append(dst, ']')
}

// value appends v as DynamoDB JSON.
func (w maskWriter) value(dst []byte, v item.Value, s sight) []byte {
	switch s.of(v) {
	case hideWhole:
		v = w.m.masked(v)
	case lookInside:
		dst = append(append(append(dst, `{"`...), v.Kind().String()...), `":`...)
		if v.Kind() == item.KindM {
			dst = w.members(dst, v.Raw(), s, false)
		} else {
			dst = w.elements(dst, v.Raw(), s)
		}
		return append(dst, '}')
	}
	return v.AppendDynamoDBJSON(dst)
}
