package expr

import (
	"bytes"
	"cmp"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// The functions that the rewriter puts into expressions. No source can call them: their names are no identifiers.
const (
	fnGet  = "@get"  // a member of a map or list; null if the value is null
	fnHas  = "@has"  // true if a map has a name
	fnNull = "@null" // true if the value is null or a missing image
	fnBool = "@bool" // the value itself, which must be a BOOL
	fnEach = "@each" // the value itself, to loop over its members; an empty list for null
)

const matchesOverload = "matches_string"

// functionNames are the functions that an expression may call.
var functionNames = []string{"size", "startsWith", "endsWith", "contains", "matches", "number", "string", "timestamp",
	"duration", "has", "all", "exists", "exists_one", "map", "filter"}

var (
	elementType = cel.TypeParamType("A")
	memberType  = cel.TypeParamType("B")
)

// functions declares the functions that this package adds to CEL or replaces. It replaces functions because their
// operands can be null or an exact number.
func functions() []cel.EnvOption {
	listType, mapType := cel.ListType(elementType), cel.MapType(elementType, memberType)
	options := []cel.EnvOption{
		cel.Function(fnGet,
			cel.Overload("get_list", []*cel.Type{listType, cel.IntType}, elementType),
			cel.Overload("get_map", []*cel.Type{mapType, elementType}, memberType),
			cel.SingletonBinaryBinding(get)),
		cel.Function(fnHas,
			cel.Overload("has_map", []*cel.Type{mapType, elementType}, cel.BoolType),
			cel.SingletonBinaryBinding(has)),
		cel.Function(fnNull,
			cel.Overload("null_any", []*cel.Type{cel.DynType}, cel.BoolType),
			cel.SingletonUnaryBinding(isNullOrNoImage)),
		cel.Function(fnBool,
			cel.Overload("bool_bool", []*cel.Type{cel.BoolType}, cel.BoolType),
			cel.SingletonUnaryBinding(mustBool)),
		cel.Function(fnEach,
			cel.Overload("each_list", []*cel.Type{listType}, listType),
			cel.Overload("each_map", []*cel.Type{mapType}, mapType),
			cel.SingletonUnaryBinding(each)),
		cel.Function(operators.In,
			// CEL's own ids are not used: with them, CEL hashes the left side, and some values have no hash.
			cel.Overload("in_members", []*cel.Type{elementType, listType}, cel.BoolType),
			cel.Overload("in_names", []*cel.Type{elementType, mapType}, cel.BoolType),
			cel.SingletonBinaryBinding(in)),
		cel.Function(operators.Add,
			cel.Overload("add_number", []*cel.Type{cel.IntType, cel.IntType}, cel.IntType),
			cel.Overload("add_string", []*cel.Type{cel.StringType, cel.StringType}, cel.StringType),
			cel.Overload("add_list", []*cel.Type{listType, listType}, listType),
			cel.Overload("add_timestamp_duration", []*cel.Type{cel.TimestampType, cel.DurationType}, cel.TimestampType),
			cel.Overload("add_duration_timestamp", []*cel.Type{cel.DurationType, cel.TimestampType}, cel.TimestampType),
			cel.Overload("add_duration_duration", []*cel.Type{cel.DurationType, cel.DurationType}, cel.DurationType),
			cel.SingletonBinaryBinding(plus)),
		cel.Function(operators.Subtract,
			cel.Overload("subtract_number", []*cel.Type{cel.IntType, cel.IntType}, cel.IntType),
			cel.Overload("subtract_timestamp_timestamp", []*cel.Type{cel.TimestampType, cel.TimestampType}, cel.DurationType),
			cel.Overload("subtract_timestamp_duration", []*cel.Type{cel.TimestampType, cel.DurationType}, cel.TimestampType),
			cel.Overload("subtract_duration_duration", []*cel.Type{cel.DurationType, cel.DurationType}, cel.DurationType),
			cel.SingletonBinaryBinding(minus)),
		cel.Function(operators.Negate,
			cel.Overload("negate_number", []*cel.Type{cel.IntType}, cel.IntType),
			cel.SingletonUnaryBinding(negative)),
		cel.Function("size",
			cel.Overload("size_string", []*cel.Type{cel.StringType}, cel.IntType),
			cel.Overload("size_bytes", []*cel.Type{cel.BytesType}, cel.IntType),
			cel.Overload("size_list", []*cel.Type{listType}, cel.IntType),
			cel.Overload("size_map", []*cel.Type{mapType}, cel.IntType),
			cel.MemberOverload("string_size", []*cel.Type{cel.StringType}, cel.IntType),
			cel.MemberOverload("bytes_size", []*cel.Type{cel.BytesType}, cel.IntType),
			cel.MemberOverload("list_size", []*cel.Type{listType}, cel.IntType),
			cel.MemberOverload("map_size", []*cel.Type{mapType}, cel.IntType),
			cel.SingletonUnaryBinding(size)),
		cel.Function("number",
			cel.Overload("number_string", []*cel.Type{cel.StringType}, cel.IntType),
			cel.Overload("number_number", []*cel.Type{cel.IntType}, cel.IntType),
			cel.SingletonUnaryBinding(toNumber)),
		cel.Function("string",
			cel.Overload("string_string", []*cel.Type{cel.StringType}, cel.StringType),
			cel.Overload("string_number", []*cel.Type{cel.IntType}, cel.StringType),
			cel.Overload("string_bool", []*cel.Type{cel.BoolType}, cel.StringType),
			cel.SingletonUnaryBinding(toString)),
		cel.Function("timestamp",
			cel.Overload("timestamp_string", []*cel.Type{cel.StringType}, cel.TimestampType),
			cel.Overload("timestamp_number", []*cel.Type{cel.IntType}, cel.TimestampType),
			cel.SingletonUnaryBinding(toTimestamp)),
		cel.Function("duration",
			cel.Overload("duration_string", []*cel.Type{cel.StringType}, cel.DurationType),
			cel.SingletonUnaryBinding(toDuration)),
	}
	for symbol, trueResults := range operatorOrders {
		var overloads []cel.FunctionOpt
		for _, t := range []*cel.Type{cel.IntType, cel.StringType, cel.BytesType, cel.BoolType, cel.TimestampType,
			cel.DurationType} {
			overloads = append(overloads, cel.Overload("order_"+symbol+t.TypeName(), []*cel.Type{t, t}, cel.BoolType))
		}
		overloads = append(overloads, cel.SingletonBinaryBinding(
			func(a, b ref.Val) ref.Val { return evalOrder(a, b, trueResults) }))
		options = append(options, cel.Function(symbol, overloads...))
	}
	for name, holds := range map[string]func(s, part string) bool{
		"startsWith": strings.HasPrefix,
		"endsWith":   strings.HasSuffix,
		"contains":   strings.Contains,
	} {
		options = append(options, cel.Function(name,
			cel.MemberOverload(name+"_string", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType),
			cel.SingletonBinaryBinding(func(a, b ref.Val) ref.Val { return evalText(name, a, b, holds) })))
	}
	return append(options, cel.Function("matches",
		cel.MemberOverload(matchesOverload, []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType),
		cel.SingletonBinaryBinding(func(a, b ref.Val) ref.Val { return fail("the pattern of matches was not compiled") })))
}

// evalOrder reports whether the order of a and b is one of trueResults. It returns false if a or b is null.
func evalOrder(a, b ref.Val, trueResults orders) ref.Val {
	if isNull(a) || isNull(b) {
		return types.False
	}
	result, ok := compare(a, b)
	if !ok {
		return fail("%s and %s have no order", kindOf(a), kindOf(b))
	}
	return boolValue(trueResults.have(result))
}

func isNull(v ref.Val) bool { return v == types.NullValue }

func get(operand, key ref.Val) ref.Val {
	switch operand := operand.(type) {
	case types.Null:
		return types.NullValue
	case traits.Mapper:
		if v, ok := operand.Find(key); ok {
			return v
		}
		return types.NullValue
	case traits.Lister:
		i, ok := key.(types.Int)
		if !ok {
			return fail("a list has no member %s", kindOf(key))
		}
		if i < 0 || i >= operand.Size().(types.Int) {
			return types.NullValue
		}
		return operand.Get(i)
	default:
		return fail("%s has no members to look up", kindOf(operand))
	}
}

func has(operand, name ref.Val) ref.Val {
	switch operand := operand.(type) {
	case types.Null:
		return types.False
	case traits.Mapper:
		_, ok := operand.Find(name)
		return boolValue(ok)
	default:
		return fail("%s has no members to look up", kindOf(operand))
	}
}

func isNullOrNoImage(v ref.Val) ref.Val {
	if i, ok := v.(*image); ok {
		return boolValue(!i.m.Exists())
	}
	return boolValue(isNull(v))
}

func mustBool(v ref.Val) ref.Val {
	if _, ok := v.(types.Bool); !ok {
		return types.WrapErr(notBool(v))
	}
	return v
}

var emptyList = types.DefaultTypeAdapter.NativeToValue([]ref.Val{})

func each(v ref.Val) ref.Val {
	switch v.(type) {
	case types.Null:
		return emptyList
	case traits.Iterable:
		return v
	default:
		return fail("%s has no members to go through", kindOf(v))
	}
}

func in(member, container ref.Val) ref.Val {
	if isNull(container) {
		return types.False
	}
	c, ok := container.(traits.Container)
	if !ok {
		return fail("%s has no members to be in", kindOf(container))
	}
	return c.Contains(member)
}

// compare orders two values of one type. It returns false if they have no order.
func compare(a, b ref.Val) (int, bool) {
	switch x := a.(type) {
	case types.Int, number:
		return compareNumbers(a, b)
	case types.String:
		y, ok := b.(types.String)
		return strings.Compare(string(x), string(y)), ok
	case types.Bytes:
		y, ok := b.(types.Bytes)
		return bytes.Compare(x, y), ok
	case types.Bool:
		y, ok := b.(types.Bool)
		return int(x.Compare(y).(types.Int)), ok
	case types.Timestamp:
		y, ok := b.(types.Timestamp)
		return x.Time.Compare(y.Time), ok
	case types.Duration:
		y, ok := b.(types.Duration)
		return cmp.Compare(x.Duration, y.Duration), ok
	}
	return 0, false
}

// compareNumbers orders two numbers. It returns false if one of the values is not a number.
func compareNumbers(a, b ref.Val) (int, bool) {
	m, isInt := a.(types.Int)
	if n, ok := b.(types.Int); ok && isInt {
		return cmp.Compare(m, n), true
	}
	x, aIsNumber := decimalOf(a)
	y, bIsNumber := decimalOf(b)
	return x.Cmp(y), aIsNumber && bIsNumber
}

func plus(a, b ref.Val) ref.Val {
	if sum, ok := add(a, b); ok {
		return sum
	}
	switch a := a.(type) {
	case types.String:
		if b, ok := b.(types.String); ok {
			return a + b
		}
	case types.Timestamp, types.Duration, traits.Lister:
		return a.(traits.Adder).Add(b)
	}
	return fail("%s and %s cannot be added", kindOf(a), kindOf(b))
}

func minus(a, b ref.Val) ref.Val {
	if n, ok := negate(b); ok {
		if sum, ok := add(a, n); ok {
			return sum
		}
	}
	switch a := a.(type) {
	case types.Timestamp, types.Duration:
		return a.(traits.Subtractor).Subtract(b)
	}
	return fail("%s and %s cannot be subtracted", kindOf(a), kindOf(b))
}

func negative(v ref.Val) ref.Val {
	if n, ok := negate(v); ok {
		return n
	}
	return fail("%s has no negative", kindOf(v))
}

func size(v ref.Val) ref.Val {
	switch v := v.(type) {
	case types.Null:
		return types.IntZero
	case traits.Sizer:
		return v.Size()
	default:
		return fail("%s has no size", kindOf(v))
	}
}

// evalText applies a function of two texts. It returns false if one of them is null.
func evalText(name string, a, b ref.Val, holds func(s, part string) bool) ref.Val {
	if isNull(a) || isNull(b) {
		return types.False
	}
	s, isText := a.(types.String)
	part, partIsText := b.(types.String)
	if !isText || !partIsText {
		return fail("%s takes S and S, not %s and %s", name, kindOf(a), kindOf(b))
	}
	return boolValue(holds(string(s), string(part)))
}

func toNumber(v ref.Val) ref.Val {
	switch v := v.(type) {
	case types.Int, number:
		return v
	case types.String:
		if n, err := parseNumber(string(v)); err == nil {
			return n
		}
		return fail("number: the text is not a number of 38 digits")
	default:
		return fail("number takes S, not %s", kindOf(v))
	}
}

func toString(v ref.Val) ref.Val {
	switch v := v.(type) {
	case types.String:
		return v
	case types.Int, number, types.Bool:
		return v.ConvertToType(types.StringType)
	default:
		return fail("string takes S, N and BOOL, not %s", kindOf(v))
	}
}

func toTimestamp(v ref.Val) ref.Val {
	switch v := v.(type) {
	case types.String:
		if t, err := time.Parse(time.RFC3339, string(v)); err == nil {
			return types.Timestamp{Time: t.UTC()}
		}
		return fail("timestamp: the text is not of RFC 3339, as in 2026-01-02T15:04:05Z")
	case types.Int:
		return types.Timestamp{Time: time.Unix(int64(v), 0).UTC()}
	default:
		return fail("timestamp takes S and N (epoch seconds), not %s", kindOf(v))
	}
}

func toDuration(v ref.Val) ref.Val {
	s, ok := v.(types.String)
	if !ok {
		return fail("duration takes S, not %s", kindOf(v))
	}
	d, err := time.ParseDuration(string(s))
	if err != nil {
		return fail("duration: the text is not a duration, as in 90s or 12h")
	}
	return types.Duration{Duration: d}
}
