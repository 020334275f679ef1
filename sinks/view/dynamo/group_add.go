package dynamo

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
)

// A number of DynamoDB has 38 digits, and adding is exact if the sum has no more. So a change is added in place,
// without reading the row, if each amount has at most 19 digits before the point and 18 after it, and so has the
// stored value: the sum then has 20 and 18. All other changes are read, added here, and written on condition that
// the row did not change. Values beyond the limits are then listed in the row's _tw (wide), and nothing is added to
// them in place.
const (
	addedDigits   = 19
	addedDecimals = 18
)

// maxAddend is the greatest stored value that is added to in place.
var maxAddend = strings.Repeat("9", addedDigits)

// maxAddedValues limits the values in one update expression, which may have 4 KB.
const maxAddedValues = 40

// isExact reports whether n is within the limits of adding in place.
func isExact(n state.Number) bool {
	d, ok := n.Value().Number()
	if !ok {
		return false
	}
	digits, exponent := d.Digits()
	return exponent <= addedDigits && len(digits)-exponent <= addedDecimals
}

// addable reports whether a change may be added to a row that was not read: it has no members, and its amounts are
// within the limits.
func (g *groupRowWrite) addable() bool {
	if len(g.Members) > 0 || len(g.Counts)+len(g.Sums) > maxAddedValues {
		return false
	}
	for _, adds := range [][]state.Increment{g.Counts, g.Sums} {
		for _, a := range adds {
			if !isExact(a.Amount) {
				return false
			}
		}
	}
	return true
}

// addAction returns the update that adds a change to a row, or creates the row. Its condition excludes rows of
// other sinks, values that cannot be added to exactly, and the removal of the last share, after which the row must
// be deleted.
func (c *groupWriter) addAction(g *groupRowWrite) dynamo.Action {
	update := "SET #tw = :tw ADD #n :n"
	const addable = ownerMatches + " AND attribute_not_exists(#tw.#wide)"
	condition := withOwner(c.target, "(attribute_not_exists(#pk) OR ("+addable+"))", "#wide", metaWide, "#n", sharesAttribute)
	values := condition.Values
	values[":tw"], values[":n"] = c.groupMeta(g, nil), dynamo.N(strconv.FormatInt(g.Shares, 10))
	if g.Shares > 0 {
		condition.Names["#pk"] = c.target.PK
	} else {
		condition.Text = "#n > :least AND " + addable
		values[":least"] = dynamo.N(strconv.FormatInt(-g.Shares, 10))
	}
	i := 0
	for _, adds := range [][]state.Increment{g.Counts, g.Sums} {
		for _, a := range adds {
			name, value := fmt.Sprintf("#a%d", i), fmt.Sprintf(":a%d", i)
			i++
			condition.Names[name], values[value] = a.Name, dynamo.N(a.Amount.String())
			update += ", " + name + " " + value
			condition.Text += " AND (attribute_not_exists(" + name + ") OR " + name + " BETWEEN :low AND :high)"
		}
	}
	if i > 0 {
		values[":low"], values[":high"] = dynamo.N("-"+maxAddend), dynamo.N(maxAddend)
	}
	return dynamo.Update(g.ref, update, condition)
}

// groupMeta returns the _tw of a group's row. Every write gives it a new revision.
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
