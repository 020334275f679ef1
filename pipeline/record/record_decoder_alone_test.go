package record_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// A decoder reuses equal bytes of the previous record and of the other image of a record. The content of another record
// must never show: each record is decoded as if it were alone.

// TestDecoderRecordsAlone decodes lines that differ a little from each other.
func TestDecoderRecordsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		event := []byte(pipelinetest.DynamoJSON{T: t}.Event(rapid.IntRange(1, 3).Draw(t, "records")))
		var lines [][]byte
		for _, c := range page(t, event).Changes {
			lines = append(lines, bytes.ReplaceAll(bytes.ReplaceAll(c.Raw, []byte("\r"), nil), []byte("\n"), []byte(" ")))
		}
		for range rapid.IntRange(1, 20).Draw(t, "more") {
			lines = append(lines, edited(t, rapid.SampledFrom(lines).Draw(t, "of")))
		}
		for _, o := range decoderOptions() {
			checkAlone(t, o, bytes.Join(lines, []byte("\n")))
		}
	})
}

func page(t *rapid.T, event []byte) *record.Page {
	page, err := record.NewDecoder(record.DecoderOptions{EpochZero: true}).Decode(event)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// edited returns line with one edit. Most of the results are valid, and some are broken.
func edited(t *rapid.T, line []byte) []byte {
	if len(line) == 0 { // earlier edits have deleted everything
		return nil
	}
	line = slices.Clone(line)
	from := rapid.IntRange(0, len(line)-1).Draw(t, "from")
	to := rapid.IntRange(from, min(len(line), from+60)).Draw(t, "to")
	switch rapid.IntRange(0, 7).Draw(t, "edit") {
	case 0: // another digit or letter, most often inside a text
		for i := from; i < len(line); i++ {
			if c := line[i]; '0' <= c && c < '9' || 'a' <= c && c < 'z' {
				line[i]++
				break
			}
		}
	case 1: // white space after a comma, a colon or a bracket
		if i := bytes.IndexAny(line[from:], ",:[{"); i >= 0 {
			line = slices.Insert(line, from+i+1, ' ')
		}
	case 2: // a longer text
		if i := bytes.Index(line[from:], []byte(`":"`)); i >= 0 {
			line = slices.Insert(line, from+i+3, []byte("more")...)
		}
	case 3:
		line = slices.Delete(line, from, to)
	case 4:
		line = slices.Insert(line, from, line[from:to]...)
	case 5:
		line[from] = rapid.Byte().Filter(func(b byte) bool { return b != '\n' && b != '\r' }).Draw(t, "byte")
	case 6: // a member twice, or a missing member
		if i := bytes.Index(line[from:], []byte(`,"`)); i >= 0 {
			if n := bytes.Index(line[from+i+1:], []byte(`,"`)); n >= 0 {
				member := line[from+i:][:n+1]
				line = slices.Concat(line[:from+i], member, line[from+i:])
			}
		}
	}
	return line
}

// checkAlone compares the decoding of lines with the decoding of each line alone: in one call, and by a decoder that
// has decoded them before.
func checkAlone(t rapid.TB, o record.DecoderOptions, lines []byte) {
	t.Helper()
	checkLinesAlone(t, func() lineDecoder { return record.NewDecoder(o) }, lines)
}

// lineDecoder is a decoder of stream records or of snapshots.
type lineDecoder interface{ DecodeLines(b []byte) *record.Page }

func checkLinesAlone(t rapid.TB, newDecoder func() lineDecoder, lines []byte) {
	t.Helper()
	d := newDecoder()
	checkPageAlone(t, newDecoder, lines, d.DecodeLines(slices.Clone(lines)))
	checkPageAlone(t, newDecoder, lines, d.DecodeLines(slices.Clone(lines)))
}

func checkPageAlone(t rapid.TB, newDecoder func() lineDecoder, lines []byte, whole *record.Page) {
	t.Helper()
	var changes []record.Change
	var errs []*record.RecordError
	empty, index := 0, 0
	for line := range bytes.SplitSeq(lines, []byte("\n")) {
		one := newDecoder().DecodeLines(slices.Clone(line))
		for i := range one.Changes {
			one.Changes[i].Index += int32(index)
		}
		for _, e := range one.Errors {
			e.Index += index
		}
		index += len(one.Changes) + len(one.Errors)
		changes, errs, empty = append(changes, one.Changes...), append(errs, one.Errors...), empty+one.EmptyMaps
	}
	if len(whole.Changes) != len(changes) || len(whole.Errors) != len(errs) || whole.EmptyMaps != empty {
		t.Fatalf("%d changes, %d errors and %d empty maps, and line by line %d, %d and %d\n%s", len(whole.Changes), len(whole.Errors), whole.EmptyMaps, len(changes), len(errs), empty, lines)
	}
	for i := range changes {
		readsAlike(t, &whole.Changes[i], &changes[i])
	}
	for i, e := range errs {
		w := whole.Errors[i]
		if w.Path != e.Path || w.Index != e.Index || w.Key != e.Key || w.Sequence != e.Sequence || w.Version != e.Version || !bytes.Equal(w.Raw, e.Raw) || unplaced(w.Err) != unplaced(e.Err) {
			t.Fatalf("an error reads otherwise alone:\n%v (%s)\n%v (%s)\n%s", w, w.Key, e, e.Key, e.Raw)
		}
	}
}

// unplaced returns the text of err without the position of a syntax error.
func unplaced(err error) string {
	if broken, ok := errors.AsType[*record.FramingError](err); ok {
		err = broken.Err
	}
	return err.Error()
}

func readsAlike(t rapid.TB, a, b *record.Change) {
	t.Helper()
	x, y := *a, *b
	x.Keys, x.Old, x.New, x.Raw = item.Image{}, item.Image{}, item.Image{}, nil
	y.Keys, y.Old, y.New, y.Raw = item.Image{}, item.Image{}, item.Image{}, nil
	if beyondImages(x) != beyondImages(y) || !bytes.Equal(a.Raw, b.Raw) {
		t.Fatalf("a change reads otherwise alone:\n%+v\n%+v\n%s", x, y, b.Raw)
	}
	for i, m := range []item.Image{a.Keys, a.Old, a.New} {
		if !slices.Equal(attributes(m), attributes([]item.Image{b.Keys, b.Old, b.New}[i])) {
			t.Fatalf("image %d reads otherwise alone: %q\n%s", i, attributes(m), b.Raw)
		}
	}
}

// beyondImages returns the fields of c that can be compared with ==.
func beyondImages(c record.Change) any {
	return [...]any{c.Op, c.EventName, c.Key, c.Version, c.Sequence, c.Time, c.EventID, c.StreamARN, c.Table, c.Region, c.Shard, c.ViewType, c.Identity, c.SizeBytes, c.Index, c.Backfill}
}

// attributes returns the names and values of m, from its index.
func attributes(m item.Image) []string {
	if !m.Exists() {
		return nil
	}
	as := []string{"exists"}
	for name, v := range m.All() {
		as = append(as, name, v.Kind().String(), string(v.AppendDynamoDBJSON(nil)))
	}
	return as
}

// TestDecoderNamesTwice puts every series of up to four names into an item, and into a map inside an item, after an
// item with every order of names. A repeated name is found, even if the item resembles the one before or the name has
// escapes.
func TestDecoderNamesTwice(t *testing.T) {
	spelt := map[byte]string{'a': "a", 'A': `\u0061`, 'b': "b", 'c': "c"}
	var series [][]byte
	for n := range 5 {
		for code := range 1 << (2 * n) {
			var names []byte
			for i := range n {
				names = append(names, "aAbc"[code>>(2*i)&3])
			}
			series = append(series, names)
		}
	}
	item := func(names []byte) string {
		b := []byte("{")
		for i, name := range names {
			if i > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, `"%s":{"S":"%d"}`, spelt[name], i%2)
		}
		return string(append(b, '}'))
	}
	distinct := func(names []byte) bool {
		names = slices.Sorted(slices.Values(bytes.ToLower(names)))
		return len(slices.Compact(slices.Clone(names))) == len(names)
	}
	for _, form := range []string{
		`{"eventName":"MODIFY","dynamodb":{"Keys":{"k":{"S":"x"}},"SequenceNumber":"1","NewImage":%s,"OldImage":%s}}`,
		`{"eventName":"INSERT","dynamodb":{"Keys":{"k":{"S":"x"}},"SequenceNumber":"1","NewImage":{"m":{"M":%s},"n":{"M":%s}}}}`,
	} {
		for _, first := range series {
			if !distinct(first) {
				continue
			}
			for _, second := range series {
				page, err := record.NewDecoder(record.DecoderOptions{EpochZero: true}).Decode(fmt.Appendf(nil, form, item(first), item(second)))
				if err != nil {
					t.Fatal(err)
				}
				if sound := len(page.Changes) == 1; sound != distinct(second) {
					t.Fatalf("behind one of %s, one of %s: sound is %t", first, second, sound)
				}
			}
		}
	}
}

