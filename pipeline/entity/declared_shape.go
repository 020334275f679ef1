package entity

import (
	"slices"
	"strconv"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Shape is the declared type of a value and of the values inside it.
type Shape struct {
	Kind    item.Kind // Absent if any kind is allowed
	Members []Member  // members of an M, in the order of the file; nil if any members are allowed
	Elem    *Shape    // shape of the elements of an L; nil if any elements are allowed
}

// Member is an attribute of an M.
type Member struct {
	Name  string
	Shape *Shape
}

// Member returns the shape of a member, or nil if it is not declared.
func (s *Shape) Member(name string) *Shape {
	for _, m := range s.Members {
		if m.Name == name {
			return m.Shape
		}
	}
	return nil
}

// Names returns the names of the members.
func (s *Shape) Names() []string {
	names := make([]string, len(s.Members))
	for i, m := range s.Members {
		names[i] = m.Name
	}
	return names
}

// String returns the shape in the form in which the file declares it, such as N or [{"sku": S, "qty": N}].
func (s *Shape) String() string {
	switch {
	case s.Kind == item.KindL && s.Elem != nil:
		return "[" + s.Elem.String() + "]"
	case s.Kind == item.KindM && s.Members != nil:
		text := "{"
		for i, m := range s.Members {
			if i > 0 {
				text += ", "
			}
			text += strconv.Quote(m.Name) + ": " + m.Shape.String()
		}
		return text + "}"
	}
	return s.Kind.String()
}

// Undeclared is the first part of a path that the shapes do not have.
type Undeclared struct {
	Name  string    // name that is not declared; "" for an index in a value that is not a list
	Path  string    // path before the name; "" if the name is a top-level attribute
	Known []string  // names that are declared at Path
	Kind  item.Kind // declared kind of the value at Path
}

// FirstUndeclared returns the first part of a path that none of the shapes has. It returns nil if one of the shapes has
// the whole path. A wildcard matches any name or index.
func FirstUndeclared(shapes []*Shape, path []item.Segment) *Undeclared {
	before := ""
	for _, segment := range path {
		if segment.Wild > item.AnyElement {
			return nil // the wildcard matches the whole subtree
		}
		var next []*Shape
		for _, s := range shapes {
			if s.allowsAny(segment) {
				return nil // the values inside are not declared
			}
			next = append(next, s.shapesAt(segment)...)
		}
		if len(next) == 0 {
			return newUndeclared(shapes, segment.Name, before)
		}
		shapes, before = next, joinSegment(before, segment)
	}
	return nil
}

// joinSegment returns the path of a segment inside the value at path. It leaves out wildcards.
func joinSegment(path string, segment item.Segment) string {
	switch {
	case segment.Wild != item.NoWildcard:
		return path
	case segment.Index >= 0:
		return path + "[" + strconv.Itoa(segment.Index) + "]"
	case path == "":
		return segment.Name
	}
	return path + "." + segment.Name
}

// newUndeclared returns the result for a name that none of the shapes at a path has.
func newUndeclared(shapes []*Shape, name, path string) *Undeclared {
	u := &Undeclared{Name: name, Path: path}
	for _, s := range shapes {
		u.Kind = s.Kind
		for _, known := range s.Names() {
			if !slices.Contains(u.Known, known) {
				u.Known = append(u.Known, known)
			}
		}
	}
	return u
}

// allowsAny reports whether any shape is possible at a segment of a path, because the shape does not declare the values
// inside.
func (s *Shape) allowsAny(segment item.Segment) bool {
	switch s.Kind {
	case item.Absent:
		return true
	case item.KindM:
		return s.Members == nil && !segment.IsElement()
	case item.KindL:
		return s.Elem == nil && segment.IsElement()
	case item.KindSS, item.KindNS, item.KindBS:
		return segment.IsElement()
	}
	return false
}

// shapesAt returns the declared shapes at a segment of a path.
func (s *Shape) shapesAt(segment item.Segment) []*Shape {
	switch {
	case s.Kind == item.KindL && segment.IsElement() && s.Elem != nil:
		return []*Shape{s.Elem}
	case s.Kind == item.KindM && segment.Wild == item.AnyMember:
		var shapes []*Shape
		for _, m := range s.Members {
			shapes = append(shapes, m.Shape)
		}
		return shapes
	case s.Kind == item.KindM && !segment.IsElement():
		if m := s.Member(segment.Name); m != nil {
			return []*Shape{m}
		}
	}
	return nil
}
