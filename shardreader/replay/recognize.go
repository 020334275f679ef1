package replay

import (
	"bytes"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/record"
)

const (
	headBytes = 64 << 10 // first part of a file that is searched for markers
	maxHead   = 8 << 20  // the search doubles it up to this size
)

// markers are member names. Every saved record has one of them, in each format.
var markers = []string{`"dynamodb"`, `"kinesis"`, `"eventID"`, `"eventName"`, `"Records"`}

// errForeign is the error of a file without stream records.
var errForeign = errs.New("it holds no stream records")

// ErrExport is the cause of the error of a file that is of an export of a table.
var ErrExport = errs.New("it is data of a DynamoDB export")

// errNewestOnly is the error of a file of an archive that is no history. It is not left out in silence: without it the
// outputs would be wrong.
var errNewestOnly = errs.New("it is of an archive that has the newest change of each item alone, " +
	"because its key has no {@version}: replay an archive with every change")

// recognize returns a *fault if the file does not begin like saved records, and io.EOF if it is empty.
func (f *file) recognize() error {
	f.docs.within = betweenDocuments
	if _, ok := f.docs.peek(); !ok {
		return f.docs.end()
	}
	for n := headBytes; ; n *= 2 { // other text may come before the first record
		f.w.fillTo(n)
		err := foreign(f.w.buf)
		if err == nil {
			break
		}
		if f.w.eof || n >= maxHead {
			if f.w.err != nil {
				err = f.w.err
			}
			return &fault{offset: f.w.offset, line: f.w.line, err: err}
		}
	}
	return nil
}

// foreign returns an error that describes head, or nil if head may be the start of saved records.
func foreign(head []byte) error {
	head = bytes.TrimLeft(head, " \t\r\n")
	if opensWith(head, "Item") {
		return fmt.Errorf("%w: %w (items, not changes): replay takes stream records, and tablewake backfill --items takes items", errForeign, ErrExport)
	}
	if bytes.Contains(head, []byte(`"WriteTimestampMicros"`)) && (opensWith(head, "Metadata") || opensWith(head, "Keys")) {
		return fmt.Errorf("%w: %w (an incremental one, without the order of changes): replay takes stream records", errForeign, ErrExport)
	}
	if opensWith(head, record.NewestOnly) {
		return errNewestOnly
	}
	for _, m := range markers {
		if bytes.Contains(head, []byte(m)) {
			return nil
		}
	}
	if rest, ok := bytes.CutPrefix(head, []byte("[")); ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte("]")) {
		return nil // an array of no records
	}
	if bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}) {
		return fmt.Errorf("%w that can be read: it is UTF-16, as PowerShell writes it; save it as UTF-8", errForeign)
	}
	if opensWith(head, "Items") {
		return fmt.Errorf("%w: it is the output of a scan (items, not changes): tablewake backfill --items takes items, one a line", errForeign)
	}
	looks := "it is no JSON"
	switch first, _, _ := bytes.Cut(head, newline); {
	case head[0] == '{' || head[0] == '[':
		looks = "its JSON has none of a record's members (tablewake backfill --items takes items)"
	case bytes.Count(first, []byte(",")) > 1:
		looks = "it looks like CSV"
	}
	return fmt.Errorf("%w: %s; wanted are JSON lines, arrays, Lambda events or get-records output", errForeign, looks)
}

// opensWith reports whether head is an object whose first member has this name.
func opensWith(head []byte, name string) bool {
	rest, ok := bytes.CutPrefix(head, []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(`"`+name+`"`))
}
