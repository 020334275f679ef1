package letters

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// Mask returns a copy of a dead letter that may be shown. The record of the copy is masked. If the record cannot be
// decoded, the copy has no record, because its sensitive attributes are unknown. A nil m masks nothing.
func Mask(m *mask.Mask, l pipeline.DeadLetter) pipeline.DeadLetter {
	if m == nil {
		return l
	}
	if e, ok := record.RedecodeLine(l.Raw, l.Error); ok { // the letter is about a line of a snapshot, not a record
		l.Error = strings.ReplaceAll(l.Error, e.Path, m.RecordError(e).Path)
		l.Key, l.Raw = item.Key(m.Text(string(l.Key))), nil
		return l
	}
	return maskRecord(m, l)
}

// maskRecord is [Mask] for a letter about a record.
func maskRecord(m *mask.Mask, l pipeline.DeadLetter) pipeline.DeadLetter {
	decoder := record.NewDecoder(record.DecoderOptions{
		StreamARN: l.StreamARN, Table: l.Table, EpochZero: true, DynamoDBLocal: true,
		TableInKey: strings.Contains(string(l.Key), "!"),
	})
	page, err := decoder.Decode(l.Raw)
	isDecoded := err == nil && len(page.Changes) == 1 && len(page.Errors) == 0
	isUndecodable := err == nil && len(page.Errors) == 1 && len(page.Changes) == 0
	switch {
	case isDecoded:
		c := &page.Changes[0]
		masked := m.Change(c)
		l.Key, l.Raw = masked.Key, masked.Raw
		for _, difference := range slices.Concat(item.Diff(c.Old, masked.Old), item.Diff(c.New, masked.New)) {
			l.Error = maskText(m, l.Error, difference.Old)
		}
	case isUndecodable:
		e := m.RecordError(page.Errors[0])
		l.Key, l.Raw = e.Key, nil
		if path := page.Errors[0].Path; path != e.Path {
			l.Error = strings.ReplaceAll(l.Error, path, e.Path)
		}
	default:
		l.Raw = nil
		if l.Key != "" {
			l.Key = item.Key(m.Text(string(l.Key)))
		}
	}
	return l
}

// maskText masks the texts and numbers of v in the text of an error, also in their escaped form. The pipeline masks the
// values in an error. It does not mask names of objects that a sink builds from a sensitive attribute.
func maskText(m *mask.Mask, text string, v item.Value) string {
	for _, inner := range v.Members() {
		text = maskText(m, text, inner)
	}
	for _, inner := range v.Elements() {
		text = maskText(m, text, inner)
	}
	value, _ := v.Text()
	if n, ok := v.Number(); ok {
		value = n.String()
	}
	if len(value) < 3 { // a short text also matches unrelated parts of the error
		return text
	}
	for _, form := range []string{value, string(item.AppendEscaped(nil, value))} {
		pattern, err := regexp.Compile("(?i)" + regexp.QuoteMeta(form))
		if err == nil {
			text = pattern.ReplaceAllLiteralString(text, m.Text(value))
		}
	}
	return text
}

// LetterJSON is a dead letter in `query dead -o json`.
type LetterJSON struct {
	ID       string          `json:"id"`
	Sink     string          `json:"sink,omitempty"`
	Sinks    []string        `json:"sinks,omitempty"` // for a line of a snapshot: the sinks of its backfill
	Class    string          `json:"class"`
	Error    string          `json:"error"`
	Key      item.Key        `json:"key,omitempty"`
	Sequence string          `json:"sequence,omitempty"`
	Time     time.Time       `json:"time"`
	Record   json.RawMessage `json:"record,omitempty"`
	Bytes    []byte          `json:"record_base64,omitempty"` // the record if it is not JSON or not UTF-8
}

// NewLetterJSON returns the JSON form of a letter, without its ID.
func NewLetterJSON(l pipeline.DeadLetter) LetterJSON {
	out := LetterJSON{Sink: l.Sink, Sinks: l.Sinks, Class: l.Class, Error: l.Error, Key: l.Key, Sequence: l.Sequence,
		Time: l.Time}
	if json.Valid(l.Raw) && utf8.Valid(l.Raw) {
		out.Record = l.Raw
	} else {
		out.Bytes = l.Raw
	}
	return out
}

// Line formats a letter as a line of a list, with its ID, time, sink, key, class and error.
func (l LetterJSON) Line() string {
	return fmt.Sprintf("%s  %s  %s  %s  %s: %s", l.ID, l.Time.UTC().Format(time.RFC3339),
		EverySink(cmp.Or(l.Sink, strings.Join(l.Sinks, ","))), l.Key, l.Class, l.Error)
}

// EverySink returns the sink of a letter as people read it. The sink is "" for an undecodable record, because the
// record belongs to all sinks.
func EverySink(name string) string { return cmp.Or(name, "(every sink)") }

// MaskedJSON returns the JSON form of a letter, masked by m, with the ID of the letter.
func MaskedJSON(m *mask.Mask, l pipeline.DeadLetter) LetterJSON {
	shown := NewLetterJSON(Mask(m, l))
	shown.ID = deadletter.ID(&l) // the ID of the stored letter; the masked letter would have another ID
	return shown
}
