package dynamo

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
)

// addedDigits and addedDecimals are limits for adding in place, which means without reading the row: the maximum
// numbers of digits before and after the point. They apply to the amount, and to the stored value that the amount is
// added to.
//
// A number of DynamoDB has 38 digits, so adding is exact if the sum has at most 38 digits. If the amount and the stored
// value are within the limits, the sum has at most 20 + 18 digits. Then the change is added in place. Otherwise the row
// is read, the amount is added in memory, and the row is written on condition that it did not change. If the new value
// is beyond the limits, its name is listed in the row's _tw (wide), so that nothing is added to it in place later.
const (
	addedDigits   = 19
	addedDecimals = 18
)

// maxAddend is the greatest stored value that an amount is added to in place.
var maxAddend = strings.Repeat("9", addedDigits)

// maxAddedValues is the maximum number of values that one update expression adds to. DynamoDB allows 4 KB in an
// expression.
const maxAddedValues = 40

// isExact reports whether n is within the limits for adding in place.
func isExact(n state.Number) bool {
	d, ok := n.Value().Number()
	if !ok {
		return false
	}
	digits, exponent := d.Digits()
	return exponent <= addedDigits && len(digits)-exponent <= addedDecimals
}

// addable reports whether the change may be added in place. This is the case if the change has no members, not too many
// values, and only amounts within the limits.
func (g *groupRowWrite) addable() bool {
	amounts := increments(g.GroupChange)
	if len(g.Members) > 0 || len(amounts) > maxAddedValues {
		return false
	}
	return !slices.ContainsFunc(amounts, func(in state.Increment) bool { return !isExact(in.Amount) })
}

// increments returns the counts and the sums of a change.
func increments(g *state.GroupChange) []state.Increment { return slices.Concat(g.Counts, g.Sums) }

// addAction returns the update that adds a change to a row in place, or creates the row. The condition of the update is
// not met in three cases: the row belongs to another sink, the sum would be inexact, or the change removes the last
// share. In the last case the row must be deleted instead.
func (c *groupWriter) addAction(g *groupRowWrite) dynamo.Action {
	const addable = ownerMatches + " AND attribute_not_exists(#tw.#wide)"
	condition := withOwner(c.target, addable, "#wide", metaWide, "#n", sharesAttribute)
	names, values := condition.Names, condition.Values
	values[":tw"], values[":n"] = c.groupMeta(g, nil), dynamo.N(strconv.FormatInt(g.Shares, 10))
	if g.Shares > 0 {
		condition.Text = "(attribute_not_exists(#pk) OR (" + addable + "))"
		names["#pk"] = c.target.PK
	} else {
		condition.Text = "#n > :least AND " + addable
		values[":least"] = dynamo.N(strconv.FormatInt(-g.Shares, 10))
	}

	update := "SET #tw = :tw ADD #n :n"
	amounts := increments(g.GroupChange)
	for i, in := range amounts {
		name, value := fmt.Sprintf("#a%d", i), fmt.Sprintf(":a%d", i)
		names[name], values[value] = in.Name, dynamo.N(in.Amount.String())
		update += ", " + name + " " + value
		condition.Text += " AND (attribute_not_exists(" + name + ") OR " + name + " BETWEEN :low AND :high)"
	}
	if len(amounts) > 0 {
		values[":low"], values[":high"] = dynamo.N("-"+maxAddend), dynamo.N(maxAddend)
	}
	return dynamo.Update(g.ref, update, condition)
}

// groupMeta returns the _tw of a group's row, with a new revision. wide has the names of the values that are beyond the
// limits for adding in place.
func (c *groupWriter) groupMeta(g *groupRowWrite, wide []string) types.AttributeValue {
	m := map[string]types.AttributeValue{
		metaVersion:  dynamo.S(g.Version.String()),
		metaPipeline: dynamo.S(c.target.Pipeline),
		metaView:     dynamo.S(c.target.View),
		metaBirth:    dynamo.S(c.target.Birth),
		metaRevision: dynamo.S(rand.Text()),
	}
	if len(wide) > 0 {
		m[metaWide] = &types.AttributeValueMemberSS{Value: wide}
	}
	return &types.AttributeValueMemberM{Value: m}
}
