package sinks_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
)

// Two tables that write to one Kinesis stream: the keys of one are not the other's.
func TestKinesis_OtherTables(t *testing.T) {
	cfg, err := config.Parse("tablewake.yaml", []byte(`
version: 1
name: shop
source: {table: shop, kinesis: 'arn:aws:kinesis:eu-central-1:123456789012:stream/s'}
sinks:
  history: {archive: {bucket: history}}
`), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	p, err := sinks.Assemble(t.Context(), cfg, &objectNames{Stores: sinks.PlanOnly()})
	if err != nil {
		t.Fatal(err)
	}
	event := `{"Records":[`
	for i, table := range []string{"shop", "other", "shop"} {
		data := fmt.Sprintf(`{"eventID":"%d","eventName":"INSERT","tableName":%q,"dynamodb":{"ApproximateCreationDateTime":176400000000000%d,"Keys":{"PK":{"S":"a"}},"NewImage":{"PK":{"S":"a"}}}}`, i, table, i)
		event += fmt.Sprintf(`{"eventSource":"aws:kinesis","kinesis":{"sequenceNumber":"%d","data":%q}},`, 100+i, base64.StdEncoding.EncodeToString([]byte(data)))
	}
	page, err := p.Decoder().Decode([]byte(event[:len(event)-1] + "]}"))
	if err != nil || len(page.Errors) > 0 {
		t.Fatal(err, page.Errors)
	}
	read := false
	src := pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		if read {
			return nil, io.EOF
		}
		read = true
		return page, nil
	})
	if err := p.Run(t.Context(), src, nil); err != nil {
		t.Fatal(err)
	}
	if l := p.Ledger(); l.Source.Filtered["other_table"] != 1 || l.Sinks["history"].Routed != 2 || l.Check() != nil {
		t.Errorf("%+v, %v", l, l.Check())
	}
}
