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

// A number of DynamoDB has 38 digits, and adding is exact as long as the sum has no
// more. So a change is added where it stands, without reading the row, if each amount
// has at most 19 digits before the point and 18 behind it, and so has what it is added
// to: the sum then has 20 and 18. All else is read, reckoned here, and written back on
// condition that it is unchanged; values that are beyond these limits then are named in
// the row's mark, and nothing is added to them.
const (
	addedDigits   = 19
	addedDecimals = 18
)

// most is the greatest amount of the row that is added to.
var most = strings.Repeat("9", addedDigits)

// maxAdded is how many values are added to in one expression, which may have 4 KB.
const maxAdded = 40

// narrow tells whether n is within what is added.
func narrow(n state.Number) bool {
	d, ok := n.Value().Number()
	if !ok {
		return false
	}
	digits, exponent := d.Digits()
	return exponent <= addedDigits && len(digits)-exponent <= addedDecimals
}

// addable tells whether a change may be added to a row that is not known: it has
// amounts alone, and exact ones.
func (g *groupWrite) addable() bool {
	if len(g.Members) > 0 || len(g.Counts)+len(g.Sums) > maxAdded {
		return false
	}
	for _, adds := range [][]state.Increment{g.Counts, g.Sums} {
		for _, a := range adds {
			if !narrow(a.Amount) {
				return false
			}
		}
	}
	return true
}

// add is the action that adds a change to a row, or to none. Its condition keeps it
// from the row of another, from values that it could not add to exactly, and from taking
// the last share, with which the row would have to go.
func (c *counting) add(g *groupWrite) dynamo.Action {
	update := "SET #tw = :tw ADD #n :n"
	const narrow = owned + " AND attribute_not_exists(#tw.#wide)"
	met := ownedBy(c.target, "(attribute_not_exists(#pk) OR ("+narrow+"))", "#wide", markWide, "#n", sharesAttribute)
	values := met.Values
	values[":tw"], values[":n"] = c.groupMark(g, nil), dynamo.N(strconv.FormatInt(g.Shares, 10))
	if g.Shares > 0 {
		met.Names["#pk"] = c.target.PK
	} else {
		met.Text = "#n > :least AND " + narrow
		values[":least"] = dynamo.N(strconv.FormatInt(-g.Shares, 10))
	}
	i := 0
	for _, adds := range [][]state.Increment{g.Counts, g.Sums} {
		for _, a := range adds {
			name, value := fmt.Sprintf("#a%d", i), fmt.Sprintf(":a%d", i)
			i++
			met.Names[name], values[value] = a.Name, dynamo.N(a.Amount.String())
			update += ", " + name + " " + value
			met.Text += " AND (attribute_not_exists(" + name + ") OR " + name + " BETWEEN :low AND :high)"
		}
	}
	if i > 0 {
		values[":low"], values[":high"] = dynamo.N("-"+most), dynamo.N(most)
	}
	return dynamo.Update(g.ref, update, met)
}

// groupMark is the mark of a group's row. Every write gives it another revision.
func (c *counting) groupMark(g *groupWrite, wide []string) types.AttributeValue {
	m := map[string]types.AttributeValue{
		markVersion:  dynamo.S(g.Version.String()),
		markPipeline: dynamo.S(c.target.Pipeline),
		markView:     dynamo.S(c.target.View),
		markBirth:    dynamo.S(c.target.Birth),
		markRevision: dynamo.S(rand.Text()),
	}
	if len(wide) > 0 {
		m[markWide] = &types.AttributeValueMemberSS{Value: wide}
	}
	return &types.AttributeValueMemberM{Value: m}
}
