package expr

import (
	"regexp"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// variable is a name that an expression can read.
type variable struct {
	name string
	t    *cel.Type
}

var (
	itemNames    = []variable{{"item", imageType}}
	elementNames = []variable{{"item", imageType}, {eachName, cel.DynType}}
	changeNames  = []variable{
		{"new", imageType}, {"old", imageType}, {"keys", imageType},
		{"op", cel.StringType}, {"time", cel.TimestampType}, {"ttl", cel.BoolType},
	}
)

func isChangeName(text string) bool {
	return slices.ContainsFunc(changeNames, func(n variable) bool { return n.name == text })
}

// standardFunctions are the functions of CEL's standard library that expressions use unchanged.
var standardFunctions = []string{
	operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.NotStrictlyFalse,
	operators.Equals, operators.NotEquals,
	"getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate", "getDayOfWeek",
	"getHours", "getMinutes", "getSeconds", "getMilliseconds",
}

// sourceLimit is the maximum number of characters in an expression.
const sourceLimit = 20_000

// compile compiles an expression over names and the names that keys of the entities bind. It parses the expression,
// rewrites it in place, checks its types, its result and its cost, and makes CEL's program and the direct form. The
// error is an *Error.
func (e Env) compile(src string, names []variable) (compiled, error) {
	names = append(slices.Clone(names), e.boundNames()...)
	celEnv, err := e.celEnv(names)
	if err != nil {
		return compiled{}, &Error{Line: 1, Column: 1, Message: err.Error()}
	}
	parsed, issues := celEnv.Parse(src)
	if issues.Err() != nil {
		return compiled{}, e.explain(src, issues, names, nil)
	}
	r := newRewriter(src, parsed.NativeRep(), names)
	clause := r.clauseOf(r.root) // before rewriteCondition changes the parsed expression
	if err := r.rewriteCondition(r.root); err != nil {
		return compiled{}, err
	}
	checked, issues := celEnv.Check(parsed)
	if issues.Err() != nil {
		return compiled{}, e.explain(src, issues, names, r)
	}
	if t := checked.OutputType(); !t.IsExactType(types.BoolType) {
		return compiled{}, &Error{Line: 1, Column: 1, Message: "the result is not a BOOL",
			Hint: "compare it, as in == true, or > 0"}
	}
	if err := checkCost(celEnv, checked); err != nil {
		return compiled{}, err
	}
	program, err := celEnv.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.OptimizeRegex(constantPatterns))
	if err != nil {
		return compiled{}, &Error{Line: 1, Column: 1, Message: err.Error()}
	}
	return compiled{src: src, program: program, direct: newDirect(checked.NativeRep().Expr(), e.Scope), reads: r.reads,
		clause: clause, scope: e.Scope}, nil
}

// boundNames returns the names that keys of the entities bind.
func (e Env) boundNames() []variable {
	var names []variable
	for _, b := range e.Scope.Bindings() {
		v := variable{b.Name(), cel.DynType}
		if b.IsText() {
			v.t = cel.StringType
		}
		names = append(names, v)
	}
	return names
}

// celEnv returns CEL's environment with this package's types and functions.
func (e Env) celEnv(names []variable) (*cel.Env, error) {
	subset := env.NewLibrarySubset()
	for _, function := range standardFunctions {
		subset.AddIncludedFunctions(env.NewFunction(function))
	}
	options := []cel.EnvOption{
		cel.CustomTypeProvider(&provider{Provider: types.NewEmptyRegistry(), attributes: e.Attributes}),
		cel.StdLib(cel.StdLibSubset(subset)),
		cel.ParserExpressionSizeLimit(sourceLimit),
		cel.ParserRecursionLimit(100),
	}
	for _, n := range names {
		options = append(options, cel.Variable(n.name, n.t))
	}
	return cel.NewCustomEnv(append(options, functions()...)...)
}

// constantPatterns makes CEL compile a constant pattern of `matches` only once, when the expression is compiled.
var constantPatterns = &interpreter.RegexOptimization{
	Function: "matches",
	// CEL has an optimization of its own for the name matches. One for the OverloadID comes first
	OverloadID: matchesOverload,
	RegexIndex: 1,
	Factory: func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		holds := func(s, _ string) bool { return re.MatchString(s) }
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
			return evalText("matches", args[0], args[1], holds)
		}), nil
	},
}
