package search

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Fields select the attributes of an item that become fields of the document. They name attributes by their paths
// (Price, Address.City, ["first-name"]). A path into a list has no index and means all elements (Lines.sku). An
// attribute is taken with everything inside it. The attribute _tw is never taken.
type Fields struct {
	Include []string          // attributes that are taken. Default: all
	Exclude []string          // included attributes that are left out. Default: none
	Rename  map[string]string // path -> name of the field in the same map. Default: the attribute's name
	// Hash are the attributes whose scalars are replaced by the hash of their text. Scalars inside lists, sets and maps
	// are replaced too. See Options.HMACKey. Default: none
	Hash []string
	// Numbers maps a path to the form of the numbers of the attribute and of all numbers inside it. Default:
	// NumberExact
	Numbers map[string]Number
}

// Scalar returns the name of the field that holds a top-level scalar attribute, and the form of its numbers. ok is
// false if documents do not contain the value, because the attribute is left out or hashed.
func (f Fields) Scalar(attribute string) (name string, form Number, ok bool) {
	root, err := compileFields(f)
	if err != nil {
		return "", "", false
	}
	in := inherited{included: root.include}
	settings := root.childNamed(attribute)
	if settings == nil {
		return attribute, in.number, in.included
	}
	in = settings.inheritedBelow(in)
	isShown := in.included && !in.hash && !settings.exclude
	return settings.nameOf(attribute), in.number, isShown
}

// reserved is the field that holds the writer and the version of a document.
const reserved = "_tw"

// field holds the settings of one attribute and of the attributes inside it.
type field struct {
	include         bool
	leadsToIncluded bool // an attribute inside this one is included
	exclude         bool
	hash            bool
	name            string // "" keeps the attribute's name
	number          *Number
	inner           map[string]*field
	renamed         map[string]string // new name -> attribute, for the attributes inside
}

// compileFields returns the settings f as a tree. The root of the tree is the item.
func compileFields(f Fields) (*field, error) {
	root := &field{include: len(f.Include) == 0}
	if err := root.setIncludes(f.Include); err != nil {
		return nil, err
	}
	for _, path := range append(slices.Clone(f.Exclude), reserved) {
		attribute, err := root.addAt(path)
		if err != nil {
			return nil, fmt.Errorf("Exclude: %w", err)
		}
		if attribute.include {
			return nil, fmt.Errorf("Exclude: %q is included too", path)
		}
		attribute.exclude = true
	}
	for _, path := range f.Hash {
		attribute, err := root.addAt(path)
		if err != nil {
			return nil, fmt.Errorf("Hash: %w", err)
		}
		attribute.hash = true
	}
	for _, path := range slices.Sorted(maps.Keys(f.Rename)) {
		if err := root.rename(path, f.Rename[path]); err != nil {
			return nil, fmt.Errorf("Rename: %w", err)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(f.Numbers)) {
		attribute, err := root.addAt(path)
		if err != nil {
			return nil, fmt.Errorf("Numbers: %w", err)
		}
		n := f.Numbers[path]
		if !n.isKnown() {
			return nil, fmt.Errorf("Numbers: %q: no form is named %q; there are %q, %q and %q", path, n, NumberString,
				NumberScaledFloat, NumberDouble)
		}
		attribute.number = &n
	}
	return root, nil
}

// setIncludes marks the attributes at paths as included. f is the root.
func (f *field) setIncludes(paths []string) error {
	for _, path := range paths {
		names, err := pathNames(path)
		if err != nil {
			return fmt.Errorf("Include: %w", err)
		}
		attribute := f
		for _, name := range names {
			attribute.leadsToIncluded = true
			attribute = attribute.child(name)
		}
		attribute.include = true
	}
	return nil
}

// rename gives the attribute at a path another name in its map. f is the root.
func (f *field) rename(path, to string) error {
	names, err := pathNames(path)
	if err != nil {
		return err
	}
	parent := f
	last := len(names) - 1
	for _, name := range names[:last] {
		parent = parent.child(name)
	}
	from := names[last]

	isReserved := parent == f && to == reserved
	if to == "" || isReserved {
		return fmt.Errorf("%q cannot be named %q", path, to)
	}
	if other, taken := parent.renamed[to]; taken {
		return fmt.Errorf("%q and %q are both named %q", other, from, to)
	}
	if parent.renamed == nil {
		parent.renamed = make(map[string]string)
	}
	parent.renamed[to] = from
	parent.child(from).name = to
	return nil
}

// addAt returns the field at a path, and inserts it if it is missing.
func (f *field) addAt(path string) (*field, error) {
	names, err := pathNames(path)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f = f.child(name)
	}
	return f, nil
}

// child returns f.inner[name], the settings of one attribute inside f. It inserts them if they are missing.
func (f *field) child(name string) *field {
	if f.inner == nil {
		f.inner = make(map[string]*field)
	}
	if f.inner[name] == nil {
		f.inner[name] = &field{}
	}
	return f.inner[name]
}

// childNamed returns f.inner[name], or nil if that attribute has no settings. f may be nil.
func (f *field) childNamed(name string) *field {
	if f == nil {
		return nil
	}
	return f.inner[name]
}

// nameOf returns the name of the field that holds the attribute with the settings f. f may be nil.
func (f *field) nameOf(attribute string) string {
	if f == nil {
		return attribute
	}
	return cmp.Or(f.name, attribute)
}

// renamedTo returns the attribute inside f that is renamed to name. ok is false if there is no such attribute. f may be
// nil.
func (f *field) renamedTo(name string) (from string, ok bool) {
	if f == nil {
		return "", false
	}
	from, ok = f.renamed[name]
	return from, ok
}

// pathNames returns the names of a path. It returns an error for a path that names an element of a list.
func pathNames(path string) ([]string, error) {
	p, err := item.ParsePath(path)
	if err != nil {
		return nil, err
	}
	names, ok := p.Names()
	if !ok || len(names) == 0 {
		return nil, errs.Errorf("%q names an element of a list: leave the index out, and all elements are meant", path)
	}
	return names, nil
}
