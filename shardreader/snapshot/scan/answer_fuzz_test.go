package scan

import (
	"bytes"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
)

// What the next request depends on is read as the decoder reads it, which reads the whole answer: a segment never ends
// early, and no page is left out.
func FuzzAnswer(f *testing.F) {
	for _, answer := range []string{
		`{"Count":0,"Items":[],"ScannedCount":0}`,
		`{"Count":1,"Items":[{"PK":{"S":"a\"]}"}}],"LastEvaluatedKey":{"PK":{"S":"a\"]}"}},"ScannedCount":1,"ConsumedCapacity":{"TableName":"t","CapacityUnits":0.5}}`,
		` { "LastEvaluatedKey" : null , "Items" : [ ] } `,
		`{"Items":[{"PK":{"S":"LastEvaluatedKey"},"LastEvaluatedKey":{"M":{}}}],"LastEvaluated\u004bey":{"PK":{"S":"x"}}}`,
		`{"Items":[],"ConsumedCapacity":{"Table":{"CapacityUnits":1},"CapacityUnits":1.5e2}}`,
		`{"Items":[],"ConsumedCapacity":null}`, `{"Items":[]}{}`, `{"Items":{}}`, `{}`, ``, `[]`,
		"{\"Items\":[],\"ConsumedCapacity\":{\"CapacityUnit\xf3\":1}}",
	} {
		f.Add([]byte(answer))
	}
	decoder := record.NewSnapshotDecoder(record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true}, Keys: []string{"PK"}})
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := parseAnswer(body)
		whole, wholeErr := decoder.DecodeScan(body)
		if wholeErr != nil {
			return // the page is an error, and its position is never stored
		}
		if err != nil {
			t.Fatalf("%q is refused: %v", body, err)
		}
		if !bytes.Equal(a.lastKey, whole.LastKey) || (a.lastKey == nil) != (whole.LastKey == nil) {
			t.Errorf("the last key of %q is %q, and the decoder reads %q", body, a.lastKey, whole.LastKey)
		}
		if max(a.units, 0) != whole.Units {
			t.Errorf("%q costs %g, and the decoder reads %g", body, a.units, whole.Units)
		}
	})
}
