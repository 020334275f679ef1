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

// Mask is a dead letter as it may be shown: its record masked, or left out where
// it does not decode, so that nobody can tell what of it is hidden.
func Mask(m *mask.Mask, l pipeline.DeadLetter) pipeline.DeadLetter {
	if m == nil {
		return l
	}
	d := record.NewDecoder(record.DecoderOptions{
		StreamARN: l.StreamARN, Table: l.Table, EpochZero: true, DynamoDBLocal: true, TableInKey: strings.Contains(string(l.Key), "!"),
	})
	page, err := d.Decode(l.Raw)
	switch {
	case err == nil && len(page.Changes) == 1 && len(page.Errors) == 0:
		c := &page.Changes[0]
		masked := m.Change(c)
		l.Key, l.Raw = masked.Key, masked.Raw
		for _, d := range slices.Concat(item.Diff(c.Old, masked.Old), item.Diff(c.New, masked.New)) {
			l.Error = maskText(m, l.Error, d.Old)
		}
	case err == nil && len(page.Errors) == 1 && len(page.Changes) == 0:
		e := m.RecordError(page.Errors[0])
		l.Key, l.Raw = e.Key, nil
		if was := page.Errors[0].Path; was != e.Path {
			l.Error = strings.ReplaceAll(l.Error, was, e.Path)
		}
	default:
		l.Raw = nil
		if l.Key != "" {
			l.Key = item.Key(m.Text(string(l.Key)))
		}
	}
	return l
}

// maskText is the text of an error without the texts that v holds, as they are and as
// names of objects have them. What a letter's error says is masked where it is made;
// the name of an object that a sink may make of a sensitive attribute is not.
func maskText(m *mask.Mask, text string, v item.Value) string {
	for _, inner := range v.Members() {
		text = maskText(m, text, inner)
	}
	for _, inner := range v.Elements() {
		text = maskText(m, text, inner)
	}
	held, _ := v.Text()
	if n, ok := v.Number(); ok {
		held = n.String()
	}
	if len(held) < 3 { // it would be found everywhere
		return text
	}
	for _, form := range []string{held, string(item.AppendEscaped(nil, held))} {
		pattern, err := regexp.Compile("(?i)" + regexp.QuoteMeta(form))
		if err == nil {
			text = pattern.ReplaceAllLiteralString(text, m.Text(held))
		}
	}
	return text
}

// Shown is a dead letter as `query dead -o json` prints it.
type Shown struct {
	ID       string          `json:"id"`
	Sink     string          `json:"sink,omitempty"`
	Class    string          `json:"class"`
	Error    string          `json:"error"`
	Key      item.Key        `json:"key,omitempty"`
	Sequence string          `json:"sequence,omitempty"`
	Time     time.Time       `json:"time"`
	Record   json.RawMessage `json:"record,omitempty"`
	Bytes    []byte          `json:"record_base64,omitempty"` // of a record that is no JSON, or no UTF-8
}

// ShownOf is a letter without its ID.
func ShownOf(l pipeline.DeadLetter) Shown {
	out := Shown{Sink: l.Sink, Class: l.Class, Error: l.Error, Key: l.Key, Sequence: l.Sequence, Time: l.Time}
	if json.Valid(l.Raw) && utf8.Valid(l.Raw) {
		out.Record = l.Raw
	} else {
		out.Bytes = l.Raw
	}
	return out
}

// Line is a letter in a list: ID, time, sink, key, and why.
func (l Shown) Line() string {
	return fmt.Sprintf("%s  %s  %s  %s  %s: %s", l.ID, l.Time.UTC().Format(time.RFC3339), EverySink(l.Sink), l.Key, l.Class, l.Error)
}

// EverySink names the sink of a letter; one that could not be decoded is of every sink.
func EverySink(name string) string { return cmp.Or(name, "(every sink)") }

// Masked is the letter with its own ID, as the mask shows it.
func Masked(m *mask.Mask, l pipeline.DeadLetter) Shown {
	shown := ShownOf(Mask(m, l))
	shown.ID = deadletter.ID(&l) // the masked letter's own is another
	return shown
}
