package decimal_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/decimal"
)

func TestDecimal_JSON(t *testing.T) {
	type priced struct {
		Total decimal.Decimal
		Maybe *decimal.Decimal
	}
	for doc, want := range map[string]string{
		`{"Total":12345678901234567890.5,"Maybe":null}`: `{"Total":12345678901234567890.5,"Maybe":null}`,
		`{"Total":"1.50","Maybe":1e3}`:                  `{"Total":1.5,"Maybe":1000}`,
		`{"Total":null}`:                                `{"Total":0,"Maybe":null}`,
	} {
		var p priced
		if err := json.Unmarshal([]byte(doc), &p); err != nil {
			t.Error(err)
			continue
		}
		if got, err := json.Marshal(p); err != nil || string(got) != want {
			t.Errorf("%s became %s, %v", doc, got, err)
		}
	}
	for _, doc := range []string{`"x"`, `true`, `{}`, `1e999`, `""`, `"1`} {
		var d decimal.Decimal
		if err := json.Unmarshal([]byte(doc), &d); err == nil {
			t.Errorf("%s became %v", doc, d)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := decimal.Of(rapid.Int64().Draw(t, "d"))
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var back decimal.Decimal
		if err := json.Unmarshal(b, &back); err != nil || back != d {
			t.Fatalf("%v became %s and %v, %v", d, b, back, err)
		}
	})
}
