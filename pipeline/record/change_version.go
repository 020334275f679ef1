package record

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Version orders the changes of one item: by the stream's epoch, then by the sequence number, both as numbers. Versions
// are comparable with ==. The order of the versions of two different items has no meaning.
//
// The epoch of a stream is the time in its label, in seconds. So the changes of a stream that was enabled later are
// newer. Records of Kinesis Data Streams for DynamoDB have no sequence number of DynamoDB, so their epoch is the
// creation time in microseconds.
//
// A sink stores the version of the last change of an item. A repair of the stored state has a version of its own, which
// comes between this change and the next one: see [Version.NextRepair].
type Version struct {
	epoch uint64 // Unix seconds; for Kinesis, Unix microseconds and kinesisBit
	// decimal digits without leading zeros ("0" is older than every write); for a repair, repairMark and 9 digits follow
	sequence string
}

// repairMark stands before the number of a repair, at the end of a sequence and of a version's text.
const repairMark = "r"

// kinesisBit marks the epoch of a Kinesis record. No time has this bit, so the epoch of a Kinesis record is above the
// epoch of any stream.
const kinesisBit = 1 << 63

// kinesisVersion returns the version of a Kinesis record. us is its creation time in microseconds since 1970.
func kinesisVersion(us uint64, sequence string) Version {
	return Version{epoch: us | kinesisBit, sequence: trimZeros(sequence)}
}

// The widths of a version's text.
const (
	epochWidth           = 10
	sequenceWidth        = 40 // Streams API reference, StreamRecord: SequenceNumber has 21 to 40 digits
	kinesisEpochWidth    = 16
	kinesisSequenceWidth = 60
	repairWidth          = 9
)

// Compare returns -1, 0 or 1 if v is older than, the same as or newer than w. A version of Kinesis is newer than all
// versions of streams. The zero Version is older than any other version, even that of a backfilled state of an unknown
// stream.
func (v Version) Compare(w Version) int {
	if c := cmp.Compare(v.epoch, w.epoch); c != 0 {
		return c
	}
	if v.sequence == w.sequence {
		return 0
	}
	if v.sequence == "" || w.sequence == "" { // the zero Version
		return cmp.Compare(len(v.sequence), len(w.sequence))
	}
	numberV, repairV, _ := strings.Cut(v.sequence, repairMark)
	numberW, repairW, _ := strings.Cut(w.sequence, repairMark)
	return cmp.Or(CompareSequence(numberV, numberW), strings.Compare(repairV, repairW))
}

// IsZero reports whether v is the zero Version. No change has it.
func (v Version) IsZero() bool { return v == Version{} }

// Epoch returns the time in the stream's label in Unix seconds, or 0 if the stream is unknown. For Kinesis it returns
// the creation time in microseconds.
func (v Version) Epoch() uint64 { return v.epoch &^ kinesisBit }

// Sequence returns the sequence number as decimal digits without leading zeros; "" for the zero Version.
func (v Version) Sequence() string {
	digits, _, _ := strings.Cut(v.sequence, repairMark)
	return digits
}

// Kinesis reports whether v belongs to a record of Kinesis Data Streams for DynamoDB.
func (v Version) Kinesis() bool { return v.epoch&kinesisBit != 0 }

// NextRepair returns the version of a repair that replaces a stored state of version v. It is newer than v, and older
// than each later change. So the change of version v does not replace the repaired state, and a later change does. The
// zero Version stays as it is.
func (v Version) NextRepair() Version {
	if v.IsZero() {
		return v
	}
	digits, repair, _ := strings.Cut(v.sequence, repairMark)
	number, _ := strconv.ParseUint(repair, 10, 64) // 0 for the version of a change
	next := appendPadded([]byte(digits+repairMark), strconv.AppendUint(nil, number+1, 10), repairWidth)
	return Version{epoch: v.epoch, sequence: string(next)}
}

// WithoutRepair returns the version of the change after which the state of version v was repaired. It returns v if v is
// the version of a change.
func (v Version) WithoutRepair() Version { return Version{epoch: v.epoch, sequence: v.Sequence()} }

// Append appends the text that String returns.
func (v Version) Append(dst []byte) []byte {
	var buf [20]byte
	epoch := strconv.AppendUint(buf[:0], v.Epoch(), 10)
	digits, repair, isRepair := strings.Cut(v.sequence, repairMark)
	if v.Kinesis() {
		dst = appendPadded(append(dst, 'k'), epoch, kinesisEpochWidth)
		dst = appendPadded(dst, []byte(digits), kinesisSequenceWidth)
	} else {
		dst = appendPadded(dst, epoch, epochWidth)
		dst = appendPadded(dst, []byte(digits), sequenceWidth)
	}
	if isRepair {
		dst = append(append(dst, repairMark...), repair...)
	}
	return dst
}

// String returns v as a text that sorts as the version does. The text has 10 digits of epoch and 40 digits of sequence
// number. For Kinesis it has the letter k, 16 digits of microseconds and 60 digits of sequence number. For a repair
// the letter r and 9 digits follow: the number of repairs since the change.
func (v Version) String() string {
	var buf [80]byte
	return string(v.Append(buf[:0]))
}

func appendPadded(dst, digits []byte, width int) []byte {
	const zeros = "000000000000000000000000000000000000000000000000000000000000"
	if missing := width - len(digits); missing > 0 {
		dst = append(dst, zeros[:missing]...)
	}
	return append(dst, digits...)
}

// ParseVersion parses a text that [Version.String] returned.
func ParseVersion(s string) (Version, error) {
	change, repair, isRepair := strings.Cut(s, repairMark)
	if isRepair && !isRepairNumber(repair) {
		return Version{}, errors.New("a version of a repair ends in r and 9 digits, which are at least 1")
	}
	digits, kinesis := strings.CutPrefix(change, "k")
	split, want := epochWidth, epochWidth+sequenceWidth
	if kinesis {
		split, want = kinesisEpochWidth, kinesisEpochWidth+kinesisSequenceWidth
	}
	if len(digits) != want || !allDigits(digits) {
		return Version{}, errors.New("a version is 50 digits, or k and 76 digits; that of a repair has r and 9 digits more")
	}
	epoch, err := strconv.ParseUint(digits[:split], 10, 64)
	if err != nil {
		return Version{}, fmt.Errorf("a version's epoch: %w", err)
	}
	if kinesis {
		epoch |= kinesisBit
	}
	return Version{epoch: epoch, sequence: trimZeros(digits[split:]) + s[len(change):]}, nil
}

// isRepairNumber reports whether s is the number of a repair, as the text of a version has it.
func isRepairNumber(s string) bool {
	return len(s) == repairWidth && allDigits(s) && strings.Trim(s, "0") != ""
}

// CompareSequence compares two sequence numbers as numbers of any length.
func CompareSequence(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// IsSequence reports whether s is a number of at most 40 digits. Sequence numbers of DynamoDB have 21 to 40 digits.
func IsSequence(s string) bool { return len(s) <= sequenceWidth && allDigits(s) }

// trimZeros removes leading zeros. It returns "0" for zero.
func trimZeros(digits string) string {
	for len(digits) > 1 && digits[0] == '0' {
		digits = digits[1:]
	}
	return digits
}

// allDigits reports whether s has decimal digits only, and at least one.
func allDigits(s string) bool {
	for i := range len(s) {
		if s[i]-'0' > 9 {
			return false
		}
	}
	return s != ""
}
