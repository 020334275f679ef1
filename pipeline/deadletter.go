package pipeline

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// DeadLetter is a change that could not be delivered, whole: redriving it needs nothing else.
type DeadLetter struct {
	Pipeline  string
	Sink      string // "" for a record that could not be decoded
	Key       item.Key
	Version   record.Version
	Sequence  string
	StreamARN string
	Table     string
	Partition string
	Index     int       // of the record in its page
	Class     string    // undecodable, filter, detector, plan, write, panic; held: MaxHold passed; quarantined: behind a letter of its key
	Error     string    // shows no value, unless code given to the pipeline (a sink, a filter, a detector) says one
	Raw       []byte    // the record as it came
	Time      time.Time // when it was given up
}

// DeadLetters keeps what could not be delivered. Put blocks until all letters are
// durable; an error is retried until it succeeds or the pipeline stops. It is
// called by several goroutines.
type DeadLetters interface {
	Put(ctx context.Context, letters []DeadLetter) error
}
