package sinks_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
)

// If two tables write to the same Kinesis stream, the pipeline filters the changes of the other table.
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
		return &pipeline.Page{Page: *page}, nil
	})
	if err := p.Run(t.Context(), src, nil); err != nil {
		t.Fatal(err)
	}
	if l := p.Ledger(); l.Source.Filtered["other_table"] != 1 || l.Sinks["history"].Routed != 2 || l.Check() != nil {
		t.Errorf("%+v, %v", l, l.Check())
	}
}

// A record of the wrong source ends the run before anything is written. Otherwise views would keep items of another
// table or versions of another kind forever.
func TestOfSource(t *testing.T) {
	const (
		stream = `{"eventID":"1","eventName":"INSERT","eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/%s/stream/2026-01-01T00:00:00.000","dynamodb":{"Keys":{"PK":{"S":"a"}},"NewImage":{"PK":{"S":"a"}},"SequenceNumber":"100000000000000000001","StreamViewType":"NEW_AND_OLD_IMAGES"}}`
		data   = `{"eventID":"1","eventName":"INSERT","tableName":"shop","dynamodb":{"ApproximateCreationDateTime":1764000000000000,"Keys":{"PK":{"S":"a"}},"NewImage":{"PK":{"S":"a"}}}}`
	)
	kinesis := fmt.Sprintf(`{"eventSource":"aws:kinesis","kinesis":{"sequenceNumber":"100","data":%q}}`, base64.StdEncoding.EncodeToString([]byte(data)))
	for name, tt := range map[string]struct {
		source string
		record string
		opts   []sinks.Option
		want   string // part of the error; "" if the record is written
	}{
		"its own":                     {source: "table: shop", record: fmt.Sprintf(stream, "shop"), opts: []sinks.Option{sinks.Live()}},
		"another table's, live":       {source: "table: shop", record: fmt.Sprintf(stream, "other"), opts: []sinks.Option{sinks.Live()}, want: "of the table other"},
		"another table's, saved":      {source: "table: shop", record: fmt.Sprintf(stream, "other")},
		"one of several":              {source: "tables: [shop, other]", record: fmt.Sprintf(stream, "other"), opts: []sinks.Option{sinks.Live()}},
		"of a Kinesis stream":         {source: "table: shop", record: kinesis, want: "write source.kinesis"},
		"of the table's own stream":   {source: "table: shop, kinesis: 'arn:aws:kinesis:eu-central-1:123456789012:stream/s'", record: fmt.Sprintf(stream, "shop"), want: "remove source.kinesis"},
		"of the Kinesis stream asked": {source: "table: shop, kinesis: 'arn:aws:kinesis:eu-central-1:123456789012:stream/s'", record: kinesis},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := config.Parse("tablewake.yaml", []byte("version: 1\nname: shop\nsource: {"+tt.source+"}\nsinks:\n  history: {archive: {bucket: history}}\n"), func(string) (string, bool) { return "", false })
			if err != nil {
				t.Fatal(err)
			}
			stores := &objectNames{Stores: sinks.PlanOnly()}
			p, err := sinks.Assemble(t.Context(), cfg, stores, tt.opts...)
			if err != nil {
				t.Fatal(err)
			}
			page, err := p.Decoder().Decode([]byte(tt.record))
			if err != nil || len(page.Errors) > 0 {
				t.Fatal(err, page.Errors)
			}
			read := false
			err = p.Run(t.Context(), pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
				if read {
					return nil, io.EOF
				}
				read = true
				return &pipeline.Page{Page: *page}, nil
			}), nil)
			switch {
			case tt.want == "" && (err != nil || len(stores.put) != 1):
				t.Errorf("error %v, %d objects", err, len(stores.put))
			case tt.want != "" && (!pipeline.IsFatal(err) || !strings.Contains(err.Error(), tt.want) || len(stores.put) != 0):
				t.Errorf("error %v, want %q; %d objects", err, tt.want, len(stores.put))
			}
		})
	}
}
