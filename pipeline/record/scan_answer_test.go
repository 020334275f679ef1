package record_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
)

const scanAnswer = `{"Count":2,"Items":[` + itemText + `,{"PK":{"S":"USER#2"},"SK":{"N":"8"}}],"ScannedCount":5,` +
	`"LastEvaluatedKey":{"PK":{"S":"USER#2"},"SK":{"N":"8"}},"ConsumedCapacity":{"TableName":"shop","CapacityUnits":128.5}}`

func TestScanPage(t *testing.T) {
	d := record.NewSnapshotDecoder(snapshotOptions(0))
	p, err := d.DecodeScan([]byte(scanAnswer))
	if err != nil || len(p.Page.Changes) != 2 || len(p.Page.Errors) != 0 || p.CapacityUnits != 128.5 || string(p.LastKey) != `{"PK":{"S":"USER#2"},"SK":{"N":"8"}}` {
		t.Fatalf("%v %+v", err, p)
	}
	if c := p.Page.Changes[1]; c.Key != "USER%232,+8" || c.Op != record.Snapshot || c.Sequence != "0" || c.Index != 1 || string(c.Raw) != `{"PK":{"S":"USER#2"},"SK":{"N":"8"}}` {
		t.Errorf("%+v", c)
	}
	for _, body := range []string{`{"Items":[],"Count":0,"ScannedCount":0}`, ` {"LastEvaluatedKey":null, "Items" : [ ], "ConsumedCapacity":null } `} {
		if p, err := d.DecodeScan([]byte(body)); err != nil || p.LastKey != nil || p.CapacityUnits != -1 || len(p.Page.Changes) != 0 {
			t.Errorf("%s: %v %+v", body, err, p)
		}
	}
	if p, err := d.DecodeScan([]byte(`{"Items":[],"LastEvaluated\u004bey":{"PK":{"S":"x"}},"ConsumedCapacity":{"Table":{"CapacityUnits":1},"CapacityUnits":1.5e2}}`)); err != nil || p.CapacityUnits != 150 || string(p.LastKey) != `{"PK":{"S":"x"}}` {
		t.Errorf("%v %+v", err, p)
	}
	// An item may have an attribute with the name Item.
	o := snapshotOptions(0)
	o.Keys = []string{"PK"}
	p, err = record.NewSnapshotDecoder(o).DecodeScan([]byte(`{"Items":[{"Item":{"PK":{"S":"x"}},"PK":{"S":"y"}},{"PK":{"S":"z"}}]}`))
	if err != nil || len(p.Page.Errors) != 1 || len(p.Page.Changes) != 1 || p.Page.Errors[0].Path != "Item.Item" || p.Page.Errors[0].Key != "y" {
		t.Errorf("%v %+v %v", err, p, p.Page.Errors)
	}
}

// A segment ends only with a complete answer without LastEvaluatedKey.
func TestScanPage_BrokenAnswersNeverEndASegment(t *testing.T) {
	bodies := []string{
		``, ` `, `{}`, `null`, `[]`, `[` + itemText + `]`, `{"Count":0}`, `{"Items":null}`, `{"Items":{}}`, `{"Items":[],"Items":[]}`,
		`{"Items":[],"Count":1}`, `{"Items":[],"Count":-1}`, `{"Items":[],"Count":"0"}`,
		`{"Items":[],"LastEvaluatedKey":{}}`, `{"Items":[],"LastEvaluatedKey":5}`, `{"Items":[],"LastEvaluatedKey":{"a":1},"LastEvaluatedKey":null}`,
		`{"Items":[],"ConsumedCapacity":{"CapacityUnits":"x"}}`, `{"Items":[],"ConsumedCapacity":{}}}`, "{\"Items\":[],\"ConsumedCapacity\":{\"\xf3\":1}}", `{"message":"Internal server error"}`, scanAnswer + `}`, scanAnswer + scanAnswer,
	}
	for cut := range len(scanAnswer) {
		bodies = append(bodies, scanAnswer[:cut])
	}
	for _, body := range bodies {
		p, err := record.NewSnapshotDecoder(snapshotOptions(0)).DecodeScan([]byte(body))
		if _, ok := errors.AsType[*record.FramingError](err); !ok || p.LastKey != nil || p.CapacityUnits != 0 || p.Page == nil || strings.Contains(err.Error(), "USER") {
			t.Errorf("%q: %v %+v", body, err, p)
		}
	}
}
