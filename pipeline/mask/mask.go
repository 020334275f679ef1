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

// Mask hides attributes of items from people, and from sinks that must not have them.
//
// A pattern hides each value that it matches, with all values inside it. So the patterns Address and Address.** hide
// the same. A hidden value becomes one text, its masked text: an S of "masked-" and 12 hex digits of an HMAC-SHA256
// over the kind and the canonical value. So the type of the value, its size and the names inside a map are hidden, too.
// With the same secret, values that are equal by meaning ([item.Value.Equal]) have the same masked text. Two different
// values have the same masked text with a probability of 1 in 2^48.
//
// The members of a set have no paths. So a pattern for the elements of a list (Tags[*], Tags[0]) hides a set as a
// whole.
//
// A nil *Mask hides nothing. A Mask is safe for concurrent use and never changes its arguments. If nothing in an
// argument is hidden, a method returns the argument and allocates nothing.
type Mask struct {
	sensitive []item.Pattern
	allowed   []item.Pattern
	root      maskState  // state of the item itself
	macs      *sync.Pool // pool of hash.Hash
}

// New returns the mask that hides the values that patterns match. key is the secret for the masked texts. With the same
// key, all processes make the same masked texts. Without patterns, New returns nil and needs no key.
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
	m := &Mask{sensitive: sensitive, allowed: allowed, macs: macs, root: maskState{isItem: true}}
	for _, p := range sensitive {
		m.root.sensitive = append(m.root.sensitive, p.Segments())
	}
	for _, p := range allowed {
		m.root.allowed = append(m.root.allowed, p.Segments())
	}
	return m
}

// Except returns a mask that hides what m hides, but shows the values that allowed matches and the values inside them.
// It returns nil if the new mask would hide nothing. If allowed matches a part of a hidden map, the new mask shows the
// names of all members of the map.
func (m *Mask) Except(allowed []item.Pattern) *Mask {
	if m == nil || len(allowed) == 0 {
		return m
	}
	isAllowed := func(p item.Pattern) bool {
		return slices.ContainsFunc(allowed, func(a item.Pattern) bool { return includes(a.Segments(), p.Segments()) })
	}
	remaining := slices.DeleteFunc(slices.Clone(m.sensitive), isAllowed)
	if len(remaining) == 0 {
		return nil
	}
	allowed = slices.DeleteFunc(slices.Concat(m.allowed, allowed), item.Pattern.IsZero)
	return newMask(remaining, allowed, m.macs)
}

// Patterns returns the sensitive patterns of m, in the order in which they were given.
func (m *Mask) Patterns() []item.Pattern {
	if m == nil {
		return nil
	}
	return slices.Clone(m.sensitive)
}

// Hides reports whether m may hide the value at a path or a value inside it. The path may have the wildcards of a
// pattern: Lines[*].serial. Hides returns true for an invalid path.
func (m *Mask) Hides(path string) bool {
	if m == nil {
		return false
	}
	p, err := item.ParsePattern(path)
	return err != nil || m.root.mayHide(p.Segments())
}

// Text masks a value of type S. s is its text, and the result is the text that is shown instead.
func (m *Mask) Text(s string) string {
	if m == nil {
		return s
	}
	return m.maskText(item.StringValue(s))
}

// Value does the same as [Mask.ValueAt], for a path that is given as text. If path is invalid or "", Value masks v as a
// whole, because v may come from a hidden value.
func (m *Mask) Value(path string, v item.Value) item.Value {
	if m == nil || !v.Exists() {
		return v
	}
	p, err := item.ParsePath(path)
	if err != nil {
		return m.maskedValue(v)
	}
	v, _ = m.ValueAt(p, v)
	return v
}

