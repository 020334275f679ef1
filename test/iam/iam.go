// Package iam judges requests by the statements of a policy, as IAM does: what no statement allows is denied.
// It knows the operators that sinks/policy writes, and denies by any other.
package iam

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/policy"
)

// Request is one action on one resource, with the keys of its context that conditions compare.
type Request struct {
	Action   string
	Resource string // ARN; "": not known, and matches every one
	Context  map[string][]string
}

// Allows reports whether some statement allows the request.
func Allows(ss []policy.Statement, r Request) bool {
	return slices.ContainsFunc(ss, func(s policy.Statement) bool { return Applies(s, r) })
}

// Applies reports whether a statement allows the request.
func Applies(s policy.Statement, r Request) bool {
	return slices.Contains(s.Actions, r.Action) &&
		(r.Resource == "" || slices.ContainsFunc(s.Resources, func(p string) bool { return like(p, r.Resource) })) &&
		!slices.ContainsFunc(s.Conditions, func(c policy.Condition) bool { return !met(c, r.Context[c.Key]) })
}

// met evaluates a condition over the values that its key has in a request, as "Set operators for multivalued
// context keys" of the IAM User Guide has it: ForAllValues is true of no values.
func met(c policy.Condition, values []string) bool {
	one := func(match func(pattern, text string) bool) func(string) bool {
		return func(text string) bool {
			return slices.ContainsFunc(c.Values, func(p string) bool { return match(p, text) })
		}
	}
	equal := func(a, b string) bool { return a == b }
	switch c.Operator {
	case "ForAllValues:StringLike":
		match := one(like)
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

// like matches a text with a pattern of * and ?.
func like(pattern, text string) bool {
	for pattern != "" {
		switch {
		case pattern[0] == '*':
			for i := 0; i <= len(text); i++ {
				if like(strings.TrimLeft(pattern, "*"), text[i:]) {
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
