package expr

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

const (
	// itemSize is what any attribute is taken to be long, in bytes of text or in
	// members: DynamoDB's bound of an item is 400 KB.
	itemSize = 400_000

	// memberSize is what anything inside the members of a list or map is taken to be
	// long, on average: all of them together are within itemSize too.
	memberSize = 2

	// costLimit bounds an evaluation, in CEL's units (about one operation each), on
	// an item of that size: a loop over an attribute passes, and loops within what it goes through;
	// a loop over one attribute within a loop over another does not.
	costLimit = 100_000_000
)

// withinBounds refuses an expression that could run for too long.
func withinBounds(env *cel.Env, checked *cel.Ast) error {
	estimate, err := env.EstimateCost(checked, sizes{})
	if err != nil {
		return &Error{Line: 1, Column: 1, Message: err.Error()}
	}
	if estimate.Max <= costLimit {
		return nil
	}
	return &Error{
		Line: 1, Column: 1,
		Message: "the expression could take too long: on an item of 400 KB it may need more than 100 million steps",
		Hint:    "loops over attributes within loops over attributes multiply",
	}
}

// sizes estimates what CEL cannot know: how long attributes are.
type sizes struct{}

var _ cost.Estimator = sizes{}

// EstimateSize implements [cost.Estimator].
func (sizes) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	if size := node.ComputedSize(); size != nil {
		return size
	}
	switch node.Type().Kind() {
	case types.BoolKind, types.IntKind, types.TimestampKind, types.DurationKind, types.NullTypeKind:
		return nil
	}
	return attributeSize(node.Expr())
}

// EstimateCallCost implements [cost.Estimator].
func (s sizes) EstimateCallCost(function, _ string, target *cost.AstNode, args []cost.AstNode) *cost.CallEstimate {
	switch function {
	case "contains": // CEL's own estimate is the product, and the search is linear
		if target == nil {
			return nil
		}
		text := cost.EstimateSize(s, *target).Add(cost.EstimateSize(s, args[0]))
		return cost.NewCallEstimate(text.MultiplyByCostFactor(cost.StringTraversalCostFactor), nil)
	case operators.In:
		return cost.NewCallEstimate(cost.EstimateSize(s, args[1]).MultiplyByCostFactor(1), nil)
	case fnGet:
		return cost.NewCallEstimate(cost.FixedCostEstimate(1), attributeSize(args[0].Expr()))
	case fnEach:
		return cost.NewCallEstimate(cost.FixedCostEstimate(1), s.EstimateSize(args[0]))
	default:
		return nil
	}
}

// attributeSize is the size of what is read from an image, or from the variable of
// a loop: inside the members that the loop goes through.
func attributeSize(e ast.Expr) *cost.SizeEstimate {
	size := cost.RangedSizeEstimate(0, itemSize)
	elem := cost.RangedSizeEstimate(0, memberSize)
	if inLoop(e) {
		size = elem
	}
	size.Elem = &elem
	return &size
}

// inLoop tells whether e is read from the variable of a loop. CEL asks with nil for
// the members of a list or map before it has a variable for them.
func inLoop(e ast.Expr) bool {
	if e == nil {
		return true
	}
	for {
		switch e.Kind() {
		case ast.SelectKind:
			return false // of an image: the rewriter leaves no other
		case ast.CallKind:
			args := e.AsCall().Args()
			if len(args) == 0 {
				return false
			}
			e = args[0]
		case ast.IdentKind:
			return true
		default:
			return false
		}
	}
}
