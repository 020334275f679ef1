package expr

import (
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/tablewake/tablewake/pipeline"
)

// reading is an attribute, or a place within one.
type reading struct {
	from  source
	name  string // of the attribute; unused where from is fromLoop
	below []step
}

// source is where a reading begins.
type source uint8

const (
	fromItem source = iota
	fromNew
	fromOld
	fromKeys
	fromLoop // the member at which the loop stands
)

// step leads from a value to one within it, by its name or its index.
type step struct {
	name    string
	index   int
	byIndex bool
}

// read is the value there; false where CEL fails to look it up.
func (r *reading) read(s *subject) (v pipeline.Value, ok bool) {
	if r.from == fromLoop {
		v = s.it
	} else {
		v, _ = s.image(r.from).Get(r.name)
	}
	for i := range r.below {
		if v, ok = r.below[i].in(v); !ok {
			return v, false
		}
	}
	return v, true
}

// in is what the step leads to: null in null, behind the end, and under a name that is not there.
func (t *step) in(v pipeline.Value) (pipeline.Value, bool) {
	switch v.Kind() {
	case pipeline.Absent, pipeline.KindNULL:
		return pipeline.Value{}, true
	case pipeline.KindM:
		if t.byIndex {
			return pipeline.Value{}, true // no name is a number
		}
		w, _ := v.Get(t.name)
		return w, true
	case pipeline.KindL, pipeline.KindSS, pipeline.KindNS, pipeline.KindBS:
		w, _ := v.Index(t.index)
		return w, t.byIndex
	default:
		return pipeline.Value{}, false
	}
}

func (s *subject) image(from source) *pipeline.Image {
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

var sources = map[string]source{"item": fromItem, "new": fromNew, "old": fromOld, "keys": fromKeys}

// reading is what e reads; nil where it is no attribute and no place within one.
func (p directPlan) reading(e ast.Expr) *reading {
	switch e.Kind() {
	case ast.IdentKind:
		if e.AsIdent() == p.loop {
			return &reading{from: fromLoop}
		}
	case ast.SelectKind: // of an image: the rewriter leaves no other
		if s := e.AsSelect(); !s.IsTestOnly() {
			return &reading{from: sources[s.Operand().AsIdent()], name: s.FieldName()}
		}
	case ast.CallKind:
		if c := e.AsCall(); c.FunctionName() == fnGet {
			return p.within(c.Args()[0], c.Args()[1])
		}
	}
	return nil
}

// within reads a member of what e reads.
func (p directPlan) within(e, key ast.Expr) *reading {
	r := p.reading(e)
	if r == nil || key.Kind() != ast.LiteralKind {
		return nil
	}
	switch key := key.AsLiteral().(type) {
	case types.String:
		r.below = append(r.below, step{name: string(key)})
	case types.Int:
		r.below = append(r.below, step{index: int(key), byIndex: true})
	default:
		return nil
	}
	return r
}

// ident is the name that e is; "" where it is none.
func ident(e ast.Expr) string {
	if e.Kind() != ast.IdentKind {
		return ""
	}
	return e.AsIdent()
}

// literal is what e says; nil where it is no literal, or one of another type.
func literal(e ast.Expr) []scalar {
	if e.Kind() != ast.LiteralKind {
		return nil
	}
	v := e.AsLiteral()
	if d, ok := decimalOf(v); ok {
		return []scalar{{kind: pipeline.KindN, number: d}}
	}
	switch v := v.(type) {
	case types.String:
		return []scalar{{kind: pipeline.KindS, text: string(v)}}
	case types.Bool:
		return []scalar{{kind: pipeline.KindBOOL, flag: bool(v)}}
	case types.Null:
		return []scalar{{kind: pipeline.KindNULL}}
	}
	return nil
}
