package expr

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

const (
	// maxAttributeSize is the assumed maximum size of an attribute, in bytes of text or in members. An item of DynamoDB
	// has at most 400 KB.
	maxAttributeSize = 400_000

	// memberSize is the assumed size of a value inside the members of a list or map. It is an average, because all
	// members together are within maxAttributeSize.
	memberSize = 2

	// costLimit is the maximum cost of an evaluation on an item with attributes of these sizes. CEL's unit of cost is
	// about one operation. The limit allows a loop over an attribute, even with loops over the members of its elements
	// in it. It does not allow a loop over an attribute inside a loop over an attribute.
	costLimit = 100_000_000
)

// checkCost returns an error if the estimated cost of an evaluation is above costLimit.
func checkCost(env *cel.Env, checked *cel.Ast) error {
	estimate, err := env.EstimateCost(checked, sizeEstimator{})
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

// sizeEstimator estimates the sizes of attributes, which CEL does not know.
type sizeEstimator struct{}

var _ cost.Estimator = sizeEstimator{}

// EstimateSize implements [cost.Estimator].
func (sizeEstimator) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
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
func (s sizeEstimator) EstimateCallCost(
	function, _ string, target *cost.AstNode, args []cost.AstNode,
) *cost.CallEstimate {
	switch function {
	case "contains": // CEL's own estimate is the product of the lengths, but the search is linear
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

// attributeSize returns the estimated size of a value that is read from an image or from the variable of a loop. The
// variable of a loop has a member as its value, so its size is memberSize.
func attributeSize(e ast.Expr) *cost.SizeEstimate {
	size := cost.RangedSizeEstimate(0, maxAttributeSize)
	elem := cost.RangedSizeEstimate(0, memberSize)
	if readsLoopVariable(e) {
		size = elem
	}
	size.Elem = &elem
	return &size
}

// readsLoopVariable reports whether e is the variable of a loop, or a part of it that a call reads (fnGet). e is nil
// for a member of a list or map that has no variable yet.
func readsLoopVariable(e ast.Expr) bool {
	if e == nil {
		return true
	}
	for {
		switch e.Kind() {
		case ast.SelectKind:
			return false // it reads an image, because the rewriter replaced all other selections by calls of fnGet
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
