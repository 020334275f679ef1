// Package iam judges requests by the statements of a policy, like IAM. A request that no statement allows is denied.
// The package evaluates the operators that sinks/policy writes. A condition with another operator is not met.
package iam

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/policy"
)

// Request is an action on a resource, with the context keys that conditions compare.
type Request struct {
	Action   string
	Resource string // ARN; "": unknown, and every resource matches
	Context  map[string][]string
}

// Allows reports whether one of the statements allows the request.
func Allows(ss []policy.Statement, r Request) bool {
	return slices.ContainsFunc(ss, func(s policy.Statement) bool { return Applies(s, r) })
}

// Applies reports whether a statement allows the request.
func Applies(s policy.Statement, r Request) bool {
	return slices.Contains(s.Actions, r.Action) &&
		(r.Resource == "" || slices.ContainsFunc(s.Resources, func(p string) bool { return matches(p, r.Resource) })) &&
		!slices.ContainsFunc(s.Conditions, func(c policy.Condition) bool { return !isMet(c, r.Context[c.Key]) })
}

// isMet evaluates a condition with the values that its key has in a request. It follows "Set operators for multivalued
// context keys" of the IAM User Guide: ForAllValues is true if there are no values.
func isMet(c policy.Condition, values []string) bool {
	one := func(match func(pattern, text string) bool) func(string) bool {
		return func(text string) bool {
			return slices.ContainsFunc(c.Values, func(p string) bool { return match(p, text) })
		}
	}
	equal := func(a, b string) bool { return a == b }
	switch c.Operator {
	case "ForAllValues:StringLike":
		match := one(matches)
		return !slices.ContainsFunc(values, func(v string) bool { return !match(v) })
	case "ForAnyValue:StringEquals":
		return slices.ContainsFunc(values, one(equal))
	case "StringEquals":
		return len(values) == 1 && one(equal)(values[0])
	case "Null":
		return slices.Equal(c.Values, []string{"true"}) == (len(values) == 0)
	}
	return false
}

// matches reports whether a text matches a pattern of * and ?.
func matches(pattern, text string) bool {
	for pattern != "" {
		switch {
		case pattern[0] == '*':
			for i := 0; i <= len(text); i++ {
				if matches(strings.TrimLeft(pattern, "*"), text[i:]) {
					return true
				}
			}
			return false
		case text == "" || pattern[0] != '?' && pattern[0] != text[0]:
			return false
		}
		pattern, text = pattern[1:], text[1:]
	}
	return text == ""
}
