package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/jsoncursor"
	"github.com/tablewake/tablewake/pipeline/record"
)

// appendLine appends c as one line, without a line feed.
func appendLine(dst []byte, c *record.Change, images LineFormat) ([]byte, error) {
	if images == PlainJSON {
		return appendPlain(dst, c), nil
	}
	return appendRecord(dst, c)
}

// appendRecord appends the record of c as it was received, on one line, with its source (see appendSource). For a
// change from a snapshot it appends a record that decodes to the change.
func appendRecord(dst []byte, c *record.Change) ([]byte, error) {
	raw := bytes.TrimSpace(c.RecordJSON())
	if len(raw) < 2 || raw[0] != '{' {
		return nil, errs.Errorf("archive: the change of %s came without its record", c.Key)
	}
	dst, rest := appendSource(dst, raw, c)
	hasLineBreak := bytes.IndexByte(rest, '\n') >= 0 || bytes.IndexByte(rest, '\r') >= 0
	if hasLineBreak {
		return appendCompact(dst, rest), nil
	}
	return append(dst, rest...), nil
}

// appendSource adds a member with the stream to a record that lacks it, or with the table if the stream is unknown. A
// record of the Streams API does not name its stream. With the member a decoder returns the same change. appendSource
// appends the beginning of the record if that has the new member. The caller appends the rest.
func appendSource(dst, raw []byte, c *record.Change) (out, rest []byte) {
	name, text := "eventSourceARN", c.StreamARN
	if text == "" {
		name, text = "tableName", c.Table
	}
	if text == "" {
		return dst, raw
	}
	start, end, hasMember := memberValue(raw, name)
	if !hasMember {
		dst = append(append(append(dst, `{"`...), name...), `":`...)
		return append(item.AppendJSONText(dst, text), ','), raw[1:]
	}
	isEmpty := end-start <= len(`null`) // null or ""
	if isEmpty {
		raw = slices.Concat(raw[:start], item.AppendJSONText(nil, text), raw[end:])
	}
	return dst, raw
}

// appendCompact appends JSON without white space between its tokens.
func appendCompact(dst, src []byte) []byte {
	inText, escaped := false, false
	for _, b := range src {
		switch {
		case inText: // a quote that is not escaped ends the text
			inText = escaped || b != '"'
			escaped = !escaped && b == '\\'
		case b == '"':
			inText = true
		case b == ' ' || b == '\t' || b == '\n' || b == '\r':
			continue
		}
		dst = append(dst, b)
	}
	return dst
}

// memberValue returns the range of the value of a top-level member. ok is false if the object does not have the member.
func memberValue(object []byte, name string) (start, end int, ok bool) {
	mayHaveName := bytes.Contains(object, []byte(`"`+name+`"`)) || bytes.Contains(object, []byte(`\u`))
	if !mayHaveName {
		return 0, 0, false
	}
	c := jsoncursor.New(object)
	for member := range c.Members() {
		start := c.Offset()
		if jsoncursor.Means(member, name) {
			c.Value()
			return start, c.Offset(), true
		}
	}
	return 0, 0, false
}

// plainStart is the beginning of every line of plain JSON. No record begins with it.
const plainStart = `{"key":"`

// appendPlain appends c as plain JSON, without missing fields.
func appendPlain(dst []byte, c *record.Change) []byte {
	dst = append(dst, `{"key":`...)
	dst = item.AppendJSONText(dst, string(c.Key))
	dst = append(dst, `,"version":"`...)
	dst = append(c.Version.Append(dst), '"')
	dst = appendMember(dst, "op", c.Op.String())
	dst = appendMember(dst, "kind", string(KindOf(c)))
	if !c.Time.IsZero() {
		dst = appendTime(dst, c.Time)
	}
	dst = appendMember(dst, "sequence", c.Sequence)
	dst = appendMember(dst, "event_id", c.EventID)
	dst = appendMember(dst, "stream_arn", c.StreamARN)
	dst = appendMember(dst, "table", c.Table)
	if c.Identity != (record.Identity{}) {
		dst = appendIdentity(dst, c.Identity.Type, c.Identity.PrincipalID)
	}
	dst = appendImage(dst, "keys", c.Keys)
	dst = appendImage(dst, "old", c.Old)
	dst = appendImage(dst, "new", c.New)
	return append(dst, '}')
}

// appendTime appends the member time.
func appendTime(dst []byte, created time.Time) []byte {
	dst = append(dst, `,"time":"`...)
	return append(created.AppendFormat(dst, time.RFC3339Nano), '"')
}

// appendIdentity appends the member identity.
func appendIdentity(dst []byte, kind, principalID string) []byte {
	dst = append(dst, `,"identity":{"type":`...)
	dst = item.AppendJSONText(dst, kind)
	dst = append(dst, `,"principal_id":`...)
	return append(item.AppendJSONText(dst, principalID), '}')
}

// appendName appends a comma and the name of a member.
func appendName(dst []byte, name string) []byte {
	dst = append(dst, `,"`...)
	dst = append(dst, name...)
	return append(dst, `":`...)
}

// appendImage appends a member with an image, if the image exists.
func appendImage(dst []byte, name string, image item.Image) []byte {
	if !image.Exists() {
		return dst
	}
	return image.AppendJSON(appendName(dst, name))
}

// appendMember appends a member with a text, unless the text is "".
func appendMember(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return item.AppendJSONText(appendName(dst, name), text)
}

// Entry is one archived change.
type Entry struct {
	Key     item.Key
	Version record.Version
	Change  *record.Change // nil if the line is plain JSON
	Line    []byte         // one JSON object
}

// isPlain reports whether a line is plain JSON. If not, it is a record.
func isPlain(line []byte) bool { return bytes.HasPrefix(line, []byte(plainStart)) }

// time returns the creation time of the change; the zero time if it is unknown.
func (e Entry) time() (time.Time, error) {
	if e.Change != nil {
		return e.Change.Time, nil
	}
	var plain struct{ Time time.Time }
	if err := json.Unmarshal(e.Line, &plain); err != nil {
		return time.Time{}, fmt.Errorf("archive: not an archived change: %w", err)
	}
	return plain.Time, nil
}

// parseLine parses a line that appendLine wrote. tableInKey means that keys begin with their table.
func parseLine(line []byte, tableInKey bool) (Entry, error) {
	if isPlain(line) {
		var plain struct{ Key, Version string }
		if err := json.Unmarshal(line, &plain); err != nil {
			return Entry{}, fmt.Errorf("not an archived change: %w", err)
		}
		v, err := record.ParseVersion(plain.Version)
		if err != nil {
			return Entry{}, fmt.Errorf("not an archived change: %w", err)
		}
		return Entry{Key: item.Key(plain.Key), Version: v, Line: line}, nil
	}
	d := record.NewDecoder(record.DecoderOptions{EpochZero: true, TableInKey: tableInKey, DynamoDBLocal: true})
	page, err := d.Decode(line)
	switch {
	case err != nil:
		return Entry{}, fmt.Errorf("not an archived change: %w", err)
	case len(page.Errors) > 0:
		return Entry{}, fmt.Errorf("not an archived change: %w", page.Errors[0])
	case len(page.Changes) != 1:
		return Entry{}, errs.Errorf("not an archived change: %d records", len(page.Changes))
	}
	c := &page.Changes[0]
	return Entry{Key: c.Key, Version: c.Version, Change: c, Line: line}, nil
}

// hasTable reports whether a canonical key begins with the name of its table.
func hasTable(k item.Key) bool { return strings.Contains(string(k), "!") }
