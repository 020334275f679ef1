// Package deadletter defines the format of dead letters: changes that could not be delivered. A letter is one JSON
// object on one line, and contains everything that a redrive needs.
//
// [Append] and [Parse] write and read the format, and [ID] identifies a letter. A [Store] keeps letters, and
// sinks/redrive reads them. deadletter/dir, deadletter/s3 and deadletter/sqs implement Store.
package deadletter

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// errs makes the errors of this package. Their redacted text holds no data.
const errs = redact.Class("dead_letters")

// line is the JSON of a letter. A record that is JSON is in Record, without insignificant white space. Any other record
// is in Base64.
type line struct {
	ID        string          `json:"id"`
	Pipeline  string          `json:"pipeline,omitempty"`
	Sink      string          `json:"sink,omitempty"`
	Class     string          `json:"class"`
	Error     string          `json:"error"`
	Key       string          `json:"key,omitempty"`
	Version   string          `json:"version,omitempty"`
	Sequence  string          `json:"sequence,omitempty"`
	StreamARN string          `json:"stream_arn,omitempty"`
	Table     string          `json:"table,omitempty"`
	Partition string          `json:"partition,omitempty"`
	Index     int             `json:"index"`
	Time      time.Time       `json:"time"`
	Record    json.RawMessage `json:"record,omitempty"`
	Base64    []byte          `json:"record_base64,omitempty"`
	Snapshot  *snapshot       `json:"snapshot,omitempty"`
}

// snapshot has the options that only the decoding of a snapshot's record needs. The other options are in line.
type snapshot struct {
	Sinks     []string `json:"sinks"`
	Keys      []string `json:"keys,omitempty"`
	Layer     int      `json:"layer"`
	NewImages bool     `json:"new_images,omitempty"` // the layer has no old images
	Kinesis   bool     `json:"kinesis,omitempty"`
}

// ID identifies a failed delivery by the sink, the item's key and the version of the change. If the key or the version
// is unknown, ID uses the position of the record instead. If the record could not be decoded, ID also uses its bytes,
// since its key and version may be wrong. So the same failed delivery has the same ID in every run. An ID has 32 hex
// digits.
func ID(l *pipeline.DeadLetter) string {
	parts := []string{l.Sink, string(l.Key), version(l.Version)}
	isChangeKnown := l.Key != "" && !l.Version.IsZero()
	if !isChangeKnown {
		parts = append(parts, l.Partition, strconv.Itoa(l.Index), l.Sequence)
	}
	isDecoded := isChangeKnown && l.Sink != "" // a record that could not be decoded has no sink
	if !isDecoded {
		raw, _ := compact(l.Raw) // as Parse returns it, so that a parsed letter has the same ID
		parts = append(parts, string(raw))
	}
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s,", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// compact returns the record in the form that letters contain. A record that is JSON loses its insignificant white
// space; isJSON is true then. Any other record stays as it is.
func compact(raw []byte) (record []byte, isJSON bool) {
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return raw, false
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return raw, false
	}
	return b.Bytes(), true
}

// Append appends l to dst as one line of JSON, without a newline.
func Append(dst []byte, l *pipeline.DeadLetter) ([]byte, error) {
	out := line{
		ID: ID(l), Pipeline: l.Pipeline, Sink: l.Sink, Class: l.Class, Error: l.Error,
		Key: string(l.Key), Version: version(l.Version), Sequence: l.Sequence,
		StreamARN: l.StreamARN, Table: l.Table, Partition: l.Partition, Index: l.Index, Time: l.Time.UTC(),
	}
	if o := l.Snapshot; o != nil {
		out.Snapshot = &snapshot{Sinks: l.Sinks, Keys: o.Keys, Layer: o.Layer, NewImages: o.ViewType == record.NewImage,
			Kinesis: o.Kinesis}
	}
	if record, isJSON := compact(l.Raw); isJSON {
		out.Record = record
	} else {
		out.Base64 = record
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, fmt.Errorf("deadletter: %w", err)
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...), nil
}

