package mask_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
)

// The error of a record that cannot be decoded names no path below a hidden place, and no hidden key.
func TestMask_RecordError(t *testing.T) {
	broken := func(image string) *record.RecordError {
		rec := `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"5","Keys":{"PK":{"S":"canary"},"SK":{"S":"open"}},"NewImage":` + image + `}}`
		p, err := record.NewDecoder(record.DecoderOptions{EpochZero: true}).Decode([]byte(rec))
		if err != nil || len(p.Errors) != 1 {
			t.Fatal(err, p.Errors)
		}
		return p.Errors[0]
	}
	for _, test := range []struct{ image, hidden, path, key string }{
		{`{"Contacts":{"M":{"canary":{"M":{"x":{"N":"no"}}}}}}`, "Contacts", "dynamodb.NewImage.Contacts", "canary,open"},
		{`{"Contacts":{"M":{"can ary":{"M":{"x":{"N":"no"}}}}}}`, "Contacts.* PK", `dynamodb.NewImage.Contacts["can ary"]`, "masked-,open"},
		{`{"Lines":{"L":[{"M":{"x":{"N":"no"}}}]}}`, "Lines[*]", "dynamodb.NewImage.Lines[0]", "canary,open"},
		{`{"first-name":{"M":{"canary":{"N":"no"}}}}`, `["first-name"]`, `dynamodb.NewImage["first-name"]`, "canary,open"},
		{`{"Total":{"N":"no"}}`, "Email PK SK", "dynamodb.NewImage.Total", "masked-,masked-"},
		{`"canary"`, "Email", "dynamodb.NewImage", "canary,open"},
	} {
		e := broken(test.image)
		m := maskOf(t, strings.Fields(test.hidden)...)
		got := m.RecordError(e)
		key := string(got.Key)
		for i := strings.Index(key, "masked-"); i >= 0 && len(key) >= i+19; i = strings.Index(key, "masked-") {
			key = key[:i] + "MASKED-" + key[i+19:]
		}
		key = strings.ReplaceAll(key, "MASKED-", "masked-")
		if got.Path != test.path || key != test.key || got.Raw != nil || !errors.Is(got, e.Err) || e.Raw == nil {
			t.Errorf("hiding %q: %s of %s, want %s of %s", test.hidden, got.Path, key, test.path, test.key)
		}
		if none := (*mask.Mask)(nil).RecordError(e); none != e {
			t.Error("a nil mask copies")
		}
	}
}
