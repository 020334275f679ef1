// Package expr compiles CEL expressions over the images of a change.
//
// It guarantees more than CEL does:
//
//   - An absent attribute or image is null, and so is a NULL attribute. Any lookup inside null is null. An index after
//     the end of a list, and a name that a map lacks, are null too. Comparisons by order, in, exists, startsWith,
//     endsWith, contains and matches are false for null, and the size of null is 0. Null is not a bool, and cannot be
//     added.
//   - Numbers are exact. An N that fits int64 is an int, and any other N is an exact decimal. To the checker, both have
//     one type. A literal is read as text, never as a float: new.Total == 10.50 is true for N 10.5. number("...") is
//     for numbers that no literal can hold. The results of + and - are exact; a result of more than 38 digits is an
//     error.
//   - Sets are lists without order. If item.Tags is the set of a and b, "a" in item.Tags and item.Tags == ["b", "a"]
//     are true.
//   - The cost of an evaluation is bounded at compile time, for items of up to 400 KB. A loop over an attribute may
//     contain a loop over the members of its elements. It may not contain a loop over another attribute.
//   - A compile error is an [Error] with line and column. Examples are wrong syntax, an unknown name, a type that
//     contradicts [Env], an unknown op, and a result that is not a bool.
//
// A run-time error is permanent: another evaluation fails too. It is never taken for false. It names the expression and
// types, but no value.
//
// Start reading at expression_compiler.go. expression_rewrite.go changes expressions so that CEL keeps the guarantees
// above. cel_functions.go and cel_values.go have the functions and values that the changed expressions use.
// direct_evaluation.go is a fast path that evaluates common forms without CEL.
package expr