// ValueAt returns v with its hidden parts masked. v is the value at p, or a member of the set at p. hidden reports
// whether any part of v is hidden.
func (m *Mask) ValueAt(p item.Path, v item.Value) (masked item.Value, hidden bool) {
	if m == nil || !v.Exists() {
		return v, false
	}
	reachesValue := func(pattern []item.Segment) bool { return patternReaches(pattern, p, v) }
	if !slices.ContainsFunc(m.root.sensitive, reachesValue) {
		return v, false // most values return here, without an allocation
	}
	s := m.root
	for _, segment := range p.Segments() {
		s = s.step(segment)
	}
	if !s.hidesIn(v) {
		return v, false
	}
	return m.maskValue(v, s), true
}

// Image returns the item with its hidden parts masked.
func (m *Mask) Image(item item.Image) item.Image { return maskWriter{m: m}.image(item) }

// Without returns the item without its hidden parts. A list loses its hidden elements and becomes shorter.
func (m *Mask) Without(item item.Image) item.Image { return maskWriter{m: m, drop: true}.image(item) }

// maskValue returns v with its hidden parts masked. s is the state at v.
func (m *Mask) maskValue(v item.Value, s maskState) item.Value {
	switch s.action(v) {
	case hide:
		return m.maskedValue(v)
	case show:
		return v
	}
	w := maskWriter{m: m}
	if v.Kind() == item.KindM {
		return item.RawValue(item.KindM, w.members(nil, v, s))
	}
	return item.RawValue(item.KindL, w.elements(nil, v, s))
}

// maskedValue returns the value that replaces v as a whole.
func (m *Mask) maskedValue(v item.Value) item.Value { return item.StringValue(m.maskText(v)) }

// maskText returns the text that replaces v. It needs no escapes in JSON.
func (m *Mask) maskText(v item.Value) string {
	mac, _ := m.macs.Get().(hash.Hash)
	defer m.macs.Put(mac)
	mac.Reset()
	var buf [256]byte
	mac.Write(v.AppendCanonical(buf[:0]))
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

// maskWriter copies items and masks their hidden parts.
type maskWriter struct {
	m    *Mask
	drop bool // leave hidden parts out instead of masking them
}

// image copies an item.
func (w maskWriter) image(it item.Image) item.Image {
	if !w.m.hidesIn(it) {
		return it
	}
	doc := w.members(make([]byte, 0, len(it.Bytes())+64), it.Value(), w.m.root)
	masked, _ := item.ImageOf(item.RawValue(item.KindM, doc))
	return masked
}

// members copies the members of the map v. s is the state at v.
func (w maskWriter) members(dst []byte, v item.Value, s maskState) []byte {
	dst = append(dst, '{')
	for name, e := range v.Members() {
		inner := s.member(name)
		if w.drop && inner.action(e) == hide {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(ddbjson.AppendRaw(append(dst, '"'), name), `":`...)
		dst = w.appendValue(dst, e, inner)
	}
	return append(dst, '}')
}

// elements copies the elements of the list v. s is the state at v.
func (w maskWriter) elements(dst []byte, v item.Value, s maskState) []byte {
	dst = append(dst, '[')
	for i, e := range v.Elements() {
		inner := s.element(i)
		if w.drop && inner.action(e) == hide {
			continue
		}
		if dst[len(dst)-1] != '[' {
			dst = append(dst, ',')
		}
		dst = w.appendValue(dst, e, inner)
	}
	return append(dst, ']')
}

// appendValue appends v as DynamoDB JSON, with its hidden parts masked or left out.
func (w maskWriter) appendValue(dst []byte, v item.Value, s maskState) []byte {
	switch s.action(v) {
	case hide:
		v = w.m.maskedValue(v)
	case goInside:
		dst = append(append(append(dst, `{"`...), v.Kind().String()...), `":`...)
		if v.Kind() == item.KindM {
			dst = w.members(dst, v, s)
		} else {
			dst = w.elements(dst, v, s)
		}
		return append(dst, '}')
	}
	return v.AppendDynamoDBJSON(dst)
}
