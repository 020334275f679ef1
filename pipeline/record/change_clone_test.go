package record_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
)

// Fact 31: aws-lambda-go returns the buffer of the event to a pool after the reply, so data that outlives the handler
// must own its bytes. A page uses the buffer itself. A clone and a decoded struct have their own bytes.
func TestFact31_WhatOutlivesThePageOwnsItsBytes(t *testing.T) {
	type user struct {
		PK, SK, Email string
		Tags          []string `dynamodbav:"Tags,stringset"`
		Blob          []byte
		Nested        map[string]any
	}
	rec := pipelinetest.With(pipelinetest.Modify, `"Email":{"S":"b@example.com"}`,
		`"Email":{"S":"b@example.com"},"Tags":{"SS":["one","two"]},"Blob":{"B":"3q2+7w=="},"Nested":{"M":{"esc\u0061ped":{"S":"x"},"n":{"N":"1.50"}}}`)
	for _, tt := range []struct{ name, input string }{
		{"Streams", rec},
		{"TTL delete", pipelinetest.TTLDelete},
		{"Kinesis", pipelinetest.KinesisEvent(pipelinetest.MicrosecondRecord)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			buffer := []byte(tt.input)
			page, err := record.NewDecoder(record.DecoderOptions{}).Decode(buffer)
			if err != nil || len(page.Changes) != 1 {
				t.Fatal(err, page.Errors)
			}
			want := one(t, record.DecoderOptions{}, tt.input)
			c := &page.Changes[0]
			newest := func(c *record.Change) item.Image {
				if c.New.Exists() {
					return c.New
				}
				return c.Old
			}
			clone, image := c.Clone(), newest(c).Clone()
			value, _ := newest(c).Get("Nested")
			value = value.Clone()
			decoded, err := unmarshal.Decode[user](newest(c))
			if err != nil {
				t.Fatal(err)
			}
			version, key := clone.Version.String(), string(clone.Key)

			copy(buffer, slices.Repeat([]byte{'#'}, len(buffer))) // the pool reuses the buffer for the next event

			if !reflect.DeepEqual(shown(clone), shown(want)) {
				t.Errorf("the clone changed with the page:\n%v\nwant\n%v", shown(clone), shown(want))
			}
			if version != want.Version.String() || key != string(want.Key) || !image.Equal(newest(want)) {
				t.Errorf("version %s, key %s, image %s", version, key, image.AppendJSON(nil))
			}
			if v, ok := newest(want).Get("Nested"); ok && !value.Equal(v) {
				t.Errorf("the value's clone changed with the page: %v", value)
			}
			if u, err := unmarshal.Decode[user](newest(want)); err != nil || !reflect.DeepEqual(decoded, u) {
				t.Errorf("what was decoded changed with the page: %+v, want %+v, %v", decoded, u, err)
			}
		})
	}
}

// shown returns everything in a change as text.
func shown(c *record.Change) []string {
	return []string{
		c.Op.String(), c.EventName, string(c.Key), c.Version.String(), c.Sequence, c.EventID, c.StreamARN, c.Table, c.Region, c.Shard,
		c.Time.String(), c.ViewType.String(), fmt.Sprint(c.Identity, c.SizeBytes), string(c.Raw),
		string(c.Keys.AppendJSON(nil)), string(c.Old.AppendJSON(nil)), string(c.New.AppendJSON(nil)),
	}
}

// Clone copies the record once. It does not copy the images again.
func TestCloneIsCompact(t *testing.T) {
	c := one(t, record.DecoderOptions{}, pipelinetest.Modify)
	if n := testing.AllocsPerRun(20, func() { c.Clone() }); n > 11 {
		t.Errorf("%v allocations", n)
	}
}
