package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

const (
	documentBytes   = 1000 // approximate size of an item's attributes
	sinkPageRecords = 500
)

// sinkInput has the records of every round: inserts of items of about 1 KB.
type sinkInput struct {
	n           int
	recordBytes int
	pages       [][]byte // JSON arrays of records
}

func newSinkInput(n int) *sinkInput {
	rng := rand.New(rand.NewPCG(1, 2))
	in := &sinkInput{n: n}
	for start := 0; start < n; start += sinkPageRecords {
		var b strings.Builder
		b.WriteByte('[')
		for i := start; i < min(start+sinkPageRecords, n); i++ {
			if i > start {
				b.WriteByte(',')
			}
			writeRecord(&b, rng, i)
		}
		b.WriteByte(']')
		in.pages = append(in.pages, []byte(b.String()))
		in.recordBytes += b.Len()
	}
	in.recordBytes /= n
	return in
}

func writeRecord(b *strings.Builder, rng *rand.Rand, i int) {
	keys := fmt.Sprintf(`"PK":{"S":"ITEM#%06d"},"SK":{"S":"META"}`, i)
	fmt.Fprintf(b, `{"eventSourceARN":%q,"eventName":"INSERT","dynamodb":{"ApproximateCreationDateTime":%d,"SequenceNumber":"%021d","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{%s},"NewImage":{%[4]s`,
		streamARN, 1767323045+i/1000, 100000000000000000+i, keys)
	fmt.Fprintf(b, `,"Type":{"S":"Item"},"Price":{"N":"%d.%02d"},"Stock":{"N":"%d"},"Active":{"BOOL":%t}`, rng.IntN(1000), rng.IntN(100), rng.IntN(50), rng.IntN(2) == 0)
	fmt.Fprintf(b, `,"Tags":{"SS":["red","t%d"]},"Size":{"M":{"w":{"N":"%d"},"h":{"N":"%d"}}}`, rng.IntN(20), rng.IntN(90), rng.IntN(90))
	b.WriteString(`,"Text":{"S":"`)
	for end := b.Len() + documentBytes - 200; b.Len() < end; {
		fmt.Fprintf(b, "w%x ", rng.IntN(1<<20))
	}
	b.WriteString(`"}}}}`)
}

// source returns each page once.
type source struct {
	pages   [][]byte
	decoder *record.Decoder
}

func (in *sinkInput) source() *source {
	return &source{in.pages, record.NewDecoder(record.DecoderOptions{Table: "bench"})}
}

// Read returns the next page, which the pipeline decodes.
func (s *source) Read(context.Context) (*pipeline.Page, error) {
	if len(s.pages) == 0 {
		return nil, io.EOF
	}
	b := s.pages[0]
	s.pages = s.pages[1:]
	return &pipeline.Page{Partition: "bench", Page: record.Page{Bytes: len(b)}, Decode: func() (*record.Page, error) {
		return s.decoder.Decode(b)
	}}, nil
}
