package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

const (
	pageBytes   = 1 << 20 // of a full page: what the service answers with at most
	pageRecords = 1000    // likewise
	shardPages  = 8       // of each shard, that come again and again; more of them would only fill memory
)

// A page is sent with numbers of its own in these places, which have as many digits.
const (
	digits   = 12
	zeros    = "000000000000"
	sequence = "170000000000000" + zeros // of a record: its place in the shard
	position = "position-" + zeros       // of an iterator: the number of earlier pages
)

// page is an answer of GetRecords up to its iterator.
type page struct {
	text    []byte
	numbers []int // where the digits of its sequence numbers begin
}

// load makes pages of a file of records, which it goes through as often as it must.
func load(path string) ([]page, error) {
	records, err := loadRecords(path)
	if err != nil {
		return nil, err
	}
	pages, next := make([]page, shards*shardPages), 0
	for i := range pages {
		text, numbers := append(make([]byte, 0, pageBytes), `{"Records":[`...), []int(nil)
		for r := records[next%len(records)]; len(numbers) < pageRecords && (len(numbers) == 0 || len(text)+len(r) < pageBytes-tailBytes); r = records[next%len(records)] {
			if len(numbers) > 0 {
				text = append(text, ',')
			}
			numbers = append(numbers, len(text)+bytes.Index(r, []byte(sequence))+len(sequence)-digits)
			text = append(text, r...)
			next++
		}
		pages[i] = page{append(text, `],"NextShardIterator":"`...), numbers}
	}
	return pages, nil
}

// loadRecords are the records of a file, all with the same sequence number.
func loadRecords(path string) (records [][]byte, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b) {
		var r struct {
			DynamoDB struct{ SequenceNumber json.RawMessage }
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s: record %d: %w", path, len(records), err)
		}
		number := r.DynamoDB.SequenceNumber
		if len(number) < 3 || bytes.Count(line, number) != 1 {
			return nil, fmt.Errorf("%s: record %d has no sequence number, or its text twice", path, len(records))
		}
		records = append(records, bytes.Replace(bytes.TrimSpace(line), number, []byte(`"`+sequence+`"`), 1))
	}
	if len(records) == 0 {
		return nil, errors.New(path + " holds no record")
	}
	return records, nil
}

// put writes a number in a place for one.
func put(at []byte, n int64) {
	for i := digits - 1; i >= 0; i-- {
		at[i] = byte('0' + n%10)
		n /= 10
	}
}