// TestDecoderMapsAlike changes one byte or word at a time in a map with every scalar type, after maps without the
// change. The changed map is decoded as if it were alone.
func TestDecoderMapsAlike(t *testing.T) {
	rec := func(m []byte) []byte {
		return fmt.Appendf(nil, `{"eventName":"INSERT","dynamodb":{"Keys":{"k":{"S":"x"}},"SequenceNumber":"1","NewImage":{"l":{"L":[{"M":%s},{"M":{"a":{"S":"y"}}}]}}}}`, m)
	}
	sound := []byte(`{"name":{"S":"x\u00e9"},"n":{"N":"1.5"},"b":{"B":"AAE="},"t":{"BOOL":true},"u":{"NULL":true},"\"":{"S":""}}`)
	checkAlone(t, record.DecoderOptions{EpochZero: true}, slices.Concat(rec(sound), []byte("\n"), rec(bytes.ReplaceAll(sound, []byte("true"), []byte("false")))))
	checkAlone(t, record.DecoderOptions{EpochZero: true}, slices.Concat(rec(sound), []byte("\n"), rec(bytes.Replace(sound, []byte(`"NULL":true`), []byte(`"NULL":false`), 1))))
	for at := range sound {
		lines := [][]byte{rec(sound), rec(sound)}
		for _, c := range []byte("\x00 \"\\{}[],:SNBtn019=.\x80") {
			m := slices.Clone(sound)
			m[at] = c
			lines = append(lines, rec(m), rec(sound))
		}
		lines = append(lines, rec(slices.Delete(slices.Clone(sound), at, at+1)), rec(slices.Insert(slices.Clone(sound), at, sound[at])))
		checkAlone(t, record.DecoderOptions{EpochZero: true}, bytes.Join(lines, []byte("\n")))
	}
}

// TestDecoderRegionOfItsStream checks that a record without a Region gets the Region of its stream, even after a record
// of another Region.
func TestDecoderRegionOfItsStream(t *testing.T) {
	for _, region := range []string{`null`, `""`} {
		var records [][]byte
		for _, of := range []string{"eu-central-1", "eu-central-1", "us-east-1"} {
			records = append(records, fmt.Appendf(nil, `{"eventName":"INSERT","awsRegion":%s,"eventSourceARN":"arn:aws:dynamodb:%s:123456789012:table/shop/stream/2026-01-02T03:04:05.678","dynamodb":{"Keys":{"k":{"S":"x"}},"NewImage":{},"SequenceNumber":"1"}}`, region, of))
		}
		checkAlone(t, record.DecoderOptions{}, bytes.Join(records, []byte("\n")))
	}
}
