package esm

import (
	"encoding/json"
	"errors"
	"hash/fnv"
	"time"
)

// record is a stream record with the parts that a mapping reads.
type record struct {
	raw      []byte
	sequence string
	stream   string // ARN
	item     string // the key of the item
	created  time.Time
}

// parse reads the parts of a record that a mapping needs.
func parse(b []byte) (*record, error) {
	var r struct {
		EventSourceARN string `json:"eventSourceARN"`
		DynamoDB       struct {
			ApproximateCreationDateTime float64
			Keys                        map[string]map[string]any
			SequenceNumber              string
		} `json:"dynamodb"`
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, err
	}
	if r.DynamoDB.SequenceNumber == "" || r.DynamoDB.Keys == nil {
		return nil, errors.New("it has no sequence number, or no keys")
	}
	item, err := json.Marshal(r.DynamoDB.Keys) // members in order
	if err != nil {
		return nil, err
	}
	return &record{
		raw: b, sequence: r.DynamoDB.SequenceNumber, stream: r.EventSourceARN, item: string(item),
		created: time.UnixMilli(int64(r.DynamoDB.ApproximateCreationDateTime * 1000)).UTC(),
	}, nil
}

// laneIndex returns which of n lanes has the item's records.
func (r *record) laneIndex(n int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.item)) // it never fails
	return int(h.Sum32() % uint32(n))
}
