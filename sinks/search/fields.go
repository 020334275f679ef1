package search

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
)

// Fields choose what of an item becomes the document. Attributes are top-level
// ones, by name (["a.b"] for a name that holds a dot or a bracket); what is chosen
// comes whole, with everything inside.
type Fields struct {
	Include []string          // attributes that are taken, no others. Default: all
	Exclude []string          // attributes that are left out. Default: none
	Rename  map[string]string // attribute -> field of the document. Default: the attribute's name
	Numbers map[string]Number // attribute -> form of the numbers in it, nested ones too. Default: NumberExact
}

// reserved is the field that says who wrote a document, and at which version.
const reserved = "_tw"

type fieldSet struct {
	include map[string]bool // nil: all
	exclude map[string]bool
	rename  map[string]string
	targets map[string]string // field -> attribute that is renamed to it
	numbers map[string]Number
}

func compileFields(f Fields) (*fieldSet, error) {
	s := &fieldSet{
		exclude: map[string]bool{reserved: true},
		rename:  make(map[string]string),
		targets: make(map[string]string),
		numbers: make(map[string]Number),
	}
	for _, a := range f.Include {
		name, err := attribute(a)
		if err != nil {
			return nil, fmt.Errorf("Include: %w", err)
		}
		if s.include == nil {
			s.include = make(map[string]bool)
		}
		s.include[name] = true
	}
	for _, a := range f.Exclude {
		name, err := attribute(a)
		if err != nil {
			return nil, fmt.Errorf("Exclude: %w", err)
		}
		if s.include[name] {
			return nil, fmt.Errorf("Exclude: %q is also included", a)
		}
		s.exclude[name] = true
	}
	for _, a := range slices.Sorted(maps.Keys(f.Rename)) {
		name, err := attribute(a)
		if err != nil {
			return nil, fmt.Errorf("Rename: %w", err)
		}
		to := f.Rename[a]
		switch other, taken := s.targets[to]; {
		case to == "" || to == reserved:
			return nil, fmt.Errorf("Rename: %q cannot be named %q", a, to)
		case taken:
			return nil, fmt.Errorf("Rename: %q and %q are both named %q", other, a, to)
		case !s.takes(name):
			return nil, fmt.Errorf("Rename: %q is not among the fields of the document", a)
		}
		s.rename[name], s.targets[to] = to, name
	}
	for to, from := range s.targets {
		if s.include[to] && s.rename[to] == "" && to != from {
			return nil, fmt.Errorf("Rename: %q is named %q, which is included itself", from, to)
		}
	}
	for _, a := range slices.Sorted(maps.Keys(f.Numbers)) {
		name, err := attribute(a)
		if err != nil {
			return nil, fmt.Errorf("Numbers: %w", err)
		}
		if n := f.Numbers[a]; !n.known() {
			return nil, fmt.Errorf("Numbers: %q: no number form is named %q; there are %q, %q and %q", a, n, NumberString, NumberScaledFloat, NumberDouble)
		}
		s.numbers[name] = f.Numbers[a]
	}
	return s, nil
}

// attribute is the name of a top-level attribute, written as a path.
func attribute(path string) (string, error) {
	p, err := pipeline.ParsePath(path)
	if err != nil {
		return "", err
	}
	return p.Root(), nil
}

func (s *fieldSet) takes(name string) bool {
	return !s.exclude[name] && (s.include == nil || s.include[name])
}
