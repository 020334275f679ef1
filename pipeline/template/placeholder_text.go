package template

import (
	"cmp"
	"encoding/base64"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// append appends the text of the placeholder after its functions. If the text comes from a hidden value, append masks
// it. found is false if the text is empty.
func (h *placeholder) append(dst []byte, s *Scope) (out []byte, found bool, err error) {
	start := len(dst)
	dst, found, err = h.appendText(dst, s)
	if s.Mask != nil && found && err == nil {
		dst = h.mask(dst, start, s)
	}
	return dst, found, err
}

func (h *placeholder) appendText(dst []byte, s *Scope) (out []byte, found bool, err error) {
	start := len(dst)
	calls := h.calls
	formatsTime := h.source == fromTime && len(calls) > 0 && calls[0].fn == fnDate
	hasTime := s.Change != nil && !s.Change.Time.IsZero()
	if formatsTime && hasTime { // faster than to parse the text of the time
		dst = s.Change.Time.In(cmp.Or(calls[0].zone, time.UTC)).AppendFormat(dst, calls[0].text)
		calls = calls[1:]
	} else if dst, err = h.appendSource(dst, s); err != nil {
		return dst, false, err
	}
	for i := range calls {
		if dst, err = calls[i].apply(dst, start); err != nil {
			return dst, false, errs.Errorf("%s: %w", redact.Field(h.name), err)
		}
	}
	return dst, len(dst) > start, nil
}

// appendSource appends the text of the placeholder's value, before any function. It appends nothing if the value is
// missing.
func (h *placeholder) appendSource(dst []byte, s *Scope) ([]byte, error) {
	switch h.source {
	case fromEntity:
		e, err := h.entities.Of(s.Item)
		if e == nil || err != nil {
			return dst, err
		}
		return append(dst, e.Name...), nil
	case fromIdentity:
		return item.AppendEscaped(dst, s.ID), nil
	case fromItem, fromEach, fromBound:
		v, ok := h.lookup(s)
		if !ok {
			return dst, nil
		}
		return appendValue(dst, v, h.name)
	}
	c := s.Change
	if c == nil {
		return dst, nil
	}
	switch h.source {
	case fromKey:
		return append(dst, c.Key...), nil
	case fromVersion:
		if c.Version.IsZero() {
			return dst, nil
		}
		return c.Version.Append(dst), nil
	case fromSequence:
		return append(dst, c.Sequence...), nil
	case fromTime:
		if c.Time.IsZero() {
			return dst, nil
		}
		return c.Time.UTC().AppendFormat(dst, time.RFC3339Nano), nil
	case fromOperation:
		return append(dst, c.Op.String()...), nil
	case fromShard:
		if s.Shards == 0 {
			return dst, nil
		}
		return strconv.AppendInt(dst, int64(item.Shard(string(c.Key), s.Shards)), 10), nil
	default:
		return append(dst, c.Table...), nil
	}
}

// lookup returns the value of a {path}, an {each.path} or a bound name. It returns false if there is no value.
func (h *placeholder) lookup(s *Scope) (item.Value, bool) {
	switch h.source {
	case fromItem:
		return s.Item.At(h.path)
	case fromBound:
		v := h.bound.Value(s.Item)
		return v, v.Exists()
	}
	v := s.Each
	for _, i := range h.indexes {
		var ok bool
		if v, ok = v.Index(i); !ok {
			return item.Value{}, false
		}
	}
	if h.path.IsZero() {
		return v, v.Exists()
	}
	m, ok := item.ImageOf(v)
	if !ok {
		return item.Value{}, false
	}
	return m.At(h.path)
}

// appendValue appends v as text: S unchanged, N canonical, BOOL as true or false, B as base64url without padding, and
// nothing for NULL.
func appendValue(dst []byte, v item.Value, name string) ([]byte, error) {
	switch v.Kind() {
	case item.Absent, item.KindNULL:
		return dst, nil
	case item.KindS:
		if text, ok := v.Text(); ok {
			return append(dst, text...), nil
		}
	case item.KindN:
		if number, ok := v.Number(); ok {
			return number.Append(dst), nil
		}
	case item.KindBOOL:
		if b, ok := v.Bool(); ok {
			return strconv.AppendBool(dst, b), nil
		}
	case item.KindB:
		if b, ok := v.Bytes(); ok {
			return base64.RawURLEncoding.AppendEncode(dst, b), nil
		}
	}
	return dst, errs.Errorf("%s is of type %s, and text is made of S, N, BOOL and B only: name a path inside it",
		redact.Field(name), redact.Safe(v.Kind().String()))
}

// Recent caches the last text of a template. It is for templates with the same text for many successive changes, such
// as the name of an index or of an hour's folder. A cached text is neither allocated nor checked again. The zero Recent
// is ready for use. A Recent is safe for concurrent use.
type Recent struct{ last atomic.Pointer[string] }

// Text returns text as a string. It keeps no reference to text. If text differs from the last text, it calls check and
// returns its error.
func (r *Recent) Text(text []byte, check func(string) error) (string, error) {
	if last := r.last.Load(); last != nil && *last == string(text) {
		return *last, nil
	}
	s := string(text)
	if err := check(s); err != nil {
		return "", err
	}
	r.last.Store(&s)
	return s, nil
}
