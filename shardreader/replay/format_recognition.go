package replay

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/tablewake/tablewake/pipeline/inputs"
	"github.com/tablewake/tablewake/pipeline/record"
)

const (
	headBytes = 64 << 10 // bytes at the start of a file that are searched for markers
	maxHead   = 8 << 20  // limit up to which the search doubles headBytes
)

// markers are member names. Every saved record of each format has at least one of them.
var markers = []string{`"dynamodb"`, `"kinesis"`, `"eventID"`, `"eventName"`, `"Records"`}

// errForeign is the error of a file without stream records.
var errForeign = errs.New("it holds no stream records")

// errNotJSON is the cause for a file that does not start with JSON in UTF-8.
var errNotJSON = errs.New("it is not JSON")

// ErrExport is the cause in the error of a file that belongs to an export of a table.
var ErrExport = errs.New("it is data of a DynamoDB export")

// errNewestOnly is the error for a file from an archive that has only the newest change of each item. The file is not
// skipped silently, because the outputs would be wrong without its changes.
var errNewestOnly = errs.New("it is of an archive that has the newest change of each item alone, " +
	"because its key has no {@version}: replay an archive with every change")

// checkFormat returns a *fault if the file does not begin like saved records, or is empty.
func (f *file) checkFormat() error {
	f.docs.nesting = betweenDocuments
	_, hasText := f.docs.peek()
	switch {
	case !hasText && f.Path == os.DevNull: // the user names an input of nothing
		return f.docs.endInput()
	case !hasText:
		return &fault{offset: f.w.offset, line: f.w.line, err: cmp.Or(f.w.err, inputs.ErrEmpty)}
	}
	err := f.searchHead()
	if err == nil {
		return nil
	}
	isUnknown := !errors.Is(err, ErrExport) && !errors.Is(err, errNewestOnly)
	mayBeCut := isUnknown && f.w.eof && inputs.CheckEnd(f.w.buf) != nil // it may have been records
	if mayBeCut {
		err = errCut
	}
	return &fault{offset: f.w.offset, line: f.w.line, err: cmp.Or(f.w.err, err)}
}

// searchHead returns nil if the start of the file may be saved records. Otherwise it returns the error of foreignError.
// It searches in more and more text, because other text may come before the first record.
func (f *file) searchHead() error {
	for n := headBytes; ; n *= 2 {
		f.w.fillTo(n)
		err := foreignError(f.w.buf)
		if err == nil || f.w.eof || n >= maxHead {
			return err
		}
	}
}

// foreignError returns nil if head may be the start of saved records. Otherwise it returns an error that describes
// head.
func foreignError(head []byte) error {
	head = bytes.TrimLeft(head, " \t\r\n")
	isIncremental := bytes.Contains(head, []byte(`"WriteTimestampMicros"`)) &&
		(startsWithMember(head, "Metadata") || startsWithMember(head, "Keys"))
	hasMarker := func() bool {
		return slices.ContainsFunc(markers, func(m string) bool { return bytes.Contains(head, []byte(m)) })
	}
	inArray, isArray := bytes.CutPrefix(head, []byte("["))
	isEmptyArray := isArray && bytes.HasPrefix(bytes.TrimLeft(inArray, " \t\r\n"), []byte("]"))
	isUTF16 := bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff})
	switch {
	case startsWithMember(head, "Item"):
		return fmt.Errorf(
			"%w: %w (items, not changes): replay takes stream records, and tablewake backfill --items takes items", errForeign,
			ErrExport)
	case isIncremental:
		return fmt.Errorf("%w: %w (an incremental one, without the order of changes): replay takes stream records",
			errForeign, ErrExport)
	case startsWithMember(head, record.NewestOnly):
		return errNewestOnly
	case isEmptyArray || hasMarker():
		return nil
	case isUTF16:
		return fmt.Errorf("%w: %w but UTF-16, as PowerShell writes it; save it as UTF-8", errForeign, errNotJSON)
	case startsWithMember(head, "Items"):
		return fmt.Errorf(
			"%w: it is the output of a scan (items, not changes): tablewake backfill --items takes items, one a line",
			errForeign)
	}
	reason := errNotJSON
	switch first, _, _ := bytes.Cut(head, newline); {
	case head[0] == '{' || head[0] == '[':
		reason = errs.New("its JSON has none of a record's members (tablewake backfill --items takes items)")
	case bytes.Count(first, []byte(",")) > 1:
		reason = errs.Errorf("%w, it looks like CSV", errNotJSON)
	}
	return fmt.Errorf("%w: %w; wanted are JSON lines, arrays, Lambda events or get-records output", errForeign, reason)
}

// startsWithMember reports whether head is an object whose first member is called name.
func startsWithMember(head []byte, name string) bool {
	rest, ok := bytes.CutPrefix(head, []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(`"`+name+`"`))
}
