// Package expr compiles CEL expressions over the images of a change.
//
// What it promises beyond CEL:
//
//   - An attribute or an image that is absent is null, as is a NULL attribute, and so
//     is whatever is looked up inside null, behind the end of a list, or under a name
//     that a map lacks. A question about null is answered no: ordering, in, exists,
//     startsWith, endsWith, contains and matches are false, and its size is 0.
//     Null itself is no bool, and no number to add.
//   - Numbers are exact. An N that fits int64 is an int, any other an exact decimal,
//     and they are one type to the checker. A literal is read by its text, never as a
//     float: new.Total == 10.50 holds for N 10.5. number("...") is for
//     those that no literal can hold. + and - are exact, or an error beyond 38 digits.
//   - Sets are lists without order: "a" in item.Tags, item.Tags == ["b", "a"].
//   - An evaluation is bounded when it is compiled, for items of up to 400 KB: loops over
//     one attribute, and over what is inside its members, pass; a loop over one
//     attribute for every member of another does not.
//   - Whatever can be found at compile time is an [Error] with line and column: syntax, names,
//     types where [Env] declares them, an op that no change has, a result that is no bool.
//
// What goes wrong at run time is a permanent error that names the expression and
// types, never a value, and never false.
package expr

import (
	"slices"
	"sync"

	"cel.dev/cel-go/cel"

	"github.com/tablewake/tablewake/pipeline"
)

// Env is what expressions may name.
type Env struct {
	// Attributes are the declared types of top-level attributes: an expression that
	// reads another one, or uses one against its type, fails to compile.
	// Default: any attribute of any type
	Attributes map[string]pipeline.Kind
}

// Item is a compiled expression over `item`. It is safe for concurrent use.
type Item struct{ compiled }

// Change is a compiled expression over `old`, `new`, `keys`, `op`, `time` and
// `ttl`. It is safe for concurrent use.
type Change struct{ compiled }

var (
	_ pipeline.ItemCondition = (*Item)(nil)
	_ pipeline.Condition     = (*Change)(nil)
	_ pipeline.Requirer      = (*Change)(nil)
)

// compiled is what both kinds of expression are.
type compiled struct {
	src     string
	program cel.Program
	direct  *direct // nil where the expression has no direct form
	reads   reads
	clause  Clause
}

// CompileItem compiles an expression over `item`. The error is an *Error.
func (e Env) CompileItem(src string) (*Item, error) {
	c, err := e.compile(src, itemNames)
	if err != nil {
		return nil, err
	}
	return &Item{c}, nil
}

// CompileChange compiles an expression over a change: `old`, `new` and `keys` are
// images, `op` is "INSERT", "MODIFY", "REMOVE", "SNAPSHOT" or "UNKNOWN", `time` is
// the timestamp of the change's approximate creation, `ttl` tells whether it is a
// TTL delete. The error is an *Error.
func (e Env) CompileChange(src string) (*Change, error) {
	c, err := e.compile(src, changeNames)
	if err != nil {
		return nil, err
	}
	return &Change{c}, nil
}

// Match evaluates the expression for an item. An image that does not exist is no
// item and never matches. An error is permanent.
func (x *Item) Match(item pipeline.Image) (bool, error) {
	if !item.Exists() {
		return false, nil
	}
	if answer := x.ask(&subject{item: item}); answer != unsure {
		return answer == yes, nil
	}
	v := newVars()
	v.item.m = item
	return x.eval(v)
}

// Match evaluates the expression for a change. An error is permanent.
func (x *Change) Match(c *pipeline.Change) (bool, error) {
	if answer := x.ask(&subject{change: c}); answer != unsure {
		return answer == yes, nil
	}
	v := newVars()
	v.change, v.old.m, v.new.m, v.keys.m = c, c.Old, c.New, c.Keys
	return x.eval(v)
}

// Requires are the images that the expression names.
func (x *Change) Requires() pipeline.Needs {
	return pipeline.Needs{Old: x.reads.names["old"], New: x.reads.names["new"]}
}

// KeysOnly tells whether the expression reads nothing but keys, so that it judges
// every change of an item alike. op and time differ between them.
func (x *Change) KeysOnly() bool {
	for _, name := range []string{"old", "new", "op", "time", "ttl"} {
		if x.reads.names[name] {
			return false
		}
	}
	return true
}

// Paths are the top-level attributes that the expression reads, in order and once
// each; among them is "*" where it compares images as a whole.
func (c *compiled) Paths() []string { return slices.Clone(c.reads.attributes) }

// String is the expression as written.
func (c *compiled) String() string { return c.src }

// ask is the direct answer.
func (c *compiled) ask(s *subject) answer {
	if c.direct == nil {
		return unsure
	}
	return c.direct.ask(s)
}

// eval is CEL's answer.
func (c *compiled) eval(v *vars) (bool, error) {
	defer v.release()
	result, _, err := c.program.Eval(v)
	if err != nil {
		return false, runtimeError(c.src, err)
	}
	b, ok := result.Value().(bool)
	if !ok {
		return false, runtimeError(c.src, notBool(result))
	}
	return b, nil
}

// vars is what an evaluation reads: the images by pointer, so that naming one
// allocates nothing.
type vars struct {
	change               *pipeline.Change
	item, old, new, keys image
}

var _ cel.Activation = (*vars)(nil)

var pool = sync.Pool{New: func() any { return new(vars) }}

func newVars() *vars { return pool.Get().(*vars) }

// release forgets the images, which else would pin their pages.
func (v *vars) release() {
	*v = vars{}
	pool.Put(v)
}

// Parent implements [cel.Activation].
func (v *vars) Parent() cel.Activation { return nil }

// ResolveName implements [cel.Activation].
func (v *vars) ResolveName(name string) (any, bool) {
	switch name {
	case "item":
		return &v.item, true
	case "old":
		return &v.old, true
	case "new":
		return &v.new, true
	case "keys":
		return &v.keys, true
	case "op":
		return operation(v.change.Op), true
	case "time":
		return instant(v.change.Time), true
	case "ttl":
		return boolean(v.change.TTLDelete()), true
	}
	return nil, false
}

// reads is what a compiled expression looks at.
type reads struct {
	names      map[string]bool // item, old, new, ...
	attributes []string
}

func (r *reads) attribute(name string) {
	if !slices.Contains(r.attributes, name) {
		r.attributes = append(r.attributes, name)
	}
}

// runtimeError names the expression.
func runtimeError(src string, err error) error {
	return errs.Errorf("expression %q: %w", pipeline.Safe(src), withoutValues(err))
}
