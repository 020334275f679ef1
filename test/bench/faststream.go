package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
)

// fastStream is a stream in this process whose answers are prepared. Each page is a copy of an encoded page with its
// own sequence numbers and iterator. The shards stay open. After the last page all pages are empty.
type fastStream struct {
	sheets        *sheets
	shards, pages int // pages is the number of pages of each shard
}

var _ shardreader.API = (*fastStream)(nil)

const (
	firstNumber  = "170000000000000000000000000" // first sequence number of every shard
	numberDigits = 12                            // the last digits of a number, which count the records
	shardPrefix  = "shardId-00000001700000000000-"
	listedPage   = 100 // the most shards in a DescribeStream answer of the service
)

// sheets are pages with the same number of records each. They come again and again.
type sheets struct {
	pages   [][]byte
	numbers [][]int // where the digits of the sequence numbers of a page start
	records int     // records of each page
	decoder *record.Decoder
}

// newSheets makes pages of n records of a shape, or fewer if a page cannot hold n.
func newSheets(s *shape, records int) *sheets {
	const different = 8_000 // number of different records
	_, fit := s.pageOf(0, records)
	records = min(records, fit)
	out := &sheets{records: records, decoder: record.NewDecoder(record.DecoderOptions{Table: "bench", StreamARN: streamARN})}
	for at := 0; at < different; at += records {
		text, numbers := []byte(`{"Records":[`), make([]int, records)
		for i := range records {
			if i > 0 {
				text = append(text, ',')
			}
			r := s.at(at + i)
			r.Sequence = firstNumber
			var b strings.Builder
			r.appendStreams(&b, at+i)
			place := strings.LastIndex(b.String(), firstNumber)
			numbers[i] = len(text) + place + len(firstNumber) - numberDigits
			text = append(text, b.String()...)
		}
		out.pages, out.numbers = append(out.pages, append(text, `],"NextShardIterator":"`...)), append(out.numbers, numbers)
	}
	return out
}

func (s *fastStream) records() int { return s.shards * s.pages * s.sheets.records }

// last returns the sequence number of the last record of each shard.
func (s *fastStream) last() string { return s.number(s.pages*s.sheets.records - 1) }

func (s *fastStream) number(n int) string {
	b := []byte(firstNumber)
	putDigits(b[len(b)-numberDigits:], n)
	return string(b)
}

func putDigits(at []byte, n int) {
	for i := numberDigits - 1; i >= 0; i-- {
		at[i] = byte('0' + n%10)
		n /= 10
	}
}

// ListStreams implements [shardreader.API].
func (s *fastStream) ListStreams(context.Context, string, string) (shardreader.StreamPage, error) {
	return shardreader.StreamPage{}, errors.New("the stream has a name")
}

// DescribeStream implements [shardreader.API].
func (s *fastStream) DescribeStream(_ context.Context, q shardreader.DescribeQuery) (shardreader.StreamDescription, error) {
	d := shardreader.StreamDescription{StreamRef: shardreader.StreamRef{ARN: q.StreamARN}, Status: shardreader.Enabled, ViewType: record.NewAndOldImages}
	if q.ChildrenOf != "" {
		return d, nil
	}
	from := 0
	if q.After != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(q.After, shardPrefix))
		if err != nil {
			return d, err
		}
		from = n + 1
	}
	to := min(from+listedPage, s.shards)
	for i := from; i < to; i++ {
		d.Shards = append(d.Shards, shardreader.Shard{ID: fmt.Sprintf("%s%05d", shardPrefix, i), First: firstNumber})
	}
	if to < s.shards {
		d.After = d.Shards[len(d.Shards)-1].ID
	}
	return d, nil
}

// GetShardIterator implements [shardreader.API]. It returns an iterator at the start of a shard or after the last
// record of a page, because checkpoints are only there.
func (s *fastStream) GetShardIterator(_ context.Context, at shardreader.ShardPosition) (string, error) {
	page := 0
	switch at.Type {
	case shardreader.TrimHorizon:
	case shardreader.AtSequence:
		if at.Sequence != firstNumber {
			return "", errors.New("no shard starts there")
		}
	default:
		n, err := strconv.Atoi(at.Sequence[max(0, len(at.Sequence)-numberDigits):])
		if err != nil {
			return "", err
		}
		page = (n + 1) / s.sheets.records
	}
	return streamARN + "|1|" + at.Shard + "|" + strconv.Itoa(page), nil
}

// GetRecords implements [shardreader.API].
func (s *fastStream) GetRecords(_ context.Context, q shardreader.RecordsQuery) (record.GetRecordsPage, error) {
	cut := strings.LastIndexByte(q.Iterator, '|')
	page, err := strconv.Atoi(q.Iterator[cut+1:])
	if err != nil {
		return record.GetRecordsPage{}, err
	}
	if page >= s.pages {
		return s.sheets.decoder.DecodeGetRecords([]byte(`{"Records":[],"NextShardIterator":"` + q.Iterator + `"}`))
	}
	shard, err := strconv.Atoi(q.Shard[len(shardPrefix):])
	if err != nil {
		return record.GetRecordsPage{}, err
	}
	sheet := (shard + page) % len(s.sheets.pages)
	text := s.sheets.pages[sheet]
	b := append(make([]byte, 0, len(text)+len(q.Iterator)+16), text...)
	for i, at := range s.sheets.numbers[sheet] {
		putDigits(b[at:], page*s.sheets.records+i)
	}
	b = strconv.AppendInt(append(b, q.Iterator[:cut+1]...), int64(page+1), 10)
	return s.sheets.decoder.DecodeGetRecords(append(b, `"}`...))
}
