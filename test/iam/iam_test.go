package iam_test

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/policy"
	"github.com/tablewake/tablewake/test/iam"
)

func TestAllows(t *testing.T) {
	const key = "dynamodb:LeadingKeys"
	ss := []policy.Statement{
		{Actions: []string{"dynamodb:Query"}, Resources: []string{"table/state"}, Conditions: []policy.Condition{
			{Operator: "ForAllValues:StringLike", Key: key, Values: []string{"a#*", "#exact"}}, {Operator: "Null", Key: key, Values: []string{"false"}},
		}},
		{Actions: []string{"kms:Decrypt"}, Resources: []string{"key/*"}, Conditions: []policy.Condition{
			{Operator: "StringEquals", Key: "kms:ViaService", Values: []string{"s3"}}, {Operator: "ForAnyValue:StringEquals", Key: "kms:ResourceAliases", Values: []string{"alias/x"}},
		}},
		{Actions: []string{"dynamodb:Scan"}, Resources: []string{"*"}, Conditions: []policy.Condition{{Operator: "DateLessThan", Key: "aws:CurrentTime", Values: []string{"2026"}}}},
	}
	leading := func(keys ...string) map[string][]string { return map[string][]string{key: keys} }
	for name, c := range map[string]struct {
		r    iam.Request
		want bool
	}{
		"own rows":                     {iam.Request{"dynamodb:Query", "table/state", leading("a#guard#x", "a#")}, true},
		"an exact row":                 {iam.Request{"dynamodb:Query", "table/state", leading("#exact")}, true},
		"more than the exact row":      {iam.Request{"dynamodb:Query", "table/state", leading("#exact#")}, false},
		"rows of a longer name":        {iam.Request{"dynamodb:Query", "table/state", leading("ab#guard")}, false},
		"one row of another among own": {iam.Request{"dynamodb:Query", "table/state", leading("a#guard", "b#guard")}, false},
		"no keys":                      {iam.Request{"dynamodb:Query", "table/state", nil}, false},
		"another table":                {iam.Request{"dynamodb:Query", "table/state2", leading("a#guard")}, false},
		"another action":               {iam.Request{"dynamodb:PutItem", "table/state", leading("a#guard")}, false},
		"an operator it doesn't know":  {iam.Request{"dynamodb:Scan", "table/state", nil}, false},
		"a key by its alias":           {iam.Request{"kms:Decrypt", "key/1", map[string][]string{"kms:ViaService": {"s3"}, "kms:ResourceAliases": {"alias/y", "alias/x"}}}, true},
		"a key by another alias":       {iam.Request{"kms:Decrypt", "key/1", map[string][]string{"kms:ViaService": {"s3"}, "kms:ResourceAliases": {"alias/y"}}}, false},
		"a key past the service":       {iam.Request{"kms:Decrypt", "key/1", map[string][]string{"kms:ResourceAliases": {"alias/x"}}}, false},
	} {
		if got := iam.Allows(ss, c.r); got != c.want {
			t.Errorf("%s: allowed is %t", name, got)
		}
	}
}
