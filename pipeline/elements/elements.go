// Package elements finds the elements of an item under `for_each`. The elements are those of one list, one set or one
// map. Each element has an entry of its own, one row or one document of a sink. An element has an identity, which is
// unique in its item. The identity is a part of the key of the entry.
package elements

import (
	"cmp"
	"encoding/base64"
	"strconv"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// errs makes this package's errors. Their redacted text holds no data.
const errs = redact.Class("for_each")

// DefaultMax is the maximum number of elements of an item if [Spec.Max] is 0.
const DefaultMax = 500

// Spec names the elements of an item.
type Spec struct {
	Path item.Path // path of the list, the set or the map
	// By is the path of the identity inside an element. Default: the element's position in a list, its value in a set,
	// or its name in a map
	By  string
	Max int // maximum number of elements of an item. Default: [DefaultMax]
}

// Element is one element.
type Element struct {
	Position int    // position in the list, the set or the map, 0-based
	ID       string // identity as text, not escaped; "" if there is no value at By
	Value    item.Value
}

// Of appends the elements of an item. If the path is absent or its value is NULL, Of appends nothing. Of returns an
// error if the value is not a list, a set or a map, if it has too many elements, or if an identity is invalid or not
// unique. The error is permanent. It names paths and positions, but shows no value.
func (s *Spec) Of(dst []Element, m item.Image) ([]Element, error) {
	v, ok := m.At(s.Path)
	if !ok || v.IsNull() {
		return dst, nil
	}
	if !isCollection(v.Kind()) {
		return dst, errs.Errorf("%s is of the type %s, and not a list, a set or a map", redact.Field(s.Path.String()),
			redact.Safe(v.Kind().String()))
	}
	if most := cmp.Or(s.Max, DefaultMax); v.Len() > most {
		return dst, errs.Errorf("%s has %d elements, and %d are the most: raise `max`, or split the item",
			redact.Field(s.Path.String()), v.Len(), most)
	}
	start := len(dst)
	for i, e := range v.Elements() { // a list or a set
		dst = append(dst, Element{Position: i, Value: e})
	}
	for name, e := range v.Members() { // a map
		dst = append(dst, Element{Position: len(dst) - start, ID: name, Value: e})
	}
	if err := s.setIdentities(v.Kind(), dst[start:]); err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// setIdentities sets the identities of the elements of a value. kind is the type of the value.
func (s *Spec) setIdentities(kind item.Kind, elements []Element) error {
	for i := range elements {
		id, err := s.identity(kind, &elements[i])
		if err != nil {
			return err
		}
		elements[i].ID = id
	}
	return s.checkIdentities(elements)
}

func isCollection(k item.Kind) bool { return k == item.KindL || k == item.KindM || isSet(k) }

func isSet(k item.Kind) bool { return k >= item.KindSS } // the sets are the last kinds

// identity returns the identity of an element. kind is the kind of the list, the set or the map. If e is the member of
// a map, the caller has set e.ID to its name.
func (s *Spec) identity(kind item.Kind, e *Element) (string, error) {
	if s.By != "" {
		return s.identityBy(kind, e)
	}
	switch kind {
	case item.KindM:
		return e.ID, nil
	case item.KindL:
		return strconv.Itoa(e.Position), nil
	}
	text, _ := textOf(e.Value)
	return text, nil
}

// identityBy returns the value at By inside an element, as text.
func (s *Spec) identityBy(kind item.Kind, e *Element) (string, error) {
	if isSet(kind) {
		return "", errs.Errorf("%s is a set, whose elements are their own identity: leave `by` out",
			redact.Field(s.Path.String()))
	}
	v, _ := e.Value.Lookup(s.By)
	text, ok := textOf(v)
	if !ok {
		return "", errs.Errorf("element %d of %s: %s is of the type %s, and an identity is of S, N, BOOL or B",
			e.Position, redact.Field(s.Path.String()), redact.Field(s.By), redact.Safe(v.Kind().String()))
	}
	return text, nil
}

// textOf returns a scalar as text. It returns "" and true if v is absent or NULL, and false if v is not a scalar.
func textOf(v item.Value) (text string, ok bool) {
	switch v.Kind() {
	case item.Absent, item.KindNULL:
		return "", true
	case item.KindS:
		return v.Text()
	case item.KindN:
		d, ok := v.Number()
		return d.String(), ok
	case item.KindBOOL:
		b, ok := v.Bool()
		return strconv.FormatBool(b), ok
	case item.KindB:
		b, ok := v.Bytes()
		return base64.RawURLEncoding.EncodeToString(b), ok
	default:
		return "", false
	}
}

// checkIdentities returns an error if two elements have the same identity. It ignores elements without an identity,
// which have no entry.
func (s *Spec) checkIdentities(elements []Element) error {
	if len(elements) < 2 {
		return nil
	}
	positions := make(map[string]int, len(elements))
	for i := range elements {
		e := &elements[i]
		if e.ID == "" {
			continue
		}
		if before, taken := positions[e.ID]; taken {
			return errs.Errorf(
				"the elements %d and %d of %s have the same identity (%s): it must differ among the elements of an item",
				before, e.Position, redact.Field(s.Path.String()), redact.Field(cmp.Or(s.By, "their values")))
		}
		positions[e.ID] = e.Position
	}
	return nil
}

// Pattern returns the pattern that a mask takes for all elements of an item. If Path is Lines, the pattern is Lines.*
// for a map, and Lines[*] for a list or a set.
func (s *Spec) Pattern(m item.Image) string {
	if v, _ := m.At(s.Path); v.Kind() == item.KindM {
		return s.Path.String() + ".*"
	}
	return s.Path.String() + "[*]"
}

// IDPath returns the pattern that a mask takes for the values that identities come from, such as Lines[*].Sku. pattern
// is the pattern of the elements.
func (s *Spec) IDPath(pattern string) string {
	switch {
	case s.By == "":
		return pattern
	case s.By[0] == '[':
		return pattern + s.By
	default:
		return pattern + "." + s.By
	}
}