// Parse is the inverse of Append. It returns the letter and its ID. The letter does not refer to b.
func Parse(b []byte) (pipeline.DeadLetter, string, error) {
	var in line
	if err := json.Unmarshal(b, &in); err != nil {
		return pipeline.DeadLetter{}, "", fmt.Errorf("deadletter: not a letter: %w", err)
	}
	if in.ID == "" || in.Class == "" {
		return pipeline.DeadLetter{}, "", errs.New("deadletter: not a letter: it has no id or no class")
	}
	l := pipeline.DeadLetter{
		Pipeline: in.Pipeline, Sink: in.Sink, Class: in.Class, Error: in.Error,
		Key: item.Key(in.Key), Sequence: in.Sequence,
		StreamARN: in.StreamARN, Table: in.Table, Partition: in.Partition, Index: in.Index, Time: in.Time,
		Raw: in.Record,
	}
	if l.Raw == nil {
		l.Raw = in.Base64
	}
	if s := in.Snapshot; s != nil {
		l.Sinks = s.Sinks
		l.Snapshot = &record.SnapshotOptions{
			DecoderOptions: record.DecoderOptions{StreamARN: in.StreamARN, EpochZero: in.StreamARN == "", Table: in.Table},
			Keys:           s.Keys, Layer: s.Layer, Kinesis: s.Kinesis,
		}
		if s.NewImages {
			l.Snapshot.ViewType = record.NewImage
		}
	}
	if in.Version != "" {
		v, err := record.ParseVersion(in.Version)
		if err != nil {
			return pipeline.DeadLetter{}, "", fmt.Errorf("deadletter: letter %s: %w", in.ID, err)
		}
		l.Version = v
	}
	return l, in.ID, nil
}

// version returns v as text; "" for the zero version.
func version(v record.Version) string {
	if v.IsZero() {
		return ""
	}
	return v.String()
}

// Releaser is a store, such as a queue, that hides a letter from all other readers once one reader has read it. A
// reader calls Release when it has finished. Release makes the letters visible again. The reader may read again later.
type Releaser interface {
	Release(ctx context.Context) error
}

// Release makes the letters that were read from a store visible again, if the store is a [Releaser]. It does so even if
// ctx is done.
func Release(ctx context.Context, s Store) error {
	if releaser, ok := s.(Releaser); ok {
		return releaser.Release(context.WithoutCancel(ctx))
	}
	return nil
}

// Store is a store of dead letters whose letters can be read and removed. It is safe for concurrent use, even while a
// pipeline puts letters.
type Store interface {
	pipeline.DeadLetters

	// Read yields all letters in the order in which they were put, as far as the store knows the order. If a letter is
	// put or removed while Read runs, Read may yield the letter or not, even if Read yields letters that were put
	// later. The sequence ends after the first error.
	Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error]

	// Remove removes the letters with these IDs (see ID), and blocks until the removal is durable. It ignores missing
	// letters, so a failed Remove can be repeated as a whole. A removed letter can be put again.
	Remove(ctx context.Context, ids []string) error
}

// Rounds divides the letters of a Put into rounds, and returns the indexes of each round's letters. A round has at most
// one letter of a key, and the letters of a key are in successive rounds, in their order. A store must make a round
// durable before it puts the next round. Then nobody can read a letter of a key without the letters before it, even if
// the process dies.
//
// Letters without a key are in the first round. There is nearly always only one round.
func Rounds(letters []pipeline.DeadLetter) [][]int {
	type sinkKey struct {
		sink string
		key  item.Key
	}
	var rounds [][]int
	nextRound := make(map[sinkKey]int, len(letters)) // round of the next letter of a key
	for i := range letters {
		round := 0
		if k := (sinkKey{letters[i].Sink, letters[i].Key}); k.key != "" {
			round = nextRound[k]
			nextRound[k]++
		}
		if round == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[round] = append(rounds[round], i)
	}
	return rounds
}