import (
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// eachName is the name of the variable that has an element of the item (for_each).
const eachName = "each"

// Env declares the names that expressions may read.
type Env struct {
	// Attributes are the declared types of top-level attributes. An expression does not compile if it reads another
	// attribute, or if it uses an attribute against its type. Default: any attribute of any type.
	Attributes map[string]item.Kind

	// DeclareHint returns the hint for an attribute that Attributes lacks. The hint says how to declare it. Default: a
	// general hint.
	DeclareHint func(attribute string) string

	// UnknownHint returns the hint for an unknown name, or "" for a general hint. Default: general hints.
	UnknownHint func(name string) string

	// Scope has the entities of the rule that contains the expression. The names that the keys of these entities bind
	// are variables of the expression. Default: none.
	Scope *entity.Scope

	// Each lets an expression over `item` read `each`, an element of the item. Default: each is an unknown name.
	Each bool
}

// Item is a compiled expression over `item`. It is safe for concurrent use.
type Item struct{ compiled }

// Change is a compiled expression over `old`, `new`, `keys`, `op`, `time` and `ttl`. It is safe for concurrent use.
type Change struct{ compiled }

var (
	_ pipeline.ElementCondition = (*Item)(nil)
	_ pipeline.Condition        = (*Change)(nil)
	_ pipeline.Requirer         = (*Change)(nil)
)

// compiled is the common part of Item and Change.
type compiled struct {
	src     string
	program cel.Program
	direct  *direct // nil if the expression has no direct form
	reads   reads
	clause  Clause
	scope   *entity.Scope
}

// CompileItem compiles an expression over `item`. The error is an *Error.
func (e Env) CompileItem(src string) (*Item, error) {
	names := itemNames
	if e.Each {
		names = elementNames
	}
	c, err := e.compile(src, names)
	if err != nil {
		return nil, err
	}
	return &Item{c}, nil
}

// CompileChange compiles an expression over a change. `old`, `new` and `keys` are images. `op` is "INSERT", "MODIFY",
// "REMOVE", "SNAPSHOT" or "UNKNOWN". `time` is the timestamp of the change's approximate creation, and `ttl` is true
// for a TTL delete. The error is an *Error.
func (e Env) CompileChange(src string) (*Change, error) {
	c, err := e.compile(src, changeNames)
	if err != nil {
		return nil, err
	}
	return &Change{c}, nil
}

// Match evaluates the expression for an item. It returns false for an image that does not exist. An error is permanent.
func (x *Item) Match(m item.Image) (bool, error) { return x.MatchElement(m, item.Value{}) }

// MatchElement does the same as Match for one element of the item. each is the value of the variable `each`.
func (x *Item) MatchElement(m item.Image, each item.Value) (bool, error) {
	if !m.Exists() {
		return false, nil
	}
	if answer := x.evalDirect(&subject{item: m, each: each}); answer != unsure {
		return answer == yes, nil
	}
	v := newVars()
	v.item.m, v.each, v.scope, v.key = m, each, x.scope, m
	return x.eval(v)
}

// ReadsElement reports whether the expression reads `each`.
func (x *Item) ReadsElement() bool { return x.reads.names[eachName] }

// Match evaluates the expression for a change. An error is permanent.
func (x *Change) Match(c *record.Change) (bool, error) {
	if answer := x.evalDirect(&subject{change: c}); answer != unsure {
		return answer == yes, nil
	}
	v := newVars()
	v.change, v.old.m, v.new.m, v.keys.m = c, c.Old, c.New, c.Keys
	v.scope, v.key = x.scope, c.Keys
	return x.eval(v)
}

// Requires returns the images that the expression reads.
func (x *Change) Requires() pipeline.Needs {
	return pipeline.Needs{Old: x.reads.names["old"], New: x.reads.names["new"]}
}

// KeysOnly reports whether the expression reads only keys. The result of such an expression is the same for every
// change of an item. That is not so for an expression that reads op, time or ttl.
func (x *Change) KeysOnly() bool {
	changing := []string{"old", "new", "op", "time", "ttl"}
	return !slices.ContainsFunc(changing, func(name string) bool { return x.reads.names[name] })
}

// Paths returns the top-level attributes that the expression reads, each once, in the order of their first use. If the
// expression compares two whole images, "*" is one of them.
func (c *compiled) Paths() []string { return slices.Clone(c.reads.attributes) }

// ReadPaths returns the paths of attributes that the expression reads, with their positions in the source. A path ends
// before an index that is not a literal.
func (c *compiled) ReadPaths() []ReadPath { return slices.Clone(c.reads.paths) }

// ReadPath is a path that an expression reads.
type ReadPath struct {
	Segments     []item.Segment
	Each         bool // the path begins at the element `each`, not at an image
	Line, Column int  // 1-based
}

// String returns the source of the expression.
func (c *compiled) String() string { return c.src }

// evalDirect evaluates the direct form. It returns unsure if the expression has no direct form.
func (c *compiled) evalDirect(s *subject) answer {
	if c.direct == nil {
		return unsure
	}
	return c.direct.eval(s)
}

// eval evaluates the expression with CEL.
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

// vars has the variables of an evaluation. CEL receives pointers to its images, so reading an image allocates nothing.
type vars struct {
	change               *record.Change
	item, old, new, keys image
	each                 item.Value
	scope                *entity.Scope
	key                  item.Image // image with the key attributes, for the names that the key binds
}

var _ cel.Activation = (*vars)(nil)

var varsPool = sync.Pool{New: func() any { return new(vars) }}

func newVars() *vars { return varsPool.Get().(*vars) }

// release clears the images, which would otherwise keep their pages in memory.
func (v *vars) release() {
	*v = vars{}
	varsPool.Put(v)
}

// Parent implements [cel.Activation].
func (v *vars) Parent() cel.Activation { return nil }

// ResolveName implements [cel.Activation].
func (v *vars) ResolveName(name string) (any, bool) {
	switch name {
	case "item":
		return &v.item, true
	case eachName:
		return toCEL(v.each), true
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
		return boolValue(v.change.TTLDelete()), true
	}
	if b := v.scope.Binding(name); b != nil {
		if value := b.Value(v.key); value.Exists() {
			return toCEL(value), true
		}
		return types.NullValue, true
	}
	return nil, false
}

// reads has the variables, attributes and paths that a compiled expression reads.
type reads struct {
	names      map[string]bool // variables, such as item, old or new
	attributes []string
	paths      []ReadPath
}

// addAttribute adds a top-level attribute, or "*" for all.
func (r *reads) addAttribute(name string) {
	if !slices.Contains(r.attributes, name) {
		r.attributes = append(r.attributes, name)
	}
}

// runtimeError adds the expression to a run-time error.
func runtimeError(src string, err error) error {
	return errs.Errorf("expression %q: %w", redact.Safe(src), withoutValues(err))
}
