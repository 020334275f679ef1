package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline/record"
)

// attributesInAll is the number of attributes of a record, in maps of few or of many attributes.
const attributesInAll = 400

// byteCost is the processor time for each byte.
var byteCost = quantity{"ns/byte", func(s sample) float64 { return float64(s.processor.Nanoseconds()) / float64(s.records) }}

// growthAttributesRows compare the cost of a byte among many attributes with the cost of a byte among few.
func growthAttributesRows() []row {
	return []row{{
		id:   "growth-attributes",
		work: "decode a byte of items of 400 attributes",
		peer: "a byte of items of 10 attributes, in records as large",
		note: "the 400 are in one map, or ten each in forty: names must not be there twice in one",
		of:   byteCost, most: 1.1,
		open: func(ctx context.Context, b *bench) (*contest, error) {
			many, err := newByteCount(attributesInAll)
			if err != nil {
				return nil, err
			}
			few, err := newByteCount(10)
			if err != nil {
				return nil, err
			}
			return &contest{ours: b.inProcess(many.decode), peer: b.inProcess(few.decode)}, nil
		},
	}}
}

// byteCount decodes an answer, and counts the bytes of the answer.
type byteCount struct {
	decoder *record.Decoder
	body    []byte
	records int
}

func newByteCount(each int) (*byteCount, error) {
	s := &shape{of: func(i int) savedRecord {
		key := fmt.Sprintf(`"PK":{"S":"ROW#%06d"}`, i)
		return savedRecord{Event: "MODIFY", Keys: "{" + key + "}", Old: inMaps(key, i, each), New: inMaps(key, i+1, each)}
	}}
	c := &byteCount{decoder: record.NewDecoder(record.DecoderOptions{Table: "bench", StreamARN: streamARN})}
	c.body, c.records = s.page(0)
	_, err := c.decode(context.Background())
	return c, err
}

// inMaps returns an item of 400 attributes, with each of them in a map.
func inMaps(key string, seed, each int) string {
	var b strings.Builder
	b.WriteString("{" + key)
	for a := range attributesInAll {
		switch {
		case a%each == 0 && a > 0:
			fmt.Fprintf(&b, `}},"map%03d":{"M":{`, a/each)
		case a == 0:
			b.WriteString(`,"map000":{"M":{`)
		default:
			b.WriteByte(',')
		}
		switch a % 4 {
		case 0:
			fmt.Fprintf(&b, `"count%03d":{"N":"%d"}`, a, a*seed)
		case 1:
			fmt.Fprintf(&b, `"flag%03d":{"BOOL":%t}`, a, a%8 == 1)
		default:
			fmt.Fprintf(&b, `"text%03d":{"S":"value %d of %d"}`, a, a, seed)
		}
	}
	b.WriteString("}}}")
	return b.String()
}

func (c *byteCount) decode(context.Context) (int, error) {
	answer, err := c.decoder.DecodeGetRecords(c.body)
	switch {
	case err != nil:
		return 0, err
	case len(answer.Page.Errors) > 0:
		return 0, answer.Page.Errors[0]
	case len(answer.Page.Changes) != c.records:
		return 0, fmt.Errorf("%d of %d records were decoded", len(answer.Page.Changes), c.records)
	}
	return len(c.body), nil
}
