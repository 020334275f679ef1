package expr

import (
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
)

// valuePath is the path of an attribute, or of a value inside it.
type valuePath struct {
	start   pathStart
	name    string // name of the attribute; only if the path starts at an image
	binding *entity.Binding
	steps   []step
}

// pathStart is the value at which a path starts.
type pathStart uint8

const (
	fromItem pathStart = iota
	fromNew
	fromOld
	fromKeys
	fromLoop  // the current member of the loop
	fromEach  // the element under for_each
	fromBound // the value of a name that the entity's key binds
)

// step is one step of a path into a value: a name or an index.
type step struct {
	name    string
	index   int
	byIndex bool
}

// read returns the value at the path. ok is false if reading the path in CEL would fail.
func (r *valuePath) read(s *subject) (v item.Value, ok bool) {
	switch r.start {
	case fromLoop:
		v = s.member
	case fromEach:
		v = s.each
	case fromBound:
		v = r.binding.Value(*s.key())
	default:
		v, _ = s.imageAt(r.start).Get(r.name)
	}
	for i := range r.steps {
		if v, ok = r.steps[i].follow(v); !ok {
			return v, false
		}
	}
	return v, true
}

// follow returns the value at the step inside v. What is missing is null: everything inside null, an index after the
// end of a list, a name that a map does not have. ok is false where CEL fails: a scalar has nothing inside, and a list
// or a set has no names.
func (t *step) follow(v item.Value) (inside item.Value, ok bool) {
	switch v.Kind() {
	case item.Absent, item.KindNULL:
		return item.Value{}, true
	case item.KindM:
		if t.byIndex {
			return item.Value{}, true // names are not numbers
		}
		inside, _ = v.Get(t.name)
		return inside, true
	case item.KindL, item.KindSS, item.KindNS, item.KindBS:
		inside, _ = v.Index(t.index)
		return inside, t.byIndex
	default:
		return item.Value{}, false
	}
}

func (s *subject) imageAt(from pathStart) *item.Image {
	switch from {
	case fromNew:
		return &s.change.New
	case fromOld:
		return &s.change.Old
	case fromKeys:
		return &s.change.Keys
	default:
		return &s.item
	}
}

// key returns an image that contains the key attributes.
func (s *subject) key() *item.Image {
	if s.change != nil {
		return &s.change.Keys
	}
	return &s.item
}

// imageStarts has the images by the names of their variables.
var imageStarts = map[string]pathStart{"item": fromItem, "new": fromNew, "old": fromOld, "keys": fromKeys}

// path returns the path that e reads. It returns nil if e is not a path.
func (p directPlan) path(e ast.Expr) *valuePath {
	switch e.Kind() {
	case ast.IdentKind:
		if e.AsIdent() == p.loop {
			return &valuePath{start: fromLoop}
		}
		if b := p.scope.Binding(e.AsIdent()); b != nil {
			return &valuePath{start: fromBound, binding: b}
		}
		if e.AsIdent() == eachName { // no loop variable has this name if each is a variable of the expression
			return &valuePath{start: fromEach}
		}
	case ast.SelectKind: // the rewriter replaces all selections that do not read an image
		if s := e.AsSelect(); !s.IsTestOnly() {
			return &valuePath{start: imageStarts[s.Operand().AsIdent()], name: s.FieldName()}
		}
	case ast.CallKind:
		if c := e.AsCall(); c.FunctionName() == fnGet {
			return p.memberPath(c.Args()[0], c.Args()[1])
		}
	}
	return nil
}

// memberPath returns the path of e[key]. It returns nil if e is not a path, or if key is not a literal name or index.
func (p directPlan) memberPath(e, key ast.Expr) *valuePath {
	r := p.path(e)
	if r == nil || key.Kind() != ast.LiteralKind {
		return nil
	}
	switch key := key.AsLiteral().(type) {
	case types.String:
		r.steps = append(r.steps, step{name: string(key)})
	case types.Int:
		r.steps = append(r.steps, step{index: int(key), byIndex: true})
	default:
		return nil
	}
	return r
}

// identName returns the name of the variable e. It returns "" if e is not a variable.
func identName(e ast.Expr) string {
	if e.Kind() != ast.IdentKind {
		return ""
	}
	return e.AsIdent()
}

// literalValues returns the value of the literal e in a slice, as direct.values has it. It returns nil if e is not a
// literal, or if no scalar has the type of the literal.
func literalValues(e ast.Expr) []scalar {
	if e.Kind() != ast.LiteralKind {
		return nil
	}
	v := e.AsLiteral()
	if d, ok := decimalOf(v); ok {
		return []scalar{{kind: item.KindN, number: d}}
	}
	switch v := v.(type) {
	case types.String:
		return []scalar{{kind: item.KindS, text: string(v)}}
	case types.Bool:
		return []scalar{{kind: item.KindBOOL, flag: bool(v)}}
	case types.Null:
		return []scalar{{kind: item.KindNULL}}
	}
	return nil
}
