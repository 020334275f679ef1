package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

const (
	pageBytes   = 1 << 20 // the largest answer of the service
	pageRecords = 1000    // the most records in an answer of the service
	shardPages  = 8       // different pages of each shard, which come again and again; more would only fill memory
)

// Each page is sent with its own numbers in the place of these zeros, which have as many digits.
const (
	digits   = 12
	zeros    = "000000000000"
	sequence = "170000000000000" + zeros // sequence number of a record: its place in the shard
	position = "position-" + zeros       // position of an iterator: the number of earlier pages
)

// page is an answer of GetRecords up to its iterator.
type page struct {
	text    []byte
	numbers []int // where the digits of the sequence numbers start in text
}

// load makes pages of the records of a file. It starts again at the first record as often as it needs to.
func load(path string) ([]page, error) {
	records, err := loadRecords(path)
	if err != nil {
		return nil, err
	}
	pages, next := make([]page, shards*shardPages), 0
	for i := range pages {
		pages[i] = newPage(records, next)
		next += len(pages[i].numbers)
	}
	return pages, nil
}

// newPage makes a page of the records from the index next on. After the last record it starts again at the first.
func newPage(records [][]byte, next int) page {
	text, numbers := append(make([]byte, 0, pageBytes), `{"Records":[`...), []int(nil)
	for len(numbers) < pageRecords {
		r := records[next%len(records)]
		isFull := len(numbers) > 0 && len(text)+len(r) >= pageBytes-tailBytes
		if isFull {
			break
		}
		if len(numbers) > 0 {
			text = append(text, ',')
		}
		numbers = append(numbers, len(text)+bytes.Index(r, []byte(sequence))+len(sequence)-digits)
		text = append(text, r...)
		next++
	}
	return page{append(text, `],"NextShardIterator":"`...), numbers}
}

// loadRecords returns the records of a file, all with the same sequence number.
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

// put writes the digits of n at the start of at.
func put(at []byte, n int64) {
	for i := digits - 1; i >= 0; i-- {
		at[i] = byte('0' + n%10)
		n /= 10
	}
}
