package policy

import (
	"slices"
	"strings"
	"unicode"
)

// Statement is one statement of a policy. It allows the actions on the resources if all conditions are met.
type Statement struct {
	Sid        string // letters and digits
	Why        string // explanation for the reader of the policy
	Actions    []string
	Resources  []string // ARNs
	Conditions []Condition
}

// Condition is one operator of a statement's Condition. It compares a key of the request with values.
type Condition struct {
	Operator string // for example ForAllValues:StringLike
	Key      string // for example dynamodb:LeadingKeys
	Values   []string
}

// leadingKeys limits requests to rows whose partition keys match one of these patterns. ForAllValues is also true for a
// request without keys, so the second condition, Null, refuses a request without keys.
func leadingKeys(like ...string) []Condition {
	const key = "dynamodb:LeadingKeys"
	return []Condition{{"ForAllValues:StringLike", key, like}, {"Null", key, []string{"false"}}}
}

// sid joins words to one name of letters and digits: orders_by_status becomes OrdersByStatus.
func sid(words ...string) string {
	isSeparator := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	var name strings.Builder
	for _, word := range strings.FieldsFunc(strings.Join(words, " "), isSeparator) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}

func actions(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
