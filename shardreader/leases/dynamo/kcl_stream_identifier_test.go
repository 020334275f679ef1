package dynamo

import (
	"testing"

	"pgregory.net/rapid"
)

// A name of a stream for KCL names one stream.
func TestIdentifier(t *testing.T) {
	for arn, want := range map[string]string{
		"arn:aws:dynamodb:us-east-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678":           "123456789012:us-east-1$123456789012$shop$2026-01-02T03_04_05.678:1",
		"arn:aws-cn:dynamodb:cn-north-1:123456789012:table/a_b.c-d/stream/2026-01-02T03:04:05.678":    "123456789012:cn-north-1$123456789012$a_b.c-d$2026-01-02T03_04_05.678:1",
		"arn:aws-us-gov:dynamodb:us-gov-west-1:123456789012:table/shop/stream/2026-01-02T03:04:05.67": "123456789012:us-gov-west-1$123456789012$shop$2026-01-02T03_04_05.67:1",
	} {
		id, err := identifier(arn)
		if err != nil || id != want || arnFromIdentifier(id) != arn {
			t.Errorf("%s is %s (%v), which is %s", arn, id, err, arnFromIdentifier(id))
		}
	}
	for _, bad := range []string{"", "arn", "arn:aws:dynamodb:r:1:table/shop", "arn:aws:dynamodb:r:1:index/shop/stream/x", "arn:aws:kinesis:r:1:stream/x"} {
		if id, err := identifier(bad); err == nil {
			t.Errorf("%q is %s", bad, id)
		}
	}
	for _, bad := range []string{"", "1:x:1", "1:r$1$t:1", "r$1$t$l"} {
		if arn := arnFromIdentifier(bad); arn != "" {
			t.Errorf("%q is %s", bad, arn)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		arn := "arn:aws:dynamodb:" + rapid.StringMatching(`(eu|us|ap)-[a-z]{4,9}-[1-9]`).Draw(t, "region") + ":" + rapid.StringMatching(`[0-9]{12}`).Draw(t, "account") +
			":table/" + rapid.StringMatching(`[a-zA-Z0-9_.-]{3,20}`).Draw(t, "table") + "/stream/" + rapid.StringMatching(`20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{3}`).Draw(t, "label")
		if id, err := identifier(arn); err != nil || arnFromIdentifier(id) != arn {
			t.Fatalf("%s is %s (%v), which is %s", arn, id, err, arnFromIdentifier(id))
		}
	})
}
