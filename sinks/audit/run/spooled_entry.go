package run

import (
	"encoding/binary"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/audit"
)

// spooledEntry is an entry of one sink as the spool holds it.
type spooledEntry struct {
	audit.Entry      // without its Version
	sink        int  // index in the audited sinks
	stored      bool // the sink holds it; false: the sink should hold it
	suspect     bool // the recheck compares the entry's item or place without a join
	reading     int  // number of the reading that found a stored entry
}

// kinds has the kinds of entries. The index of a kind is its number in a spool.
var kinds = []audit.Kind{audit.Row, audit.Guard, audit.Claim, audit.Owner, audit.Contribution, audit.Group,
	audit.Document}

const (
	flagStored = 1 << iota
	flagClaimed
	flagShare
	flagSuspect
)

// appendTo appends the encoded entry.
func (e *spooledEntry) appendTo(dst []byte) []byte {
	dst = append(dst, flag(e.stored, flagStored)|flag(e.Claimed, flagClaimed)|flag(e.Share, flagShare)|flag(e.suspect,
		flagSuspect), kindNumber(e.Kind))
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(e.sink)), uint64(e.reading))
	dst = append(dst, e.Digest[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(e.Place)))
	dst = append(dst, e.Place...)
	return append(dst, e.Item...)
}

func flag(is bool, value byte) byte {
	if is {
		return value
	}
	return 0
}

func kindNumber(k audit.Kind) byte { return byte(max(slices.Index(kinds, k), 0)) }

// hash selects the file of the entry, so that the required and the stored entries of a place are in the same file.
func (e *spooledEntry) hash() uint64 { return hashOf(string(rune(e.sink)), string(e.Kind), e.Place) }

var errEntry = errs.New("not an entry: the work folder of the audit was changed; start the audit anew without it")

func parseEntry(b []byte) (e spooledEntry, err error) {
	if len(b) < 2 || int(b[1]) >= len(kinds) {
		return e, errEntry
	}
	flags := b[0]
	e.stored, e.Claimed, e.Share, e.suspect = flags&flagStored != 0, flags&flagClaimed != 0, flags&flagShare != 0,
		flags&flagSuspect != 0
	e.Kind = kinds[b[1]]
	sink, b, ok := cutNumber(b[2:])
	reading, b, okReading := cutNumber(b)
	if !ok || !okReading || len(b) < len(e.Digest) {
		return e, errEntry
	}
	e.sink, e.reading = sink, reading
	b = b[copy(e.Digest[:], b):]
	length, n := binary.Uvarint(b)
	if n <= 0 || uint64(len(b)-n) < length {
		return e, errEntry
	}
	text := string(b[n:])
	e.Place, e.Item = text[:length], item.Key(text[length:])
	return e, nil
}

// suspect is an item whose entries in one sink differ or differed in the last round.
type suspect struct {
	sink         int
	item         item.Key
	places       []audit.Entry // stored entries that name the item, with kind and place only
	lastFindings [16]byte      // digest of the last round's findings; zero before the first round
}

// appendTo appends the encoded suspect.
func (s *suspect) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.sink))
	dst = append(dst, s.lastFindings[:]...)
	dst = appendText(dst, string(s.item))
	for _, p := range s.places {
		dst = appendText(append(dst, kindNumber(p.Kind)), p.Place)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// cutNumber returns the number at the start of b, and the rest of b. ok is false if b does not start with a number.
func cutNumber(b []byte) (v int, rest []byte, ok bool) {
	number, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return int(number), b[n:], true
}

// cutText returns the text at the start of b, and the rest of b. ok is false if b does not start with a text.
func cutText(b []byte) (text string, rest []byte, ok bool) {
	length, n := binary.Uvarint(b)
	if n <= 0 || uint64(len(b)-n) < length {
		return "", nil, false
	}
	return string(b[n:][:length]), b[n:][length:], true
}

func parseSuspect(b []byte) (s suspect, err error) {
	sink, b, ok := cutNumber(b)
	if !ok || len(b) < len(s.lastFindings) {
		return s, errEntry
	}
	s.sink = sink
	key, b, ok := cutText(b[copy(s.lastFindings[:], b):])
	s.item = item.Key(key)
	for ok && len(b) > 0 {
		var p audit.Entry
		if int(b[0]) >= len(kinds) {
			return s, errEntry
		}
		p.Kind = kinds[b[0]]
		p.Place, b, ok = cutText(b[1:])
		p.Item = s.item
		s.places = append(s.places, p)
	}
	if !ok {
		return s, errEntry
	}
	return s, nil
}

// hash selects the file of the suspect, so that all suspects of an item are in the same file.
func (s *suspect) hash() uint64 {
	if s.item == "" {
		return hashOf("", s.places[0].Place)
	}
	return hashOf(string(s.item))
}
